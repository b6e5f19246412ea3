from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.asv_plugin.history import History
from harness.errors import UsageError
from harness.releases.line import Branch, Line, LineRelease, commit_id

STABLE, _, NIGHTLY = Branch


def release(version: str, day: int, branch: Branch = STABLE) -> LineRelease:
    return LineRelease(version=version, date=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day), branch=branch)


LINE = Line(
    subject="torch",
    releases=(
        release("2.1.0", 20),
        release("2.0.0", 10),
        release("2.0.1", 15),
        release("2.2.0", 40),
        release("2.2.0.dev20260118", 17, NIGHTLY),
        release("2.2.0.dev20260125", 24, NIGHTLY),
        release("2.3.0.dev20260201", 31, NIGHTLY),
    ),
)


def named(history: History, commits: list[str]) -> list[str]:
    return [history.release(commit).version for commit in commits]


@pytest.fixture
def history() -> History:
    return History(LINE)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("v2.0.1", "2.0.1"),
        ("2.0.1", "2.0.1"),
        ("2.1", "2.1.0"),
        (commit_id("torch", "2.1.0"), "2.1.0"),
        (commit_id("torch", "2.1.0")[:8], "2.1.0"),
        (STABLE.value, "2.2.0"),
        (NIGHTLY.value, "2.3.0.dev20260201"),
        ("HEAD", "2.2.0"),
        ("HEAD^", "2.1.0"),
        ("HEAD^^", "2.0.1"),
        ("HEAD~3", "2.0.0"),
        ("HEAD~^", "2.0.1"),
        ("v2.2.0~1^", "2.0.1"),
        ("v2.2.0~0", "2.2.0"),
        ("v2.3.0.dev20260201^", "2.2.0.dev20260125"),
    ],
)
def test_names(history: History, name: str, version: str) -> None:
    assert history.release(history.resolve(name)).version == version


@pytest.mark.parametrize("name", ["", "v9.9", "abcdef12", "v2.0.0^", "v2.0.0~7", "3", "^", "v2.1.0^2", "main"])
def test_what_has_no_name(history: History, name: str) -> None:
    with pytest.raises(UsageError):
        history.resolve(name)


def test_a_near_name_is_suggested(history: History) -> None:
    with pytest.raises(UsageError, match=r"v2\.0\.1"):
        history.resolve("v2.0.11")


def test_the_first_release_says_that_nothing_is_before_it(history: History) -> None:
    with pytest.raises(UsageError, match=r"v2\.0\.0 is the first"):
        history.resolve("v2.0.0^")


@pytest.mark.parametrize(
    ("spec", "versions"),
    [
        ("v2.0.0..v2.1.0", ["2.1.0", "2.0.1"]),
        ("v2.0.1..", ["2.2.0", "2.1.0"]),
        ("..v2.0.1", ["2.0.1", "2.0.0"]),
        ("v2.0.1", ["2.0.1", "2.0.0"]),
        ("v2.1.0^!", ["2.1.0"]),
        ("v2.1.0..v2.0.0", []),
        ("v2.1.0..v2.1.0", []),
        ("v2.1.0^! v2.0.0^!", ["2.1.0", "2.0.0"]),
        ("v2.0.1 v2.0.0..v2.1.0", ["2.0.1", "2.0.0", "2.1.0"]),
        ("v2.2.0.dev20260118..", ["2.3.0.dev20260201", "2.2.0.dev20260125"]),
        ("v2.1.0..v2.3.0.dev20260201", ["2.3.0.dev20260201", "2.2.0.dev20260125"]),
        (f"v2.1.0..{NIGHTLY.value}", ["2.3.0.dev20260201", "2.2.0.dev20260125"]),
        ("HEAD~2..HEAD", ["2.2.0", "2.1.0"]),
        ("", []),
    ],
)
def test_ranges(history: History, spec: str, versions: list[str]) -> None:
    assert named(history, history.range(spec)) == versions


@pytest.mark.parametrize("spec", ["v2.0.0...v2.1.0", "--merges v2.0.0", "v9..v2.1.0", "^v2.0.0 v2.1.0"])
def test_what_is_no_range(history: History, spec: str) -> None:
    with pytest.raises(UsageError):
        history.range(spec)


def test_branches_are_apart_and_newest_first(history: History) -> None:
    assert named(history, history.branch()) == ["2.2.0", "2.1.0", "2.0.1", "2.0.0"]
    assert named(history, history.branch(NIGHTLY.value))[0] == "2.3.0.dev20260201"
    with pytest.raises(UsageError, match="main"):
        history.branch("main")


def test_all_branches_share_one_axis_of_dates(history: History) -> None:
    dates = [history.milliseconds(commit) for commit in history.commits()]
    assert dates == sorted(dates)
    assert len(dates) == len(LINE.releases)


def test_only_stable_releases_are_tags(history: History) -> None:
    assert list(history.tags()) == ["v2.0.0", "v2.0.1", "v2.1.0", "v2.2.0"]


def test_a_branch_without_builds_points_at_the_newest_release() -> None:
    history = History(Line(subject="torch", releases=(release("2.0.0", 0), release("2.1.0", 1))))
    assert history.resolve(NIGHTLY.value) == commit_id("torch", "2.1.0")
    assert history.branch(NIGHTLY.value) == []


def test_an_empty_line_has_no_names() -> None:
    with pytest.raises(UsageError):
        History(Line(subject="torch")).resolve("HEAD")


def test_a_beginning_of_two_ids_is_refused() -> None:
    # The line is long enough that some pair of ids begins alike.
    releases = tuple(release(f"1.{minor}.0", minor) for minor in range(2000))
    history = History(Line(subject="torch", releases=releases))
    beginnings = [commit[:4] for commit in history.commits()]
    twice = next(b for b in beginnings if beginnings.count(b) > 1)
    with pytest.raises(UsageError, match="several"):
        history.resolve(twice)


def test_an_id_does_not_depend_on_the_other_releases() -> None:
    alone = History(Line(subject="torch", releases=(release("2.1.0", 20),)))
    assert alone.resolve("2.1.0") == History(LINE).resolve("2.1.0")


@given(st.lists(st.integers(0, 400), min_size=2, max_size=30, unique=True), st.data())
def test_a_range_and_its_complement_make_the_branch(days: list[int], data: st.DataObject) -> None:
    history = History(Line(subject="x", releases=tuple(release(f"1.{day}", day) for day in days)))
    low, high = sorted(data.draw(st.lists(st.sampled_from(days), min_size=2, max_size=2)))
    after, up_to = history.range(f"v1.{low}..v1.{high}"), history.range(f"v1.{low}")
    assert after + up_to == history.range(f"v1.{high}")
    steps = len(after)
    assert history.resolve(f"v1.{high}~{steps}") == history.resolve(f"v1.{low}")
