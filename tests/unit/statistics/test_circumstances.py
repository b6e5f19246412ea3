from __future__ import annotations

from dataclasses import replace

import pytest

from harness.statistics.circumstances import calm_share, page_faults
from tests.unit.statistics.builders import record


def process(*, calm=(None, None, None), faults=0, number=1):
    one = record(0, 0, [1.0] * len(calm))
    samples = tuple(replace(sample, calm=was, faults=faults) for sample, was in zip(one.samples, calm, strict=True))
    return replace(one, samples=samples, number=number)


def test_share_of_calm_samples_over_all_processes():
    assert calm_share([process(calm=(True, False)), process(calm=(True, True))]) == 0.75


def test_records_that_did_not_ask_have_no_share():
    assert calm_share([process()]) is None
    assert calm_share([process(), process(calm=(True, False))]) == 0.5


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        (0, 1500, "0 page faults a call against 1.5e+03"),
        (1500, 0, "1.5e+03 page faults a call against 0"),
        (1000, 1500, ""),
        (0, 0.5, ""),
    ],
)
def test_page_faults_explain_a_step_only_where_one_side_meets_far_more(ours, theirs, told):
    found = page_faults([process(faults=10 * ours, number=10)], [process(faults=10 * theirs, number=10)])
    assert told in found
    assert bool(found) == bool(told)


def test_page_faults_of_a_side_that_never_ran():
    assert page_faults([], [process(faults=5000)]) == ""
