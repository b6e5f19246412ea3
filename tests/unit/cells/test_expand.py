"""From profiles and options to cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.cells.adhoc import Selection, profile_of
from harness.cells.expand import Expansion, cells_of
from harness.cells.matrix import CUSTOM
from harness.cells.pythons import PythonChoice
from harness.cells.spec import Spec, load_spec
from harness.errors import ResolveError, UsageError

LINE = ("1.8.1", "1.11.0", "1.12.0", "1.12.1", "2.0.0", "2.0.1", "2.14.1", "2.15.0")
HEAD = """
schema = 1
subject = "torch"
[indexes.own]
base = "https://example.invalid/whl"
backends = ["cpu", "cu[0-9]*"]
"""
TWO = '[profiles.one]\ndescription = "one"\npython = "3.10"\nbackend = "default"\ntorch = ["1.11.0", "1.12.1"]\n'


def choose(releases: Sequence[str], backend: str, image: str) -> PythonChoice:
    python = "3.8" if "1.8.1" in releases else "3.11"
    return PythonChoice(python=python, complete=True, why=f"{python} for {backend} on {image}")


def ids(expansion: Expansion) -> list[str]:
    return [candidate.cell.id for candidate in expansion.candidates]


Expand = Callable[..., Expansion]


@pytest.fixture
def expand(write: Callable[..., Path]) -> Expand:
    def expand(text: str, profile: str = "", options: dict[str, Any] | None = None, **context: Any) -> Expansion:
        spec = load_spec(write(HEAD + text))
        chosen = profile_of(spec, Selection(**(options or {})), spec.profile(profile))
        return cells_of(spec, chosen, LINE, **({"choose_python": choose} | context))

    return expand


def test_the_product_has_releases_innermost_and_baseline_first(expand: Expand) -> None:
    text = TWO.replace('"3.10"', '["3.9", "3.10"]') + '[profiles.one.env]\nA = ["1", false]\n'
    assert ids(expand(text)) == [
        "torch1.11.0-py3.9-default+A=1",
        "torch1.12.1-py3.9-default+A=1",
        "torch1.11.0-py3.9-default",
        "torch1.12.1-py3.9-default",
        "torch1.11.0-py3.10-default+A=1",
        "torch1.12.1-py3.10-default+A=1",
        "torch1.11.0-py3.10-default",
        "torch1.12.1-py3.10-default",
    ]


def test_every_kind_of_setting_reaches_the_cell(expand: Expand) -> None:
    text = (
        'slim = true\n[resolve]\nslim_for = ">=1.12"\n'
        + TWO
        + 'as_of = "2023-01-01"\n[profiles.one.packages]\nnumpy = "1.23.5"\nscipy = ""\n'
        + '[profiles.one.build]\nDEBUG = "1"\n[profiles.one.flags]\nmkldnn = "off"\n[profiles.one.env]\nA = ""\n'
    )
    # slim must come before the tables
    text = text.replace("slim = true\n", "")
    text = text.replace('as_of = "2023', 'slim = true\nas_of = "2023')
    assert ids(expand(text)) == [
        "torch1.11.0-py3.10-default+numpy==1.23.5+scipy==+build.DEBUG=1+flag.mkldnn=off+A=+@2023-01-01",
        "torch1.12.1-py3.10-default+slim+numpy==1.23.5+scipy==+build.DEBUG=1+flag.mkldnn=off+A=+@2023-01-01",
    ]


def test_one_release_named_twice_is_an_a_a_run(expand: Expand) -> None:
    text = TWO.replace('["1.11.0", "1.12.1"]', '["1.12.1", "1.12.1"]')
    cells = expand(text).cells
    assert len(cells) == 2
    assert cells[0] == cells[1]
    assert len(expand(TWO.replace('["1.11.0", "1.12.1"]', '["minors", "newest"]')).cells) == 6


def test_sides_keep_the_order_they_were_named_in(expand: Expand) -> None:
    text = TWO.replace('["1.11.0", "1.12.1"]', '["newest", "1.11"]')
    assert [cell.release for cell in expand(text).cells] == ["2.15.0", "1.11.0"]
    text = TWO.replace('["1.11.0", "1.12.1"]', '["newest", "<1.12"]')
    assert [cell.release for cell in expand(text).cells] == ["1.8.1", "1.11.0", "2.15.0"]


def test_auto_backend_is_what_the_machine_says_and_named_once(expand: Expand) -> None:
    text = TWO.replace('"default"', '["auto", "cpu", "default"]')
    assert [cell.backend for cell in expand(text, backend="cpu").cells] == ["cpu", "cpu", "default", "default"]
    assert len(expand(text, backend="default").cells) == 4


def test_auto_python_is_asked_for_all_releases_of_a_block_and_explained(expand: Expand) -> None:
    text = TWO.replace('"3.10"', '["auto", "3.11"]')
    found = expand(text)
    # auto came to 3.11 as well: no A/A run by accident
    assert [cell.python for cell in found.cells] == ["3.11", "3.11"]
    assert found.notes == ("3.11 for default on host",)
    assert expand(text.replace("1.11.0", "1.8.1")).cells[0].python == "3.8"
    with pytest.raises(ResolveError, match="needs the indexes"):
        expand(text, choose_python=None)


def test_slim_is_for_cuda_wheels_that_need_packages(expand: Expand) -> None:
    text = (
        '[resolve]\nslim_for = ">=2"\n'
        + TWO.replace('"default"', '["default", "cpu", "cu126"]').replace('"1.11.0"', '"2.0.1"')
        + 'slim = "auto"\n'
    )
    slim = [cell.id for cell in expand(text, slim=True).cells if cell.slim]
    assert slim == ["torch2.0.1-py3.10-default+slim", "torch2.0.1-py3.10-cu126+slim"]
    assert not any(cell.slim for cell in expand(text, slim=False).cells)
    assert any(cell.slim for cell in expand(text.replace('"auto"', "true"), slim=False).cells)
    on_gpu_image = text + 'image = "cuda"\n'
    assert not any(cell.slim for cell in expand(on_gpu_image, slim=True).cells)
    no_rule = text.replace('[resolve]\nslim_for = ">=2"\n', "")
    assert not any(cell.slim for cell in expand(no_rule, slim=True).cells)


def test_excluded_cells_stay_with_their_reason(expand: Expand) -> None:
    text = TWO + '[[exclude]]\nmatch = { torch = "<1.12", python = "3.1*" }\nreason = "too old"\n'
    found = expand(text)
    assert [candidate.excluded for candidate in found.candidates] == ["too old", ""]
    assert [cell.release for cell in found.cells] == ["1.12.1"]
    elsewhere = text + 'profiles = ["two"]\n[profiles.two]\ndescription = "two"\ntorch = "newest"\n'
    assert len(expand(elsewhere, "one").cells) == 2


def test_overrides_change_cells_in_order_and_before_excludes(expand: Expand) -> None:
    text = (
        TWO
        + '[profiles.one.env]\nA = "1"\nB = "1"\n'
        + '[[override]]\nmatch = { torch = "<1.12" }\nenv = { A = false, C = "3" }\nas_of = "2022-05-01"\n'
        + '[[override]]\nmatch = { env = { C = "3" } }\npackages = { numpy = "1.21.6" }\n'
        + '[[exclude]]\nmatch = { packages = { numpy = "<2" } }\nreason = "seen"\n'
    )
    found = expand(text)
    assert ids(found) == [
        "torch1.11.0-py3.10-default+numpy==1.21.6+B=1+C=3+@2022-05-01",
        "torch1.12.1-py3.10-default+A=1+B=1",
    ]
    assert [candidate.excluded for candidate in found.candidates] == ["seen", ""]


def test_includes_add_blocks_and_repeat_nothing(expand: Expand) -> None:
    text = (
        TWO
        + '[[include]]\nimage = ["host", "centos7"]\n[[include]]\ntorch = "newest"\nenv = { A = "1" }\n'
        + '[[include]]\nprofiles = ["two"]\nimage = "cuda"\n[profiles.two]\ndescription = "two"\ntorch = "newest"\n'
    )
    assert ids(expand(text, "one")) == [
        "torch1.11.0-py3.10-default",
        "torch1.12.1-py3.10-default",
        "torch1.11.0-py3.10-default-centos7",
        "torch1.12.1-py3.10-default-centos7",
        "torch2.15.0-py3.10-default+A=1",
    ]
    assert "torch2.15.0-py3.11-default-cuda" in ids(expand(text, "two"))


def test_cells_of_a_profile_are_ids_or_selectors(expand: Expand) -> None:
    only = '[profiles.one]\ndescription = "x"\ncells = ["torch2.0.1-py3.10-cpu+A=1", "torch2.0.1-py3.10-cpu"]\n'
    assert ids(expand(only)) == ["torch2.0.1-py3.10-cpu+A=1", "torch2.0.1-py3.10-cpu"]
    assert ids(expand(TWO + 'cells = ["torch<1.12", "torch9.9-py3.10-cpu"]\n')) == [
        "torch9.9-py3.10-cpu",
        "torch1.11.0-py3.10-default",
    ]
    with pytest.raises(UsageError, match="selects none"):
        expand(TWO + 'cells = ["python=3.8"]\n')


def test_unknown_releases_name_their_neighbours(expand: Expand) -> None:
    with pytest.raises(ResolveError) as caught:
        expand(TWO, options={"from_release": "2.0.7"})
    assert "torch 2.0.7 is not offered" in str(caught.value)
    assert "2.0.1 or 2.14.1" in caught.value.why


class TestOptions:
    """Options in place of a profile."""

    def test_from_and_to(self, expand: Expand) -> None:
        def sides(**options: str) -> list[str]:
            return [cell.release for cell in expand(TWO, options=options).cells]

        assert sides(from_release="1.11.0", to_release="2.0.0") == ["1.11.0", "2.0.0"]
        assert sides(from_release="2.0.0", to_release="1.11.0") == ["2.0.0", "1.11.0"]
        assert sides(from_release="1.12.1", to_release="1.12.1") == ["1.12.1", "1.12.1"]
        assert sides(from_release="1.11.0") == ["1.11.0", "2.15.0"]
        assert sides(to_release="2.0.0") == ["1.12.1", "2.0.0"]
        assert sides(from_release="previous", to_release="newest") == ["2.14.1", "2.15.0"]

    def test_axes_replace_those_of_the_profile_and_includes_stay_out(self, expand: Expand) -> None:
        text = TWO + '[[include]]\nimage = "cuda"\n[[exclude]]\nmatch = { torch = "1.11.0" }\nreason = "no"\n'
        found = expand(
            text, options={"pythons": ("3.9",), "backends": ("cpu",), "images": ("centos7",), "metrics": ("conv*",)}
        )
        assert ids(found) == ["torch1.11.0-py3.9-cpu-centos7", "torch1.12.1-py3.9-cpu-centos7"]
        assert [candidate.excluded for candidate in found.candidates] == ["no", ""]

    def test_cell_ids_are_taken_as_they_are(self, expand: Expand) -> None:
        text = TWO + '[[exclude]]\nmatch = { torch = "*" }\nreason = "no"\n'
        cell = "torch1.12.1-py3.10-default+OMP_NUM_THREADS=1"
        found = expand(text, options={"cells": (cell, cell)})
        assert [one.id for one in found.cells] == [cell, cell]

    def test_cell_selectors_narrow_the_profile_with_its_includes(self, expand: Expand) -> None:
        text = TWO + '[[include]]\nimage = "cuda"\n'
        assert ids(expand(text, options={"cells": ("image=cuda", "torch1.11*")})) == [
            "torch1.11.0-py3.10-default",
            "torch1.11.0-py3.10-default-cuda",
            "torch1.12.1-py3.10-default-cuda",
        ]
        assert ids(expand(text, options={"cells": ("torch=1.12.1",), "from_release": "1.12.1"})) == [
            "torch1.12.1-py3.10-default"
        ]

    @pytest.mark.parametrize(
        ("options", "error", "says"),
        [
            ({"from_release": "newst"}, UsageError, "--from: 'newst' is not one of"),
            ({"to_release": "nope!"}, UsageError, "--to: "),
            ({"to_release": "newest<2"}, UsageError, "needs a --from"),
            ({"to_release": "9.9"}, ResolveError, "torch 9.9 is not offered"),
            ({"from_release": ">=3"}, ResolveError, "no stable release of torch is named by '>=3'"),
            ({"images": ("centos-7",)}, UsageError, "no image 'centos-7'"),
            ({"backends": ("rocm6.4",)}, UsageError, "--backend rocm6.4: no index of the matrix offers it"),
            ({"pythons": ("four",)}, UsageError, "no cell can be named"),
            ({"cells": ("torch1.12.1",)}, UsageError, "'torch1.12.1' is not a cell id"),
            ({"cells": ("",)}, UsageError, "an empty selector"),
            ({"cells": ("pyhton=3.8",)}, UsageError, "perhaps you meant 'python'"),
            ({"cells": ("torch2.0-py3.11-cpu",), "pythons": ("3.8",)}, UsageError, "says everything"),
        ],
    )
    def test_options_that_do_not_fit(
        self, expand: Expand, options: dict[str, Any], error: type[Exception], says: str
    ) -> None:
        with pytest.raises(error) as caught:
            expand(TWO, options=options)
        assert says in str(caught.value)

    def test_how_it_is_measured_stays_with_the_profile(self, write: Callable[..., Path]) -> None:
        spec: Spec = load_spec(write(HEAD + TWO + 'rounds = 3\ntags = ["core"]\n'))
        base = spec.profile()
        assert profile_of(spec, Selection(), base) is base
        changed = profile_of(spec, Selection(from_release="1.11.0"), base)
        assert (changed.name, changed.rounds, changed.tags) == (CUSTOM, 3, ("core",))
        asked = profile_of(spec, Selection(metrics=("conv2d_throughput",)), base)
        assert (asked.name, asked.metrics, asked.tags) == ("one", ("conv2d_throughput",), ())
        assert asked.wants("conv2d_throughput")
        assert not asked.wants("other", ("core",))
