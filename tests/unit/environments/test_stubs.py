"""Stand-ins for libraries that a small fake of torch needs, made with the compiler of the machine."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.environments.stubs import write_stubs
from harness.errors import InstallError

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="the fake of torch is compiled")

CUDART = (
    "int cudaFree(void) { return 0; } int cudaMalloc(void) { return 0; } char *cudaGetErrorString(int e) { return 0; }"
)
NCCL = """
int ncclFlag = 5;
int ncclInit(void) { return 0; }
int pncclInit(void) { return 0; }
int ncclOdd(void) { return 0; }
"""
TORCH = """
extern int cudaFree(void), cudaMalloc(void), ncclInit(void), pncclInit(void), own(void), ncclFlag;
extern int cudaMaybe(void) __attribute__((weak));
extern char *cudaGetErrorString(int);
extern int puts(const char *);
int own(void) { return 3; }
int ncclOdd(void) { return 4; }
int weak(void) { return cudaMaybe ? 1000 : 0; }
int ask(void) { return cudaFree() + cudaMalloc() + ncclInit() + pncclInit() + own() + weak() + ncclFlag; }
char *why(void) { return cudaGetErrorString(1); }
int say(void) { return puts("x"); }
"""


def compile_library(path: Path, code: str, *options: str) -> None:
    source = path.with_suffix(".c")
    source.write_text(code)
    command = ["gcc", "-shared", "-fPIC", str(source), "-o", str(path), f"-Wl,-soname,{path.name}", *options]
    subprocess.run(command, check=True)
    source.unlink()


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """A fake torch that was linked against two CUDA libraries, which are then taken away."""
    real, folder = tmp_path / "real", tmp_path / "site-packages"
    lib = folder / "torch" / "lib"
    real.mkdir()
    lib.mkdir(parents=True)
    script = tmp_path / "versions.map"
    script.write_text("libcudart.so.12 { global: cuda*; local: *; };")
    compile_library(real / "libcudart.so.12", CUDART, f"-Wl,--version-script={script}")
    compile_library(real / "libnccl.so.2", NCCL)
    needed = [str(real / "libcudart.so.12"), str(real / "libnccl.so.2")]
    compile_library(lib / "libtorch_cuda.so", TORCH, *needed, "-Wl,-rpath,$ORIGIN,--disable-new-dtags")
    (lib / "notes.so.txt").write_text("not a library")
    return folder


def ask(site_packages: Path, function: str, restype: str = "c_int") -> subprocess.CompletedProcess[str]:
    code = (
        f"import ctypes; lib = ctypes.CDLL({str(site_packages / 'torch/lib/libtorch_cuda.so')!r})\n"
        f"lib.{function}.restype = ctypes.{restype}; print(lib.{function}())"
    )
    variables = {"LD_BIND_NOW": "1"}
    return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)


def test_library_loads_and_every_call_fails(site_packages: Path):
    assert "libcudart.so.12: cannot open shared object" in ask(site_packages, "ask").stderr
    report = write_stubs(site_packages)
    done = ask(site_packages, "ask")
    # Twice 100 of cudart, twice 1 of nccl, 3 of its own, nothing of what is weak, zero of the object.
    assert done.stdout.strip() == "205", done.stderr
    assert done.stderr == "", "the loader must find the versions that it looks for"
    assert "slim environment" in ask(site_packages, "why", "c_char_p").stdout

    assert [(library.soname, library.symbols) for library in report.libraries] == [
        ("libcudart.so.12", 3),
        ("libnccl.so.2", 3),
    ]
    assert report.folder == site_packages / "torch" / "lib"
    assert report.symbols == 6
    assert report.size == sum((report.folder / library.soname).stat().st_size for library in report.libraries)


def test_writing_twice_gives_the_same(site_packages: Path):
    first = write_stubs(site_packages)
    files = {path.name: path.read_bytes() for path in first.folder.iterdir()}
    assert write_stubs(site_packages) == first
    assert {path.name: path.read_bytes() for path in first.folder.iterdir()} == files


def test_nothing_is_written_through_a_hard_link(site_packages: Path):
    write_stubs(site_packages)
    stub = site_packages / "torch" / "lib" / "libnccl.so.2"
    other = site_packages.parent / "other"
    other.hardlink_to(stub)
    write_stubs(site_packages)
    assert not other.samefile(stub)


def test_real_library_is_left_alone(site_packages: Path):
    real = site_packages / "nvidia" / "cuda_runtime" / "lib"
    real.mkdir(parents=True)
    shutil.copy(site_packages.parent / "real" / "libcudart.so.12", real)
    assert [library.soname for library in write_stubs(site_packages).libraries] == ["libnccl.so.2"]
    assert not (site_packages / "torch" / "lib" / "libcudart.so.12").exists()


def test_driver_and_system_libraries_are_left_alone(site_packages: Path, tmp_path: Path):
    compile_library(tmp_path / "real" / "libcuda.so.1", "int cuInit(void) { return 0; }")
    needed = str(tmp_path / "real" / "libcuda.so.1")
    code = "extern int cuInit(void); int f(void) { return cuInit(); }"
    compile_library(site_packages / "torch" / "lib" / "libcaffe2_nvrtc.so", code, needed)
    assert "libcuda.so.1" not in [library.soname for library in write_stubs(site_packages).libraries]


def test_wheel_that_misses_nothing(tmp_path: Path):
    lib = tmp_path / "torch" / "lib"
    lib.mkdir(parents=True)
    compile_library(lib / "libtorch_cpu.so", "int f(void) { return 1; }")
    report = write_stubs(tmp_path)
    assert report.libraries == ()
    assert [path.name for path in lib.iterdir()] == ["libtorch_cpu.so"]
    assert ctypes.CDLL(str(lib / "libtorch_cpu.so")).f() == 1


def test_no_torch(tmp_path: Path):
    with pytest.raises(InstallError, match="no torch in"):
        write_stubs(tmp_path)


def test_library_that_is_cut_short(site_packages: Path):
    path = site_packages / "torch" / "lib" / "libtorch_cuda.so"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InstallError, match=r"libtorch_cuda\.so is a damaged shared library"):
        write_stubs(site_packages)
