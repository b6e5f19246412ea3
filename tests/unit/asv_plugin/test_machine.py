from dataclasses import replace
from pathlib import Path

import pytest

from harness.asv_plugin import machine as module
from harness.asv_plugin.machine import Machine, recorded, this_machine
from harness.errors import UsageError
from harness.jsonio import write_json


def record(results: Path, machine: Machine) -> None:
    write_json(results / machine.machine / "machine.json", {**machine.fields(), "version": 1})


@pytest.fixture(autouse=True)
def no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_MACHINE", raising=False)


def test_the_description_is_coarse(tmp_path: Path) -> None:
    machine = this_machine(tmp_path)
    assert machine.ram.endswith(" GiB")
    assert machine.ram != "0 GiB"
    assert machine.os == "Linux"
    assert int(machine.num_cpu) >= 1
    assert machine.cpu
    assert set(machine.fields()) == {"machine", "os", "arch", "cpu", "num_cpu", "ram"}


def test_what_was_recorded_stays(tmp_path: Path) -> None:
    old = replace(this_machine(tmp_path), ram="1 GiB", os="Linux 5")
    record(tmp_path, old)
    assert this_machine(tmp_path) == old


def test_other_hardware_of_the_same_host_name_gets_a_name_of_its_own(tmp_path: Path) -> None:
    here = this_machine(tmp_path)
    record(tmp_path, replace(here, cpu="another"))
    other = this_machine(tmp_path)
    assert other.machine.startswith(f"{here.machine}-")
    assert other == this_machine(tmp_path)
    record(tmp_path, replace(other, ram="1 GiB"))
    assert this_machine(tmp_path).ram == "1 GiB"


def test_a_given_name_is_never_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_MACHINE", "box")
    here = this_machine(tmp_path)
    assert here.machine == "box"
    assert this_machine(tmp_path, name="other").machine == "other"
    record(tmp_path, replace(here, num_cpu="4096"))
    with pytest.raises(UsageError, match="4096 processors"):
        this_machine(tmp_path)


@pytest.mark.parametrize("name", ["runs", "a/b", "..", "-x", "a b"])
def test_a_name_that_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        this_machine(tmp_path, name=name)


@pytest.mark.parametrize("host", ["", "...", "ümläut/host", "runs"])
def test_any_host_name_makes_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(module.platform, "node", lambda: host)
    name = this_machine(tmp_path).machine
    assert this_machine(tmp_path, name=name).machine == name


@pytest.mark.parametrize("text", ["", "{", "[]", '{"machine": "box"}', "null"])
def test_an_unreadable_record_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "machine.json").write_text(text)
    assert recorded(tmp_path, "box") is None
