from __future__ import annotations

from harness.cells.cell import parse_cell_id
from harness.statistics.comparability import RULES, Gravity, blocking, comparability, factors_between

FACTS = {
    "host": {"cpu": "EPYC 7B13", "processors": 2, "governor": "performance"},
    "process": {"flags": {"num_threads": 1}, "affinity": [0, 1]},
    "machine": "builder",
}


def changed(section, **values):
    return {**FACTS, section: {**FACTS[section], **values}}


def test_equal_facts_differ_in_nothing():
    assert comparability(FACTS, FACTS) == ()


def test_another_processor_blocks():
    found = comparability(FACTS, changed("host", cpu="Xeon"))
    assert blocking(found) == "processor: EPYC 7B13 against Xeon"


def test_another_governor_only_warns():
    found = comparability(FACTS, changed("host", governor="powersave"))
    assert [difference.gravity for difference in found] == [Gravity.WARNS]
    assert blocking(found) == ""


def test_threads_block_unless_they_were_asked_for():
    other = changed("process", flags={"num_threads": 2})
    assert blocking(comparability(FACTS, other)) == "threads: 1 against 2"
    assert blocking(comparability(FACTS, other, asked_for=["python"]))
    expected = comparability(FACTS, other, asked_for=["env.OMP_NUM_THREADS"])
    assert blocking(expected) == ""
    assert [(str(one), one.gravity) for one in expected] == [("threads: 1 against 2", Gravity.EXPECTED)]


def test_another_machine_may_be_asked_for():
    other = {**changed("host", cpu="Xeon"), **changed("process", affinity=[0, 1, 2])}
    assert "processors that may be used: 0, 1 against 0, 1, 2" in blocking(comparability(FACTS, other))
    assert blocking(comparability(FACTS, {**FACTS, **changed("host", cpu="Xeon")}, asked_for=["machine"])) == ""


def test_what_cells_differ_in_on_purpose():
    baseline = parse_cell_id("torch1.11.0-py3.10-cpu")
    candidate = parse_cell_id("torch1.12.1-py3.10-cpu+flag.mkldnn=off+OMP_NUM_THREADS=1")
    assert factors_between(baseline, candidate) == {"torch", "release", "flag.mkldnn", "env.OMP_NUM_THREADS"}
    assert factors_between(baseline, baseline) == frozenset()


def test_another_allocator_blocks_whatever_else_was_asked_for():
    facts = [{"process": {"environment": {"MALLOC_TRIM_THRESHOLD_": value}}} for value in ("1", "2")]
    axes = ["machine", "release", "python", "backend", "image", "build.Y", "flag.Z"]
    assert blocking(comparability(*facts, asked_for=axes)) == "allocator's trim threshold: 1 against 2"


def test_a_fact_that_one_side_lacks_is_no_difference():
    assert comparability(FACTS, {"host": "unreadable"}) == ()


def test_what_blocks_comes_first():
    other = {**changed("host", governor="powersave", cpu="Xeon"), "machine": "other"}
    gravities = [difference.gravity for difference in comparability(FACTS, other)]
    assert gravities == [Gravity.BLOCKS, Gravity.BLOCKS, Gravity.WARNS]


def test_long_values_are_cut():
    assert len(str(comparability(FACTS, changed("host", cpu="x" * 200))[0])) < 100


def test_every_rule_names_one_fact():
    assert len({rule.fact for rule in RULES}) == len(RULES)
