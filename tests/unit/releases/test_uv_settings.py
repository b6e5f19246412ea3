from __future__ import annotations

import logging
from pathlib import Path

import pytest

from harness.releases.sources import DEFAULT, sources_for
from harness.releases.uv_settings import with_uv_settings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".config" / "uv").mkdir(parents=True)
    (tmp_path / "machine" / "uv").mkdir(parents=True)
    return tmp_path


def settings(home: Path, text: str, **more: str) -> dict[str, str]:
    (home / ".config" / "uv" / "uv.toml").write_text(text)
    environ = {"HOME": str(home), "XDG_CONFIG_DIRS": str(home / "machine"), **more}
    return {name: value for name, value in with_uv_settings(environ).items() if name.startswith("UV_")}


def test_every_form_of_an_index_is_read(home: Path):
    text = """
    extra-index-url = ["https://x.example/simple"]
    find-links = ["wheels", "https://flat.example/"]
    [[index]]
    name = "own"
    url = "https://own.example/simple"
    [[index]]
    url = "https://plain.example/simple"
    [[index]]
    url = "https://mirror.example/simple"
    default = true
    [[index]]
    name = "only-when-named"
    url = "https://explicit.example/simple"
    explicit = true
    """
    assert settings(home, text) == {
        "UV_INDEX": "own=https://own.example/simple https://plain.example/simple",
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "UV_EXTRA_INDEX_URL": "https://x.example/simple",
        "UV_FIND_LINKS": f"{home}/.config/uv/wheels,https://flat.example/",
    }


def test_the_pip_table_wins_over_the_rest(home: Path):
    text = 'index-url = "https://a.example"\n[pip]\nindex-url = "https://b.example"\n'
    assert settings(home, text) == {"UV_DEFAULT_INDEX": "https://b.example"}


def test_variables_win_over_files_and_add_to_their_indexes(home: Path):
    text = 'index-url = "https://file.example"\n[[index]]\nurl = "https://own.example"\n'
    assert settings(home, text, UV_INDEX_URL="https://me.example", UV_INDEX="https://first.example") == {
        "UV_INDEX_URL": "https://me.example",
        "UV_INDEX": "https://first.example https://own.example",
    }


def test_the_users_file_wins_over_the_machines(home: Path):
    (home / "machine" / "uv" / "uv.toml").write_text('index-url = "https://machine.example"\n')
    assert settings(home, "") == {"UV_DEFAULT_INDEX": "https://machine.example"}
    assert settings(home, 'index-url = "https://me.example"') == {"UV_DEFAULT_INDEX": "https://me.example"}


def test_a_named_file_stands_alone_and_none_may_be_read(home: Path):
    named = home / "other.toml"
    named.write_text('index-url = "https://other.example"\n')
    text = 'index-url = "https://file.example"\n'
    assert settings(home, text, UV_CONFIG_FILE=str(named))["UV_DEFAULT_INDEX"] == "https://other.example"
    assert settings(home, text, UV_NO_CONFIG="1") == {"UV_NO_CONFIG": "1"}


@pytest.mark.parametrize("text", ["index-url = ", "\0"])
def test_a_damaged_file_is_a_warning(home: Path, text: str, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        assert settings(home, text) == {}
    assert "uv.toml" in caplog.text


@pytest.mark.parametrize("text", ["index = 1", "index = [1]", 'find-links = "x"', "pip = 3", '[[index]]\nname = "x"'])
def test_odd_values_are_passed_over(home: Path, text: str):
    assert settings(home, text) == {}


def test_sources_know_the_files(home: Path):
    (home / ".config" / "uv" / "uv.toml").write_text('index-url = "https://mirror.example/simple"\n')
    (source,) = sources_for([DEFAULT], environ={"HOME": str(home), "XDG_CONFIG_DIRS": str(home)})
    assert source.url == "https://mirror.example/simple"
