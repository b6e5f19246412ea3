from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from harness.cells.wheels import OfferedFile
from harness.errors import ConfigurationError, ResolveError
from harness.releases.catalog import Catalog
from harness.releases.line import (
    Branch,
    Line,
    LineRelease,
    branch_of,
    commit_id,
    merge,
    read_line,
    refresh_line,
    set_aside_damaged,
    write_line,
)

DAY = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ROOT = Path(__file__).parents[3]


def catalog(*versions: str, date: datetime | None = DAY, subject: str = "tiny") -> Catalog:
    files = tuple(
        OfferedFile(filename=f"tiny-{v}-py3-none-any.whl", version=v, source="default", url="", uploaded=date)
        for v in versions
    )
    return Catalog(subject=subject, files=files, read_at=DAY, fresh=True)


def release(version: str, date: datetime = DAY) -> LineRelease:
    return LineRelease(version=version, date=date, branch=branch_of(version))


def test_commit_ids_depend_on_name_and_version_alone():
    assert commit_id("torch", "1.12.1") == "cfab1961c6ca0071283bdc1d57d359dbb8f43f0c"
    assert commit_id("torch", "1.12.1") != commit_id("torch", "1.12.2") != commit_id("numpy", "1.12.2")


@pytest.mark.parametrize(
    ("version", "branch"),
    [
        ("1.0", Branch.RELEASES),
        ("1.0.post2", Branch.RELEASES),
        ("2.0rc1", Branch.CANDIDATES),
        ("2.0.dev20260701", Branch.NIGHTLIES),
    ],
)
def test_versions_tell_their_branch(version: str, branch: Branch):
    assert branch_of(version) is branch


def test_a_refresh_begins_a_line_and_then_adds_to_it(tmp_path: Path):
    path = tmp_path / "line.releases.json"
    assert refresh_line(path, catalog("1.10", "1.9", "2.0rc1")) == ("1.9", "1.10", "2.0rc1")
    assert refresh_line(path, catalog("1.10", "1.9", "2.0rc1")) == ()
    assert refresh_line(path, catalog("2.0", "2.1.dev20260701+cpu")) == ("2.0", "2.1.dev20260701")
    line = read_line(path)
    assert [r.version for r in line.releases] == ["1.9", "1.10", "2.0rc1", "2.0", "2.1.dev20260701"]
    assert line.stable() == ["1.9", "1.10", "2.0"]
    assert line.get("1.10") == release("1.10")
    assert line.get("7") is None


def test_a_refresh_that_finds_nothing_new_leaves_the_file_alone(tmp_path: Path):
    path = tmp_path / "line.releases.json"
    refresh_line(path, catalog("1.0"))
    before = path.stat().st_mtime_ns, path.stat().st_ino
    refresh_line(path, catalog("1.0", date=DAY + timedelta(days=1)))
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_builds_without_a_date_have_no_place(tmp_path: Path):
    path = tmp_path / "line.releases.json"
    with pytest.raises(ResolveError, match="no release of tiny has a date"):
        refresh_line(path, catalog("1.0", date=None))
    assert not path.exists()
    assert refresh_line(path, catalog("1.0", "1.1.dev20260701", date=None)) == ("1.1.dev20260701",)


def test_the_line_of_another_subject_is_not_touched(tmp_path: Path):
    path = tmp_path / "line.releases.json"
    refresh_line(path, catalog("1.0"))
    with pytest.raises(ConfigurationError, match="is the line of tiny, not of other"):
        refresh_line(path, catalog("1.0", subject="other"))


versions = st.from_regex(r"[0-9]\.[0-9]{1,2}(rc[1-9]|\.dev20260[1-9]01)?", fullmatch=True).map(
    lambda v: str(Version(v))
)
releases = st.lists(
    st.builds(
        release,
        versions,
        st.integers(0, 2**32).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    ),
    unique_by=lambda r: r.version,
    max_size=6,
)


@given(old=releases, new=releases)
def test_merging_never_loses_or_moves_a_release(old: list[LineRelease], new: list[LineRelease]):
    line = merge(Line(subject="tiny"), old)
    merged = merge(line, new)
    assert set(line.releases) <= set(merged.releases)
    assert {r.version for r in merged.releases} == {r.version for r in [*old, *new]}
    assert [Version(r.version) for r in merged.releases] == sorted(Version(r.version) for r in merged.releases)
    assert merge(merged, new) == merged


@given(found=releases)
def test_lines_come_back_as_they_were(tmp_path_factory, found: list[LineRelease]):
    path = tmp_path_factory.mktemp("line") / "line.releases.json"
    line = merge(Line(subject="tiny"), found)
    write_line(path, line)
    assert read_line(path) == line


def test_every_fault_of_a_damaged_line_is_listed(tmp_path: Path):
    path = tmp_path / "line.releases.json"
    good = {"version": "1.0", "date": "2026-01-01T00:00:00Z", "branch": "releases"}
    rows = [
        good,
        good,
        {"version": "x.y"},
        {**good, "version": "2.0", "date": "soon"},
        {**good, "version": "3.0", "date": "2026-01-01T00:00:00"},
        {**good, "version": "4.0", "branch": "twig"},
        "text",
    ]
    path.write_text(json.dumps({"schema": 1, "subject": "Not Normal", "releases": rows}))
    with pytest.raises(ConfigurationError) as caught:
        read_line(path)
    lines = caught.value.what.splitlines()
    assert len(lines) == 7
    assert all(line.startswith(f"{path}: ") for line in lines)
    assert "1.0 is there twice" in lines[1]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 2}', '{"schema":1,"subject":"tiny","releases":{}}'])
def test_what_is_no_line_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "line.releases.json"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=str(path)) as caught:
        read_line(path)
    assert "releases refresh" in caught.value.next_step


def test_a_missing_line_says_how_to_make_one(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="does not exist") as caught:
        read_line(tmp_path / "line.releases.json")
    assert "releases refresh" in caught.value.next_step


def test_the_projects_own_line_is_sound():
    line = read_line(ROOT / "matrix" / "line.releases.json")
    assert line.subject == "torch"
    assert {"1.8.1", "1.11.0", "1.12.1", "2.0.1"} <= set(line.stable())
    dates = [r.date for r in line.releases]
    assert dates == sorted(dates)


def test_a_damaged_line_is_set_aside_and_a_good_one_stays(tmp_path):
    path = tmp_path / "line.releases.json"
    assert set_aside_damaged(path) is None
    path.write_text("{ not json")
    assert set_aside_damaged(path) == tmp_path / "line.releases.json.corrupt"
    assert not path.exists()
    assert (tmp_path / "line.releases.json.corrupt").read_text() == "{ not json"
    write_line(path, Line(subject="torch"))
    assert set_aside_damaged(path) is None
    assert path.exists()
