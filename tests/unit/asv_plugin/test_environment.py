import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from asv.config import Config
from asv.environment import get_environment_class_by_name, get_environments
from asv.repo import NoSuchNameError, get_repo
from asv.util import ProcessError, UserError

from harness.asv_plugin import setup
from harness.asv_plugin.environment import CellEnvironment
from harness.asv_plugin.naming import asv_name
from harness.asv_plugin.provide import provide, use_provider
from harness.cells.cell import Cell
from harness.environments.environment import Environment
from harness.errors import ConfigurationError, HarnessError, InstallError, ResolveError, StorageError
from harness.proc import CommandError
from harness.releases.line import Branch, Line, LineRelease, commit_id, write_line
from harness.releases.lock import Lock

ONE, TWO = commit_id("torch", "2.0.0"), commit_id("torch", "2.1.0")
LOCK = Lock(python="3.10", platform="any", index="default", as_of="", slim=False, files=())


@pytest.fixture(autouse=True)
def plain_asv(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plugin changes ASV for a whole process; the tests put it back."""
    from asv.machine import Machine, MachineCollection

    monkeypatch.setattr(Machine, "hardcoded_machine_name", None)
    monkeypatch.setattr(MachineCollection, "get_machine_file_path", MachineCollection.get_machine_file_path)
    yield
    use_provider(None)


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.chdir(tmp_path)
    releases = (("2.0.0", 1), ("2.1.0", 2))
    write_line(
        tmp_path / "line.releases.json",
        Line(
            subject="torch",
            releases=tuple(
                LineRelease(version=version, date=datetime(2026, month, 1, tzinfo=UTC), branch=next(iter(Branch)))
                for version, month in releases
            ),
        ),
    )
    setup()
    return Config.from_json(
        {
            "project": "torch",
            "repo": "line.releases.json",
            "environment_type": "cell",
            "pythons": ["3.10"],
            "matrix": {"req": {"backend": ["default"], "slim": ["true"]}, "env_nobuild": {"OMP_NUM_THREADS": ["1"]}},
            "env_dir": ".asv/env",
        }
    )


def only(conf: Config) -> CellEnvironment:
    (environment,) = get_environments(conf, None)
    assert isinstance(environment, CellEnvironment)
    return environment


class Provider:
    """Stands for the store: this very interpreter, whatever is asked for."""

    def __init__(self) -> None:
        self.asked: list[Cell] = []

    def __call__(self, cell: Cell) -> Environment:
        self.asked.append(cell)
        return Environment(key="k", path=Path(sys.executable).parents[1], lock=LOCK, python_version="3.10.1")


def failing(error: Exception) -> Callable[[Cell], Environment]:
    def provider(_cell: Cell) -> Environment:
        raise error

    return provider


def test_setup_makes_asv_know_both_classes(conf: Config) -> None:
    assert get_environment_class_by_name("cell") is CellEnvironment
    assert type(get_repo(conf)).__name__ == "ReleaseRepo"


def test_the_cell_of_a_commit(conf: Config) -> None:
    environment = only(conf)
    cell = environment.cell(TWO)
    assert cell == Cell(subject="torch", release="2.1.0", python="3.10", slim=True, env=(("OMP_NUM_THREADS", "1"),))
    assert environment.name == asv_name(cell)


def test_the_base_class_asks_for_no_tools_of_its_own(conf: Config) -> None:
    assert only(conf)._base_requirements == {}


def test_install_and_run(conf: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    use_provider(provider := Provider())
    monkeypatch.setenv("LEAK", "1")
    environment = only(conf)
    environment.create()
    assert environment.installed_commit_hash is None
    environment.install_project(conf, None, TWO)
    assert environment.installed_commit_hash == TWO
    code = "import os; print(*(os.environ.get(n) for n in ('LEAK', 'OMP_NUM_THREADS', 'ASV_COMMIT')))"
    output = environment.run(["-c", code], env={**os.environ, "OTHER": "1"}, dots=False)
    assert output.split() == ["None", "1", TWO]
    assert [cell.release for cell in provider.asked] == ["2.1.0"]


def test_what_another_process_installed_is_what_runs(conf: Config) -> None:
    use_provider(provider := Provider())
    here = only(conf)
    here.install_project(conf, None, ONE)
    there = pickle.loads(pickle.dumps(here))
    there.install_project(conf, None, TWO)
    output = here.run(["-c", "import os; print(os.environ['ASV_COMMIT'])"], dots=False)
    assert output.strip() == TWO
    assert provider.asked[-1].release == "2.1.0"


def test_an_environment_that_cannot_be_had_again_is_not_installed(conf: Config) -> None:
    use_provider(Provider())
    only(conf).install_project(conf, None, ONE)
    use_provider(failing(InstallError("gone")))
    assert only(conf).installed_commit_hash is None


def test_nothing_runs_before_a_release_is_installed(conf: Config) -> None:
    with pytest.raises(OSError, match="no release"):
        only(conf).run(["-c", "pass"])


def test_a_program_that_is_not_there(conf: Config) -> None:
    use_provider(Provider())
    environment = only(conf)
    environment.install_project(conf, None, ONE)
    with pytest.raises(OSError, match="no-such-program"):
        environment.run_executable("no-such-program", [])


@pytest.mark.parametrize(
    "error",
    [
        ResolveError("no wheel for 3.10"),
        InstallError("hash differs"),
        StorageError("disk is full"),
        CommandError(["uv"], "ended with status 2"),
        OSError("no space"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_release_that_cannot_be_had_lets_asv_go_on(conf: Config, error: Exception) -> None:
    use_provider(Provider())
    environment = only(conf)
    environment.install_project(conf, None, ONE)
    use_provider(failing(error))
    with pytest.raises(ProcessError):
        environment.install_project(conf, None, TWO)
    # Not the release before it under the new one's name.
    assert environment.installed_commit_hash is None


def test_a_wrong_matrix_file_stops_asv(conf: Config) -> None:
    use_provider(failing(ConfigurationError("matrix.toml: no axis blackend")))
    with pytest.raises(UserError, match="blackend"):
        only(conf).install_project(conf, None, ONE)


def test_an_error_keeps_its_advice(conf: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("harness.asv_plugin.environment.console.error", said.append)
    use_provider(failing(ResolveError("no wheel", next_step="try 3.11")))
    with pytest.raises(ProcessError):
        only(conf).install_project(conf, None, ONE)
    assert "try 3.11" in said[0]


def test_a_tag_for_a_commit_id_is_refused_before_anything_is_stored(conf: Config) -> None:
    use_provider(Provider())
    with pytest.raises(UserError, match="ALL"):
        only(conf).install_project(conf, None, "v2.1.0")


def test_flags_need_the_harnesss_own_runner(conf: Config) -> None:
    use_provider(Provider())
    conf.matrix = {"req": {"backend": ["default"], "flag.mkldnn": ["off"]}}
    with pytest.raises(UserError, match="flags"):
        only(conf).install_project(conf, None, ONE)


@pytest.mark.parametrize("matrix", [{"req": {}}, {"req": {"backend": [1]}}, {"env": {"DEBUG": ["1"]}}])
def test_a_matrix_that_is_no_cell_is_a_users_error(conf: Config, matrix: dict[str, Any]) -> None:
    conf.matrix = matrix
    with pytest.raises(UserError, match=r"asv\.conf\.json"):
        only(conf)


def test_a_line_that_cannot_be_read_is_a_users_error(conf: Config, tmp_path: Path) -> None:
    (tmp_path / "line.releases.json").write_text("{")
    with pytest.raises(UserError, match=r"line\.releases\.json"):
        get_repo(conf)
    use_provider(Provider())
    with pytest.raises(UserError, match=r"line\.releases\.json"):
        only(conf).install_project(conf, None, ONE)


def test_the_repository_says_what_asv_expects_of_unknown_names(conf: Config) -> None:
    repo = get_repo(conf)
    with pytest.raises(NoSuchNameError):
        repo.get_hash_from_name("v9")
    with pytest.raises(UserError):
        repo.get_hashes_from_range("v9..")
    with pytest.raises(UserError):
        repo.get_branch_commits("main")
    assert repo.get_name_from_hash("0" * 40) is None
    assert repo.get_hash_from_parent("v2.1.0") == ONE
    assert repo.get_decorated_hash(TWO) == f"{TWO[:8]} <v2.1.0>"
    assert repo.get_hashes_from_range(repo.get_new_range_spec("v2.0.0")) == [TWO]
    assert repo.filter_date_period([TWO, ONE], 86400 * 365) == [ONE]


def test_asv_is_given_the_steady_machine(conf: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from asv.machine import Machine

    monkeypatch.setenv("HARNESS_MACHINE", "box")
    setup()
    machine = Machine.load(interactive=True)
    assert machine.machine == "box"
    assert machine.ram.endswith("GiB")
    assert (tmp_path / ".asv" / "machine.json").is_file()
    assert not Path.home().joinpath(".asv-machine.json").exists()
    del conf


def test_reading_results_writes_nothing(conf: Config, tmp_path: Path) -> None:
    assert {path.name for path in tmp_path.iterdir()} == {"line.releases.json"}
    del conf


def test_without_a_provider_nothing_can_be_installed() -> None:
    with pytest.raises(HarnessError):
        provide(Cell(subject="torch", release="2.0.0", python="3.10"))


def test_the_other_modules_do_not_import_asv() -> None:
    code = "import sys, harness.asv_plugin.{}; sys.exit('asv' in sys.modules)"
    for name in ("history", "naming", "machine", "provide", "results", "suite"):
        assert subprocess.run([sys.executable, "-c", code.format(name)], check=False).returncode == 0, name
