from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.releases.sources import DEFAULT, FIND_LINKS, SourceKind, index_environment, redact, scrub, sources_for


def names(sources):
    return [source.name for source in sources]


def test_without_variables_only_the_default_index_is_asked():
    (source,) = sources_for([DEFAULT], environ={})
    assert (source.name, source.label, source.kind, source.url) == ("default index", "default", SourceKind.INDEX, "")
    assert source.address.startswith("https://")


def test_indexes_come_in_uvs_order_and_find_links_last(tmp_path: Path):
    sources = sources_for(
        ["cpu", DEFAULT, "cpu"],
        index_base="https://torch.example/whl/",
        nightly_base="https://torch.example/whl/nightly",
        environ={
            "UV_INDEX": "https://a.example/simple named=https://b.example/simple",
            "UV_EXTRA_INDEX_URL": "https://c.example/simple",
            "UV_DEFAULT_INDEX": "https://d.example/simple",
            "UV_INDEX_URL": "https://never.example/simple",
            "UV_FIND_LINKS": f"{tmp_path}, https://flat.example/page.html",
        },
    )
    assert names(sources) == [
        "cpu index",
        "nightly cpu index",
        "UV_INDEX 1",
        "named",
        "UV_EXTRA_INDEX_URL",
        "UV_DEFAULT_INDEX",
        "UV_FIND_LINKS",
        "UV_FIND_LINKS",
    ]
    assert [s.url for s in sources[:2]] == ["https://torch.example/whl/cpu", "https://torch.example/whl/nightly/cpu"]
    assert [s.kind for s in sources[-2:]] == [SourceKind.FOLDER, SourceKind.PAGE]
    assert {s.label for s in sources[-2:]} == {FIND_LINKS}
    assert sources[5].url == "https://d.example/simple"


def test_the_older_name_of_the_default_index_is_heard():
    (source,) = sources_for([DEFAULT], environ={"UV_INDEX_URL": "https://old.example/simple"})
    assert source.url == "https://old.example/simple"


def test_a_url_with_an_equals_sign_is_no_named_index():
    source = sources_for([DEFAULT], environ={"UV_INDEX": "https://a.example/simple?x=1"})[0]
    assert (source.name, source.url) == ("UV_INDEX", "https://a.example/simple?x=1")


def test_a_backend_without_a_base_adds_nothing():
    assert names(sources_for(["cpu"], environ={})) == ["default index"]


@pytest.mark.parametrize(("strategy", "exclusive"), [("", True), ("first-index", True), ("unsafe-best-match", False)])
def test_the_strategy_decides_whether_an_index_hides_the_next(strategy: str, exclusive: bool):
    environ = {"UV_INDEX": "https://a.example/simple", "UV_INDEX_STRATEGY": strategy}
    assert sources_for([DEFAULT], environ=environ)[0].exclusive is exclusive


def test_credentials_of_a_named_index_come_from_its_variables():
    environ = {
        "UV_INDEX": "my-own=https://a.example/simple",
        "UV_INDEX_MY_OWN_USERNAME": "me",
        "UV_INDEX_MY_OWN_PASSWORD": "p@ss",
    }
    assert sources_for([DEFAULT], environ=environ)[0].url == "https://me:p%40ss@a.example/simple"


def test_a_file_address_is_a_folder(tmp_path: Path):
    folder = tmp_path / "with space"
    source = sources_for([DEFAULT], environ={"UV_FIND_LINKS": folder.as_uri()})[-1]
    assert (source.kind, source.url) == (SourceKind.FOLDER, str(folder))


def test_keys_do_not_depend_on_credentials_nor_tell_them():
    one, two = (
        sources_for([DEFAULT], environ={"UV_INDEX_URL": f"https://{who}@a.example/simple"})[0]
        for who in ("me:secret", "you:other")
    )
    other = sources_for([DEFAULT], environ={"UV_INDEX_URL": "https://a.example/else"})[0]
    assert one.key == two.key != other.key
    assert "secret" not in repr(one)


@given(
    user=st.from_regex(r"[a-z0-9%.]{1,8}", fullmatch=True),
    password=st.from_regex(r"[a-zA-Z0-9%!]{6,12}", fullmatch=True),
)
def test_redacted_addresses_hold_no_credentials(user: str, password: str):
    url = f"https://{user}:{password}@host.example:8080/simple/?token={password}#{password}"
    assert redact(url) == "https://host.example:8080/simple/"
    assert scrub(f"error at {url.partition('?')[0]} twice {url.partition('?')[0]}") == (
        "error at https://host.example:8080/simple/ twice https://host.example:8080/simple/"
    )


def test_uv_is_told_the_same_sources():
    environ = {"UV_INDEX": "old", "UV_INDEX_URL": "https://d.example/simple", "UV_FIND_LINKS": "old", "KEPT": "1"}
    sources = sources_for(
        ["cpu"], index_base="https://torch.example", environ={"UV_INDEX_URL": environ["UV_INDEX_URL"]}
    )
    assert index_environment(sources, environ) == {
        "KEPT": "1",
        "UV_INDEX_URL": "https://d.example/simple",
        "UV_INDEX": "https://torch.example/cpu",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_uvs_own_strategy_stays_without_a_backend_index():
    sources = sources_for([DEFAULT], environ={"UV_FIND_LINKS": "/wheels,https://flat.example/"})
    assert index_environment(sources, {}) == {"UV_FIND_LINKS": "/wheels,https://flat.example/"}
