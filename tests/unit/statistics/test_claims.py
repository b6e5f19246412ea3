"""What holds where, and since when, from records."""

from __future__ import annotations

import pytest

from harness.measurement.metrics import Metric
from harness.measurement.records import State
from harness.statistics.claims import Standing, claims_table
from tests.unit.statistics.builders import record

ONE = Metric(name="one", benchmark="b.track_one", claim="C03", summary="one is one")
TWO = Metric(
    name="two", benchmark="b.track_two", claim="C04", summary="s", param_names=("n",), params=(("'a'", "'b'"),)
)


def said(*values, name="b.track_one", note="", **options):
    """A record a round."""
    details = {"note": note} if note else {}
    return [record(0, number, [value], name=name, details=details, **options) for number, value in enumerate(values)]


def failed(state=State.CRASHED, reason="it fell", **options):
    return [record(0, 0, name="b.track_one", state=state, reason=reason, **options)]


def row(measured, *metrics):
    (found,) = claims_table(list(measured), metrics or (ONE,), measured)
    return found


def test_a_claim_that_changed_at_a_release() -> None:
    found = row({"1.0": said(1.0, note="a"), "1.1": said(1.0, note="b"), "2.0": said(0.0, note="c")})
    assert (found.id, found.statement) == ("C03", "one is one")
    assert [seen.number for seen in found.seen.values()] == [1, 1, 0]
    assert found.changed_at == ("2.0",)
    assert found.summary == "does not hold since 2.0, holds from 1.0 to 1.1"
    assert found.explanation == "in 2.0, c; in 1.1, b"


def test_a_claim_that_never_changed_is_explained_by_the_newest_release() -> None:
    found = row({"1.0": said(0.0, note="a"), "2.0": said(0.0, note="b")})
    assert (found.changed_at, found.explanation) == ((), "b")
    assert found.summary == "does not hold from 1.0 to 2.0"


def test_releases_without_an_answer_hide_no_change_and_make_none() -> None:
    measured = {
        "1.0": said(1.0),
        "1.1": "no wheel",
        "1.2": failed(),
        "2.0": said(0.0),
        "2.1": failed(),
        "2.2": said(0.0),
    }
    found = row(measured)
    assert [seen.number for seen in found.seen.values()] == [1, None, None, 0, None, 0]
    assert found.changed_at == ("2.0",)
    assert found.seen["1.1"].reason == "no wheel"
    assert found.seen["1.2"].reason == "crashed: it fell"


def test_there_and_back() -> None:
    found = row({"1": said(1.0, note="a"), "2": said(0.0, note="b"), "3": said(1.0, note="c")})
    assert found.changed_at == ("2", "3")
    assert found.summary == "holds since 3, does not hold in 2, holds in 1"


@pytest.mark.parametrize(
    ("measured", "standing", "reason"),
    [
        (said(1.0, 1.0), Standing.HOLDS, ""),
        (said(0.0), Standing.DOES_NOT, ""),
        (said(1.0, 0.0), Standing.VARIES, "from process to process"),
        (said(0.5), Standing.FAILED, "neither 0 nor 1"),
        (failed(State.SKIPPED, "no device"), Standing.SKIPPED, "no device"),
        (failed(State.TIMEOUT, "too slow"), Standing.FAILED, "timeout: too slow"),
        ([*failed(), *said(1.0)], Standing.HOLDS, ""),
        ([], Standing.NOT_MEASURED, "not measured to the end"),
        ("it could not be built", Standing.NOT_MEASURED, "it could not be built"),
    ],
)
def test_how_a_claim_fares(measured, standing, reason) -> None:
    seen = row({"1.0": measured}).seen["1.0"]
    assert seen.standing is standing
    assert reason in seen.reason
    assert bool(reason) == bool(seen.reason)


@pytest.mark.parametrize(
    ("first", "second", "standing"),
    [
        (said(1.0), said(1.0), Standing.HOLDS),
        (said(1.0), said(0.0), Standing.DOES_NOT),
        (said(1.0), failed(State.SKIPPED), Standing.HOLDS),
        (said(1.0), failed(), Standing.FAILED),
        (said(0.0), failed(), Standing.DOES_NOT),
        (failed(State.SKIPPED), failed(State.SKIPPED), Standing.SKIPPED),
    ],
)
def test_a_claim_holds_where_all_its_cases_do(first, second, standing) -> None:
    from dataclasses import replace

    records = [
        replace(one, benchmark=replace(one.benchmark, name="b.track_two", params=(params,)))
        for params, found in (("'a'", first), ("'b'", second))
        for one in found
    ]
    found = row({"1.0": records}, TWO)
    assert found.seen["1.0"].standing is standing
    assert [part.label for part in found.parts] == ["a", "b"]


def test_behaviours_have_no_number_and_come_last() -> None:
    behaviour = Metric(name="answer", benchmark="b.track_answer", tags=("behaviour",))
    rows = claims_table(["1.0"], [behaviour, TWO, ONE], {"1.0": said(1.0)})
    assert [one.id for one in rows] == ["C03", "C04", "answer"]
