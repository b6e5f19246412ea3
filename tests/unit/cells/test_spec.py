"""Reading the matrix: what it says, and every fault at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cells.images import Capability
from harness.cells.spec import Slim, load_spec
from harness.errors import ConfigurationError, ExitCode, UsageError

SHIPPED = Path(__file__).parents[3] / "matrix" / "matrix.toml"
HEAD = 'schema = 1\nsubject = "torch"\n'
PROFILE = '[profiles.one]\ndescription = "one"\ntorch = "1.12.1"\n'


def faults_of(path: Path) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_spec(path)
    assert caught.value.exit_code is ExitCode.USAGE
    return caught.value.what.splitlines()


def test_the_shipped_matrix_is_what_it_promises() -> None:
    spec = load_spec(SHIPPED)
    assert spec.subject == "torch"
    assert spec.profile() is spec.profile("upgrade")
    assert spec.profile("upgrade").block.releases == ("previous", "newest")
    quick = spec.profile("quick")
    assert (quick.block.releases, quick.block.pythons) == (("1.11.0", "1.12.1"), ("3.10",))
    assert {"centos7", "rocm", "rocm-wsl", "cuda", "debian", "ubuntu"} <= {image.name for image in spec.images}
    full = [image for include in spec.includes if "full" in include.profiles for image in dict(include.axes)["images"]]
    assert {"centos7", "rocm", "cuda"} <= set(full)
    assert spec.resolve.requirements("2.1.2") == ("numpy", "setuptools<70")
    assert spec.resolve.requirements("2.2.0") == ("numpy", "setuptools")
    assert spec.resolve.requirements("2.13.0") == ("numpy",)
    own = spec.index_of("cu126")
    assert own is not None
    assert own.url("cu126").endswith("/cu126")
    assert own.nightly_url("cpu").endswith("/nightly/cpu")
    assert spec.index_of("default") is None
    centos = spec.image("centos7")
    assert centos is not None
    assert (centos.glibc, centos.digest) == ((2, 17), "")
    rocm = spec.image("rocm")
    assert rocm is not None
    assert rocm.needs == {Capability.CONTAINERS, Capability.KFD}


def test_a_small_matrix_gets_the_defaults(write: Callable[..., Path]) -> None:
    spec = load_spec(write())
    profile = spec.profile()
    assert profile.name == "one"
    assert (profile.rounds, profile.max_rounds, profile.floor) == (5, 20, 0.03)
    assert profile.block.pythons == profile.block.backends == ("auto",)
    assert profile.block.images == ("host",)
    assert profile.block.slim is Slim.NO
    assert spec.image("host") is None


def test_a_profile_adds_to_the_defaults_name_by_name(write: Callable[..., Path]) -> None:
    spec = load_spec(
        write(
            HEAD
            + 'slim = true\n[axes]\npython = "3.11"\n[env]\nA = "1"\nB = ["1", false]\n'
            + PROFILE
            + 'backend = "default"\nslim = "auto"\nas_of = "2024-02-29"\nrounds = 2\nfloor = 1\n'
            + '[profiles.one.env]\nB = ""\nC = "3"\n[profiles.one.packages]\nnumpy = ["1.26.4", "", false]\n'
        )
    )
    block = spec.profile().block
    assert block.pythons == ("3.11",)
    assert block.env == (("A", ("1",)), ("B", ("",)), ("C", ("3",)))
    assert block.packages == (("numpy", ("1.26.4", "", None)),)
    assert (block.slim, block.as_of) == (Slim.AUTO, "2024-02-29")
    assert spec.axes.slim is Slim.YES
    assert spec.axes.env[1] == ("B", ("1", None))
    assert spec.profile().floor == 1.0


@pytest.mark.parametrize("key", ["torch", "release"])
def test_the_release_axis_has_two_names(write: Callable[..., Path], key: str) -> None:
    text = HEAD + f'[profiles.one]\ndescription = "one"\n{key} = "newest"\n'
    assert load_spec(write(text)).profile().block.releases == ("newest",)
    text += f'[[exclude]]\nmatch = {{ {key} = "<2" }}\nreason = "old"\n'
    assert load_spec(write(text)).excludes[0].match[0].axis == "release"


def test_any_package_can_be_the_subject(write: Callable[..., Path]) -> None:
    spec = load_spec(
        write('schema = 1\nsubject = "tiny-lib"\n[profiles.one]\ndescription = "x"\ntiny-lib = ["1.0", "1.0"]\n')
    )
    assert spec.subject == "tiny-lib"
    assert spec.profile().block.releases == ("1.0", "1.0")


def test_every_fault_is_reported_at_once_with_its_place(write: Callable[..., Path]) -> None:
    path = write(
        """
schema = 1
subject = "torch"
slim = "maybe"
defautl_profile = "one"
[axes]
python = 3.11
[env]
OMP_NUM_THREADS = 1
"NOT A NAME" = "1"
[packages]
Num_Py = "1.26.4"
pandas = "<2"
[resolve]
days_after_release = "30"
[[resolve.require]]
requires = ["setuptools<<70"]
[[exclude]]
match = { python = "3.8" }
[[include]]
profiles = ["ful"]
image = "centos"
[profiles.quick]
description = "quick"
pythn = "3.10"
torch = ["1.11.0", "not a version", ">=nothing"]
rounds = true
max_rounds = 2000000
[profiles.full]
description = "full"
torch = []
backend = "cu126x"
floor = nan
[profiles.third]
torch = "newst"
""",
        images=IMAGES_WITH_FAULTS,
    )
    lines = faults_of(path)
    expected = [
        "slim: 'maybe' is not one of auto",
        "defautl_profile: unknown key; perhaps you meant 'default_profile'",
        "axes.python: expected text (a Python like 3.11, 3.11.7 or 3.13t), found a number; put it in quotes",
        "env.OMP_NUM_THREADS: expected text (a value, or false for none), found a whole number; put it in quotes",
        "env.NOT A NAME: 'NOT A NAME' is not the name of a variable",
        "packages.Num_Py: write the name of the package as 'num-py'",
        "packages.pandas: '<2' is not an exact version; a range belongs under [[resolve.require]]",
        "resolve.days_after_release: expected a whole number, found text",
        "resolve.require[0].requires[0]: 'setuptools<<70' is not a requirement like 'setuptools<70'",
        "exclude[0].reason: is missing: Why, for the plan.",
        "profiles.quick.pythn: unknown key; perhaps you meant 'python'",
        (
            "profiles.quick.torch[1]: 'not a version' is not a version, a range like '>=1.8,<2', or one of "
            "newest, previous, minors"
        ),
        "profiles.quick.torch[2]: '>=nothing' is not a range of versions like '>=1.8,<2'",
        "profiles.quick.rounds: expected a whole number, found true or false",
        "profiles.quick.max_rounds: 2000000 is not from 2 to 1000",
        "profiles.full.torch: is empty: name at least one value, or leave the key out",
        "profiles.full.backend: no index under [indexes] offers the backend 'cu126x'",
        "profiles.full.floor: nan is not from 0.001 to 1.0",
        "profiles.third.description: is missing: What the profile is for, in one line.",
        "profiles.third.torch: 'newst' is not one of newest, previous, minors; perhaps you meant 'newest'",
        "include[0].profiles: no profile 'ful'; perhaps you meant 'full'",
        "images.host: 'host' is this machine itself",
        "images.old.glibc: '1.0': only glibc 2 exists",
        (
            "images.old.arch[0]: 'x86-64' is not one of x86_64, aarch64, ppc64le, s390x, riscv64; perhaps "
            "you meant 'x86_64'"
        ),
        "images.old.reference: is missing: What the container engine pulls.",
    ]
    assert [line.split(": ")[0] for line in lines[-4:]] == ["matrix/images/images.toml"] * 4
    assert {line.split(": ")[0] for line in lines[:-4]} == {"matrix/matrix.toml"}
    lines = [line.partition(": ")[2] for line in lines]
    missing = [line for line in expected if line not in lines]
    surplus = [line for line in lines if line not in expected]
    assert (missing, surplus) == ([], [])


IMAGES_WITH_FAULTS = """
schema = 1
[images.host]
description = "no"
reference = "debian:12"
glibc = "2.36"
arch = ["x86_64"]
[images.old]
description = "old"
glibc = "1.0"
arch = ["x86-64"]
"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            HEAD + PROFILE + 'image = "centos8"\n',
            "profiles.one.image: no image 'centos8' in images/images.toml; perhaps",
        ),
        (HEAD + '[profiles.one]\ndescription = "x"\n', "profiles.one: names no releases, and neither does [axes]"),
        (HEAD + PROFILE + 'release = "1.12.1"\n', "profiles.one.release: says the same as torch: keep one of them"),
        (HEAD + "[profiles]\n", "profiles: is empty: declare at least one"),
        (HEAD, "profiles: is missing: Named selections of the matrix."),
        (HEAD + 'default_profile = "two"\n' + PROFILE, "default_profile: no profile 'two'"),
        (HEAD + PROFILE + "rounds = 8\nmax_rounds = 4\n", "profiles.one.max_rounds: 4 is less than rounds (8)"),
        (HEAD + PROFILE + "max_rounds = 4\n", "profiles.one.max_rounds: 4 is less than rounds (5)"),
        (HEAD + PROFILE + 'python = ["3.10", "3.10"]\n', "profiles.one.python[1]: '3.10' is named twice"),
        (HEAD + PROFILE + 'cells = ["torch1.02-py3.11-cpu+x"]\n', None),
        (HEAD + PROFILE + 'cells = [""]\n', "profiles.one.cells[0]: an empty selector selects nothing"),
        (HEAD + PROFILE + 'as_of = "2026-02-30"\n', "profiles.one.as_of: '2026-02-30' is not a date like 2026-11-01"),
        (
            HEAD + PROFILE + "as_of = 2026-02-01\n",
            "profiles.one.as_of: expected text (a date like 2026-11-01), found a",
        ),
        (HEAD + PROFILE + "[profiles.one.env]\nA = true\n", "profiles.one.env.A: only false has a meaning here"),
        (HEAD + PROFILE + '[[exclude]]\nmatch = {}\nreason = "x"\n', "exclude[0].match: is empty: it would be about"),
        (HEAD + PROFILE + '[[exclude]]\nmatch = {env = {}}\nreason = "x"\n', "exclude[0].match: is empty: it would be"),
        (
            HEAD + PROFILE + '[[exclude]]\nmatch = {torch = "<x"}\nreason = "x"\n',
            "exclude[0].match.torch: '<x' is not a",
        ),
        (
            HEAD + PROFILE + '[[exclude]]\nmatch = {torch = "<2"}\nreason = " "\n',
            "exclude[0].reason: ' ' is not a reason",
        ),
        (HEAD + PROFILE + '[[exclude]]\nmatch = {pyton = "3.8"}\nreason = "x"\n', "perhaps you meant 'python'"),
        (HEAD + PROFILE + '[[include]]\nprofiles = ["one"]\n', "include[0]: says nothing: name at least one axis"),
        (HEAD + PROFILE + '[[override]]\nmatch = {torch = "<2"}\n', "override[0]: changes nothing"),
        (
            HEAD + PROFILE + '[[override]]\nmatch = {torch = "<2"}\nenv = {A = ["1", "2"]}\n',
            "override[0].env.A: an override sets one value",
        ),
        (HEAD + 'axes = "3.11"\n' + PROFILE, "axes: expected a table, found text"),
        (HEAD + "exclude = {}\n" + PROFILE, "exclude: expected a list, found a table"),
        (HEAD + "profiles = [1]\n", "profiles: expected a table, found a list"),
        ('schema = 2\nsubject = "torch"\n' + PROFILE, "schema: 2 is not from 1 to 1"),
        ('schema = 1\nsubject = "Torch"\n' + PROFILE, "subject: 'Torch' is not the normalised name of a package"),
        ('schema = 1\nsubject = ["torch"]\n' + PROFILE, "subject: expected text (the normalised name of a package)"),
        (PROFILE, "schema: is missing"),
        (HEAD + PROFILE + '[indexes.x]\nbase = "ftp://x"\nbackends = ["cpu"]\n', "indexes.x.base: 'ftp://x' is not an"),
        (HEAD + PROFILE + '[indexes.x]\nbase = "https://x/"\nbackends = ["cpu"]\n', "indexes.x.base: 'https://x/' is"),
    ],
)
def test_single_faults(write: Callable[..., Path], text: str, fault: str | None) -> None:
    path = write(text)
    if fault is None:
        load_spec(path)
        return
    lines = faults_of(path)
    assert len([line for line in lines if fault in line]) == 1, lines


def test_toml_errors_have_their_line(write: Callable[..., Path]) -> None:
    assert "matrix/matrix.toml: is not TOML:" in (line := faults_of(write('schema = 1\nsubject = "torch\n'))[0])
    assert "line 2" in line
    lines = faults_of(write(HEAD + PROFILE + PROFILE))
    assert len(lines) == 1
    assert "line 6" in lines[0]


def test_faults_of_both_files_come_together(write: Callable[..., Path]) -> None:
    lines = faults_of(write("[", images="]"))
    assert [line.split(":")[0] for line in lines] == ["matrix/matrix.toml", "matrix/images/images.toml"]


def test_files_that_cannot_be_read(write: Callable[..., Path]) -> None:
    path = write()
    path.write_bytes(b"schema = 1 # \xff")
    assert faults_of(path) == ["matrix/matrix.toml: is not UTF-8: byte 13 cannot be read"]
    path.unlink()
    assert faults_of(path) == ["matrix/matrix.toml: cannot be read: No such file or directory"]
    path.mkdir()
    assert "Is a directory" in faults_of(path)[0]


def test_images_may_be_missing(write: Callable[..., Path]) -> None:
    assert load_spec(write(images=None)).images == ()
    (line,) = faults_of(write(HEAD + PROFILE + 'image = "centos7"\n', images=None))
    assert "no image 'centos7' in images/images.toml" in line


def test_unknown_names_are_usage_errors_with_suggestions() -> None:
    spec = load_spec(SHIPPED)
    with pytest.raises(UsageError, match="no profile 'quik' in the matrix; perhaps you meant 'quick'"):
        spec.profile("quik")
    with pytest.raises(UsageError, match=r"no image 'centos-7'.*perhaps you meant 'centos7'"):
        spec.image("centos-7")


def test_what_a_profile_wants() -> None:
    profile = load_spec(SHIPPED).profile("quick")
    assert profile.wants("conv2d_throughput", ("core", "cpu"))
    assert not profile.wants("conv2d_throughput", ("cpu",))
    full = load_spec(SHIPPED).profile("full")
    assert full.wants("anything")
