"""Reads the facts of the process it runs in: the interpreter, torch, threads, libraries, variables, packages.

It runs on the cell's own Python (3.8 or newer) with the standard library alone, beside whatever torch is there, also
one that cannot be imported. `python probe.py` prints the facts as JSON. Two processes that are alike give equal facts:
no process numbers, addresses, times or temporary paths are among them.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import sys
import sysconfig

SCHEMA = 1

#: Beginnings of the names of variables that change what is measured.
VARIABLES = (
    "ATEN_",
    "BLIS_",
    "CUBLAS_",
    "CUDA_",
    "CUDNN_",
    "DNNL_",
    "GLIBC_TUNABLES",
    "GLOO_",
    "GOMP_",
    "GOTO_",
    "HIP_",
    "HSA_",
    "KMP_",
    "LD_",
    "MALLOC_",
    "MIOPEN_",
    "MKL",
    "NCCL_",
    "NUMEXPR_",
    "NVIDIA_",
    "OMP_",
    "ONEDNN_",
    "OPENBLAS_",
    "PYTHON",
    "PYTORCH_",
    "ROCM_",
    "ROCR_",
    "TBB_",
    "THP_",
    "TORCH",
    "VECLIB_",
)
_SECRET = re.compile(r"TOKEN|SECRET|KEY|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_USER_IN_URL = re.compile(r"(://)[^/@\s]+@")
_LIBRARIES = re.compile(
    r"lib(gomp|iomp|omp|mkl|openblas|blas|lapack|blis|torch|c10|caffe2|shm|dnnl|mkldnn|cu|nv|nccl|amdhip|hip|hsa|roc|MIOpen"
    r"|tbb|jemalloc|tcmalloc|mimalloc|c\.so|c-2|m\.so|stdc\+\+|gcc_s|pthread)"
)


def facts():
    """Every fact, as a dictionary that JSON can carry."""
    found = {"schema": SCHEMA, "python": python_facts()}
    # Imported before the libraries are listed, so that those it brings are among them.
    found.update(torch_facts())
    found["affinity"] = affinity()
    found["scheduling"] = scheduling()
    found["environment"] = variables()
    found["libraries"] = libraries()
    found["distributions"] = distributions()
    return found


def python_facts():
    """The interpreter."""
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "compiler": platform.python_compiler(),
        "debug": hasattr(sys, "gettotalrefcount"),
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "glibc": platform.libc_ver()[1],
    }


def torch_facts():
    """The build of torch and its switches; `torch` is None where it is absent or cannot be imported."""
    try:
        torch = importlib.import_module("torch")
    except BaseException as error:  # a broken torch raises whatever its loader and its start-up code raise
        absent = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        reason = "" if absent else "{}: {}".format(type(error).__name__, " ".join(str(error).split()))
        return {"torch": None, "import_error": reason}
    config = _ask(torch, "__config__.show") or ""
    return {
        "torch": {
            "version": str(torch.__version__),
            "git_version": _ask(torch, "version.git_version"),
            "debug": _ask(torch, "version.debug"),
            "cuda": _ask(torch, "version.cuda"),
            "hip": _ask(torch, "version.hip"),
            "cxx11_abi": _ask(torch, "_C._GLIBCXX_USE_CXX11_ABI"),
        },
        "import_error": "",
        "config": config,
        "parallel": _ask(torch, "__config__.parallel_info") or "",
        "cpu_capability": _capability(torch, config),
        "available": {name: _ask(torch, f"backends.{name}.is_available") for name in ("mkldnn", "mkl", "openmp")},
        "cuda_available": _ask(torch, "cuda.is_available"),
        "flags": flags(torch),
    }


def flags(torch):
    """The in-process switches as torch reports them now, named as cells name them."""
    return {
        "anomaly": _ask(torch, "is_anomaly_enabled"),
        "cudnn": _ask(torch, "backends.cudnn.enabled"),
        "cudnn_benchmark": _ask(torch, "backends.cudnn.benchmark"),
        "default_dtype": str(_ask(torch, "get_default_dtype")).replace("torch.", ""),
        "deterministic": _ask(torch, "are_deterministic_algorithms_enabled"),
        "grad": _ask(torch, "is_grad_enabled"),
        "matmul_precision": _ask(torch, "get_float32_matmul_precision"),
        "mkldnn": _ask(torch, "_C._get_mkldnn_enabled"),
        "num_interop_threads": _ask(torch, "get_num_interop_threads"),
        "num_threads": _ask(torch, "get_num_threads"),
        "tf32": _ask(torch, "backends.cuda.matmul.allow_tf32"),
    }


def _ask(torch, path):
    """An attribute of torch, called when it can be; None where a release lacks it or a stripped build refuses."""
    value = torch
    try:
        for name in path.split("."):
            value = getattr(value, name)
        return value() if callable(value) else value
    except Exception:
        return None


def _capability(torch, config):
    said = _ask(torch, "backends.cpu.get_cpu_capability")
    if said is None:  # older than 2.1
        match = re.search(r"CPU capability usage:\s*(.+)", config)
        said = match.group(1).strip() if match else None
    return said


def affinity():
    """The processors that this process may run on."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def scheduling():
    """How the kernel schedules this process: `other` is the ordinary way, `fifo` a real-time one."""
    if not hasattr(os, "sched_getscheduler"):
        return ""
    names = {os.SCHED_OTHER: "other", os.SCHED_FIFO: "fifo", os.SCHED_RR: "rr", os.SCHED_BATCH: "batch"}
    return names.get(os.sched_getscheduler(0), "unknown")


def variables(environment=None):
    """The variables that change what is measured; secrets are left out by name, and users in addresses."""
    environment = os.environ if environment is None else environment
    chosen = {}
    for name, value in sorted(environment.items()):
        if name.startswith(VARIABLES):
            chosen[name] = "(withheld)" if _SECRET.search(name) else _USER_IN_URL.sub(r"\1", value)
    return chosen


def libraries(maps="/proc/self/maps"):
    """Names of the mapped shared objects that matter; one that is mapped from two places is named twice."""
    paths = set()
    try:
        with open(maps, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            for line in file:
                path = line.partition("/")[2].rstrip("\n")
                if path:
                    paths.add("/" + path)
    except OSError:
        return []
    names = [path.rpartition("/")[2] for path in paths]
    return sorted(name for name in names if _LIBRARIES.match(name))


def distributions():
    """Installed packages, normalised name to version."""
    from importlib.metadata import distributions as installed

    found = {}
    for distribution in installed():
        # A half-removed package leaves a folder without metadata.
        metadata = distribution.metadata
        name, version = (metadata["Name"], metadata["Version"]) if metadata is not None else (None, None)
        if name and version:
            # The first on the path is the one that imports.
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    return found


if __name__ == "__main__":
    json.dump(facts(), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
