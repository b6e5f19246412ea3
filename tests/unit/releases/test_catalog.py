from __future__ import annotations

import json
import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer

from harness.cells.wheels import OfferedFile
from harness.errors import ResolveError
from harness.releases.catalog import Catalog, age_text, load_catalog, release_date
from harness.releases.catalog_store import Stored, read_stored, stored_path, write_stored
from harness.releases.sources import DEFAULT, Source, SourceKind, sources_for

JSON = "application/vnd.pypi.simple.v1+json"
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def offered(version: str, *, source: str = DEFAULT, uploaded: datetime | None = None, yanked: str | None = None):
    filename = f"tiny-{version}-py3-none-any.whl"
    return OfferedFile(
        filename=filename, version=version, source=source, url=f"x/{filename}", uploaded=uploaded, yanked=yanked
    )


def catalog(*files: OfferedFile) -> Catalog:
    return Catalog(subject="tiny", files=files, read_at=NOW, fresh=True)


def serve(server: HTTPServer, *versions: str, path: str = "/simple") -> None:
    files = [
        {
            "filename": f"tiny-{v}-py3-none-any.whl",
            "url": f"f/tiny-{v}-py3-none-any.whl",
            "hashes": {"sha256": "b" * 64},
        }
        for v in versions
    ]
    text = json.dumps({"meta": {"api-version": "1.1"}, "name": "tiny", "versions": list(versions), "files": files})
    server.expect_request(f"{path}/tiny/").respond_with_data(text, content_type=JSON)


@pytest.fixture
def sources(httpserver: HTTPServer) -> tuple[Source, ...]:
    return sources_for([DEFAULT], environ={"UV_DEFAULT_INDEX": httpserver.url_for("/simple")})


class TestCatalog:
    def test_releases_come_in_the_order_of_versions(self):
        found = catalog(*map(offered, ["1.10.0", "1.9.1", "2.0.0rc1", "1.9.0", "2.0.0.dev20260701", "1.9.1.post1"]))
        assert found.releases() == ["1.9.0", "1.9.1", "1.9.1.post1", "1.10.0"]
        assert found.releases(pre=True)[-2:] == ["2.0.0.dev20260701", "2.0.0rc1"]

    def test_local_parts_belong_to_their_release(self):
        found = catalog(offered("1.0"), offered("1.0+cpu", source="cpu"), offered("2.0"))
        assert [file.version for file in found.files_of("1.0")] == ["1.0", "1.0+cpu"]
        assert found.files_of("9.9") == ()

    def test_a_release_is_withdrawn_when_all_its_files_are(self):
        found = catalog(offered("1.0", yanked=""), offered("2.0"), offered("2.0+cpu", yanked="bad"))
        assert found.releases() == ["2.0"]
        assert found.releases(yanked=True) == ["1.0", "2.0"]

    def test_the_date_is_the_first_upload(self):
        found = catalog(
            offered("1.0", uploaded=NOW), offered("1.0+cpu", uploaded=NOW - timedelta(days=1)), offered("2.0")
        )
        assert found.date_of("1.0") == NOW - timedelta(days=1)
        assert found.date_of("2.0") is None

    def test_a_nightly_carries_its_day(self):
        assert release_date("2.14.0.dev20260701", []) == datetime(2026, 7, 1, tzinfo=UTC)
        assert release_date("2.14.0.dev7", []) is None


class TestLoading:
    def test_a_fresh_catalogue_is_not_asked_for_again(self, httpserver, sources, tmp_path):
        serve(httpserver, "1.0")
        first = load_catalog("tiny", sources, cache=tmp_path, now=NOW)
        httpserver.clear()
        again = load_catalog("tiny", sources, cache=tmp_path, now=NOW + timedelta(hours=5))
        assert again == first
        assert (again.fresh, again.notes, again.read_at) == (True, (), NOW)

    def test_an_old_catalogue_is_read_again(self, httpserver, sources, tmp_path):
        serve(httpserver, "1.0")
        load_catalog("tiny", sources, cache=tmp_path, now=NOW)
        httpserver.clear()
        serve(httpserver, "1.0", "2.0")
        assert load_catalog("tiny", sources, cache=tmp_path, now=NOW + timedelta(hours=7)).releases() == ["1.0", "2.0"]

    def test_zero_age_asks_always(self, httpserver, sources, tmp_path):
        serve(httpserver, "1.0")
        load_catalog("tiny", sources, cache=tmp_path, now=NOW)
        httpserver.clear()
        serve(httpserver, "2.0")
        assert load_catalog("tiny", sources, cache=tmp_path, now=NOW, max_age=timedelta(0)).releases() == ["2.0"]

    def test_a_clock_set_back_asks_again(self, httpserver, sources, tmp_path):
        serve(httpserver, "1.0")
        load_catalog("tiny", sources, cache=tmp_path, now=NOW)
        httpserver.clear()
        serve(httpserver, "2.0")
        assert load_catalog("tiny", sources, cache=tmp_path, now=NOW - timedelta(days=1)).releases() == ["2.0"]

    def test_a_broken_index_leaves_the_last_catalogue(self, httpserver, sources, tmp_path):
        serve(httpserver, "1.0")
        load_catalog("tiny", sources, cache=tmp_path, now=NOW)
        httpserver.clear()
        httpserver.expect_request("/simple/tiny/").respond_with_data("", status=500)
        found = load_catalog("tiny", sources, cache=tmp_path, now=NOW + timedelta(days=3))
        assert found.releases() == ["1.0"]
        assert not found.fresh
        assert found.notes == (
            "UV_DEFAULT_INDEX: answered 500: it is broken or overloaded; its catalogue of 3 days ago is used.",
        )

    def test_a_broken_index_is_left_alone_for_a_while(self, httpserver, sources, tmp_path):
        httpserver.expect_ordered_request("/simple/tiny/").respond_with_data("", status=500)
        with pytest.raises(ResolveError, match="answered 500"):
            load_catalog("tiny", sources, cache=tmp_path, now=NOW)
        with pytest.raises(ResolveError, match="answered 500"):
            load_catalog("tiny", sources, cache=tmp_path, now=NOW + timedelta(minutes=9))
        assert len(httpserver.log) == 1
        with pytest.raises(ResolveError):
            load_catalog("tiny", sources, cache=tmp_path, now=NOW + timedelta(minutes=11))
        assert len(httpserver.log) == 2

    def test_offline_takes_the_last_catalogue_and_says_its_age(self, httpserver, sources, tmp_path):
        serve(httpserver, "1.0")
        load_catalog("tiny", sources, cache=tmp_path, now=NOW)
        asked = len(httpserver.log)
        found = load_catalog("tiny", sources, cache=tmp_path, now=NOW + timedelta(days=40), offline=True)
        assert len(httpserver.log) == asked
        assert found.releases() == ["1.0"]
        assert "catalogue of 40 days ago" in found.notes[0]

    def test_offline_without_a_catalogue_is_an_error_with_a_next_step(self, sources, tmp_path):
        with pytest.raises(ResolveError) as caught:
            load_catalog("tiny", sources, cache=tmp_path, offline=True)
        assert caught.value.why == "no catalogue was ever read here"
        assert "releases refresh" in caught.value.next_step

    def test_an_unknown_subject_names_who_was_asked(self, httpserver, sources, tmp_path):
        httpserver.expect_request("/simple/tiny/").respond_with_data("", status=404)
        with pytest.raises(ResolveError, match=r"nobody offers a package named tiny \(asked: UV_DEFAULT_INDEX\)"):
            load_catalog("tiny", sources, cache=tmp_path)

    def test_an_earlier_index_hides_the_default_one_as_in_uv(self, httpserver, tmp_path):
        serve(httpserver, "1.0+mine", path="/own")
        serve(httpserver, "2.0", path="/simple")
        environ = {"UV_INDEX": httpserver.url_for("/own"), "UV_DEFAULT_INDEX": httpserver.url_for("/simple")}
        assert load_catalog("tiny", sources_for([], environ=environ), cache=tmp_path).releases() == ["1.0"]
        environ["UV_INDEX_STRATEGY"] = "unsafe-best-match"
        assert load_catalog("tiny", sources_for([], environ=environ), cache=tmp_path).releases() == ["1.0", "2.0"]

    def test_an_earlier_index_without_the_subject_hides_nothing(self, httpserver, tmp_path):
        serve(httpserver, "2.0", path="/simple")
        httpserver.expect_request("/own/tiny/").respond_with_data("", status=404)
        environ = {"UV_INDEX": httpserver.url_for("/own"), "UV_DEFAULT_INDEX": httpserver.url_for("/simple")}
        assert load_catalog("tiny", sources_for([], environ=environ), cache=tmp_path).releases() == ["2.0"]

    def test_one_dead_source_does_not_hide_the_others(self, httpserver, tmp_path):
        serve(httpserver, "1.0")
        environ = {"UV_DEFAULT_INDEX": httpserver.url_for("/simple")}
        dead = sources_for(["cpu"], index_base="http://127.0.0.1:9", environ=environ)
        found = load_catalog("tiny", dead, cache=tmp_path)
        assert found.releases() == ["1.0"]
        assert not found.fresh
        assert found.notes == ("cpu index: cannot be reached, and there is no earlier catalogue of it.",)

    def test_folders_are_never_stale(self, tmp_path):
        folder = tmp_path / "wheels"
        folder.mkdir()
        (folder / "tiny-1.0+cpu-py3-none-any.whl").touch()
        (source,) = (s for s in sources_for([], environ={"UV_FIND_LINKS": str(folder)}) if s.kind is SourceKind.FOLDER)
        assert load_catalog("tiny", [source], cache=tmp_path / "c", offline=True).fresh
        (folder / "tiny-2.0+cpu-py3-none-any.whl").touch()
        assert load_catalog("tiny", [source], cache=tmp_path / "c", offline=True).releases() == ["1.0", "2.0"]

    @pytest.mark.parametrize(
        "damage",
        ["", "{", "[]", '{"schema": 99}', '{"schema":1,"subject":"tiny","read_at":"soon","files":[]}', "\0\0"],
    )
    def test_a_damaged_catalogue_is_read_anew(self, httpserver, sources, tmp_path, damage, caplog):
        serve(httpserver, "1.0")
        load_catalog("tiny", sources, cache=tmp_path, now=NOW)
        path = stored_path(tmp_path, "tiny", sources[0])
        path.write_text(damage)
        with caplog.at_level(logging.WARNING):
            assert load_catalog("tiny", sources, cache=tmp_path, now=NOW).releases() == ["1.0"]
        assert path.name in caplog.text
        path.write_text(damage)
        with pytest.raises(ResolveError):
            load_catalog("tiny", sources, cache=tmp_path, now=NOW, offline=True)

    def test_a_cache_that_cannot_be_written_is_only_a_warning(self, httpserver, sources, tmp_path, caplog):
        serve(httpserver, "1.0")
        (tmp_path / "catalogues").write_text("a file where a folder should be")
        with caplog.at_level(logging.WARNING):
            assert load_catalog("tiny", sources, cache=tmp_path).releases() == ["1.0"]
        assert "not kept" in caplog.text

    def test_nothing_secret_reaches_the_disk(self, httpserver, tmp_path):
        serve(httpserver, "1.0")
        url = httpserver.url_for("/simple").replace("http://", "http://me:hunter2@")
        load_catalog("tiny", sources_for([], environ={"UV_DEFAULT_INDEX": url}), cache=tmp_path)
        kept = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert kept
        assert not any(b"hunter2" in path.read_bytes() or "hunter2" in str(path) for path in kept)


texts = st.text(max_size=8)


@given(
    files=st.lists(
        st.builds(
            OfferedFile,
            filename=texts,
            version=st.sampled_from(["1.0", "2.0+cpu"]),
            source=st.just(DEFAULT),
            url=texts,
            size=st.none() | st.integers(0, 10**12),
            uploaded=st.none() | st.datetimes(timezones=st.just(UTC)),
            sha256=st.none() | texts,
            requires_python=texts,
            yanked=st.none() | texts,
        ),
        max_size=4,
    ).map(tuple),
    read_at=st.datetimes(timezones=st.just(UTC)),
)
def test_catalogues_come_back_as_they_were(tmp_path_factory, files, read_at):
    cache = tmp_path_factory.mktemp("cache")
    source = Source(name="x", label=DEFAULT, kind=SourceKind.INDEX, url="https://a.example")
    write_stored(cache, "tiny", source, Stored(files, read_at))
    assert read_stored(cache, "tiny", source) == Stored(files, read_at)


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (timedelta(seconds=-5), "0 minutes"),
        (timedelta(seconds=70), "1 minute"),
        (timedelta(minutes=119), "119 minutes"),
        (timedelta(hours=3), "3 hours"),
        (timedelta(hours=47), "47 hours"),
        (timedelta(days=12), "12 days"),
    ],
)
def test_ages_are_said_as_people_say_them(age: timedelta, text: str):
    assert age_text(age) == text


def test_a_catalogue_on_disk_loads_without_the_parser_of_pages(tmp_path: Path):
    source = Source(name="x", label=DEFAULT, kind=SourceKind.INDEX, url="")
    write_stored(tmp_path, "tiny", source, Stored((offered("1.0"),), datetime.now(UTC)))
    program = f"""
import sys
from pathlib import Path
from harness.releases import backend, line, locks
from harness.releases.catalog import load_catalog
from harness.releases.sources import sources_for
assert load_catalog("tiny", sources_for(["default"], environ={{}}), cache=Path({str(tmp_path)!r})).releases() == ["1.0"]
heavy = {{"pypi_simple", "pydantic", "requests", "urllib3", "numpy", "asv"}} & sys.modules.keys()
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", program], check=True)
