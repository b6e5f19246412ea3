from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import StorageError
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId, Record, Sample, State
from harness.measurement.runs import SCHEMA, Header, SideHeader, find_unfinished, load
from harness.measurement.schema import FormatError, structure, unstructure
from harness.measurement.store import RunFile

ROW = BenchmarkId(name="b.time_x", params=("'1'",))


def header(run: str = "r1", *, key: str = "k", created: datetime | None = None) -> Header:
    return Header(
        schema=SCHEMA,
        run=run,
        key=key,
        created=(created or datetime.now(UTC)).isoformat(),
        machine="m",
        host={"cpu": "c", "quota": None},
        sides=(SideHeader(cell="torch2.13.0-py3.11-cpu", environment="e", lock="l"),),
        rows=(ROW,),
        benchmarks={"b.time_x": {"metric": "x"}},
        options=Options(affinity=(0, 1)),
    )


def record(number: int = 0, side: int = 0, value: float = 0.5) -> Record:
    return Record(
        round=number,
        cell="torch2.13.0-py3.11-cpu",
        side=side,
        benchmark=ROW,
        state=State.OK,
        samples=(Sample(value=value, at=0.1, canary=5e-5, faults=3),),
        lock="l",
        environment="e",
        fingerprint="f",
        started_at="2026-11-01T00:00:00+00:00",
        seconds=1.5,
    )


def written(runs: Path, records: Sequence[Record] = ()) -> Path:
    with RunFile.create(runs, header()) as file:
        for one in records:
            file.append([one], {"f": {"torch": None}})
    return runs / "r1"


def test_round_trip(tmp_path: Path) -> None:
    folder = written(tmp_path, [record(), record(1)])
    run = load(folder)
    assert run.records == (record(), record(1))
    assert run.header == replace(header(), created=run.header.created)
    assert run.fingerprints == {"f": {"torch": None}}
    assert (run.faults, run.finished) == ((), False)
    # Fingerprints are written once.
    kinds = [json.loads(line)["kind"] for line in run.path.read_text().splitlines()]
    assert kinds == ["header", "fingerprint", "record", "record"]


def test_torn_last_line(tmp_path: Path) -> None:
    folder = written(tmp_path, [record()])
    path = folder / "records.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"rec')
    with RunFile.reopen(folder) as file:
        assert [str(fault) for fault in file.run.faults] == [
            f"{path}:4: it ends in the middle: the run was killed as it was written"
        ]
        file.append([record(1)], {"f": {"torch": None}})
    assert path.read_bytes().startswith(whole)
    assert load(folder).records == (record(), record(1))
    assert load(folder).faults == ()


@given(cut=st.integers(min_value=1, max_value=2000))
def test_any_cut_loses_only_what_follows_it(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = written(tmp_path_factory.mktemp("runs"), [record(n) for n in range(3)])
    path = folder / "records.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    if cut > len(data) - data.index(b"\n") - 1:
        with pytest.raises(StorageError):
            load(folder)
        return
    kept = load(folder).records
    assert kept == tuple(record(n) for n in range(len(kept)))
    with RunFile.reopen(folder) as file:
        file.append([record(n) for n in range(len(kept), 3)], {})
    assert load(folder).records == tuple(record(n) for n in range(3))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{]", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"kind":"record"}', "required field missing"),
        ('{"kind":"secret"}', "unknown kind of line 'secret'"),
        (json.dumps({"kind": "record", **unstructure(record()), "number": "3"}), "expected int, got '3' @ $.number"),
        (json.dumps({"kind": "record", **unstructure(record()), "started_at": "x"}), "Invalid isoformat string"),
        (json.dumps({"kind": "record", **unstructure(record()), "mood": 1}), "extra fields found"),
        (json.dumps({"kind": "record", **unstructure(record()), "state": "fine"}), "@ $.state"),
    ],
)
def test_corrupt_line_in_the_middle(tmp_path: Path, line: str, reason: str) -> None:
    folder = written(tmp_path, [record(), record(1)])
    path = folder / "records.jsonl"
    lines = path.read_text().splitlines()
    lines.insert(3, line)
    path.write_text("\n".join(lines) + "\n")
    run = load(folder)
    assert run.records == (record(), record(1))
    (fault,) = run.faults
    assert str(fault).startswith(f"{path}:4: ")
    assert reason in fault.reason
    # It stays where it is.
    RunFile.reopen(folder).close()
    assert line in path.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no whole line"),
        ("garbage\n", ":1: not JSON"),
        ('{"kind":"record"}\n', "the first line is no header"),
        ('{"kind":"header","schema":99}\n', "schema 99 is newer"),
        ('{"kind":"header","schema":1}\n', "required field missing"),
    ],
)
def test_useless_header(tmp_path: Path, text: str, said: str) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "records.jsonl").write_text(text)
    with pytest.raises(StorageError, match=said):
        load(folder)
    assert find_unfinished(tmp_path, "k") is None


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("created",), "2026-11-01T00:00:00", "no time zone"),
        (("created",), "yesterday", "created"),
        (("benchmarks", "b.time_x", "params"), 5, "params is 5"),
        (("options", "rounds"), 0, "rounds that there cannot be"),
    ],
)
def test_edited_header(tmp_path: Path, place: tuple[str, ...], value: object, said: str) -> None:
    folder = written(tmp_path, [record()])
    first, *rest = (folder / "records.jsonl").read_text().splitlines()
    document = json.loads(first)
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (folder / "records.jsonl").write_text("\n".join([json.dumps(document), *rest]) + "\n")
    with pytest.raises(StorageError, match=said):
        load(folder)
    assert find_unfinished(tmp_path, "k") is None


def test_measured_again_counts_once(tmp_path: Path) -> None:
    folder = written(tmp_path, [record(value=1.0), record(value=2.0)])
    assert load(folder).records == (record(value=2.0),)


def test_one_writer(tmp_path: Path) -> None:
    with RunFile.create(tmp_path, header()) as file, pytest.raises(StorageError, match="another process is writing"):
        RunFile.reopen(file.folder)
    RunFile.reopen(tmp_path / "r1").close()


def test_find_unfinished(tmp_path: Path) -> None:
    old = datetime.now(UTC) - timedelta(days=30)
    for run, key, created in (("a", "k", None), ("b", "other", None), ("c", "k", None), ("d", "k", old)):
        RunFile.create(tmp_path, header(run, key=key, created=created)).close()
    assert find_unfinished(tmp_path, "k") == tmp_path / "c"
    with RunFile.reopen(tmp_path / "c") as file:
        file.finish()
    assert load(tmp_path / "c").finished
    assert find_unfinished(tmp_path, "k") == tmp_path / "a"
    assert find_unfinished(tmp_path / "nowhere", "k") is None


def test_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFile.create(tmp_path, header()) as file:
        file.append([record()], {})
        before = file.path.read_bytes()
        write = os.write

        def full(descriptor: int, data: bytes) -> int:
            if len(data) < 50:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(descriptor, data[:40] if len(data) < 200 else data[: len(data) - 45])

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(StorageError, match="No space left on device") as error:
            file.append([record(1)], {})
        monkeypatch.undo()
        assert "run the same command again" in error.value.next_step
        assert file.path.read_bytes() == before
        file.append([record(2)], {})
    assert [one.round for one in load(tmp_path / "r1").records] == [0, 2]


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        RunFile.create(tmp_path / "file", header())


def test_failed_start_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        RunFile.create(tmp_path, header())
    assert list(tmp_path.iterdir()) == []


def test_numbers_are_not_converted() -> None:
    assert structure({"value": 1, "at": 0.5, "canary": 0, "faults": 2}, Sample).value == 1.0
    for wrong in ("1", True, None):
        with pytest.raises(FormatError, match=r"expected a number.*\$\.value"):
            structure({"value": wrong, "at": 0.5, "canary": 0, "faults": 2}, Sample)
    with pytest.raises(FormatError, match="expected int"):
        structure({"value": 1, "at": 0.5, "canary": 0, "faults": True}, Sample)


def test_records_of_an_older_harness_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, [record()]) / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line.pop("conditions", None)
        for sample in line.get("samples", ()):
            del sample["calm"], sample["processor"]
        for name in ("repeats", "calm", "pin", "gap"):
            line.get("options", {}).pop(name, None)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = load(path)
    assert run.faults == ()
    assert run.records == (record(),)
    assert run.records[0].samples[0].calm is None
    assert run.header.options == header().options
