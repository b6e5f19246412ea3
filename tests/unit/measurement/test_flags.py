from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from harness.inspection import probe
from harness.measurement import flags as flags_module
from harness.measurement import worker
from harness.measurement.flags import FLAGS, FlagError, apply_flags


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Something that takes switches as torch does."""
    fake = ModuleType("torch")
    fake.said = {}  # type: ignore[attr-defined]

    def setter(name: str) -> object:
        return lambda value: fake.said.__setitem__(name, value)

    fake._C = SimpleNamespace(_set_mkldnn_enabled=setter("mkldnn"))  # type: ignore[attr-defined]
    fake.set_num_threads = setter("num_threads")  # type: ignore[attr-defined]
    fake.set_deterministic = setter("deterministic")  # type: ignore[attr-defined]
    fake.backends = SimpleNamespace(  # type: ignore[attr-defined]
        cudnn=SimpleNamespace(), cuda=SimpleNamespace(matmul=SimpleNamespace())
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


def test_set(torch: ModuleType) -> None:
    apply_flags({"mkldnn": "off", "num_threads": "3", "deterministic": "on", "tf32": "yes", "cudnn": "0"})
    assert torch.said == {"mkldnn": False, "num_threads": 3, "deterministic": True}
    assert torch.backends.cudnn.allow_tf32 is True
    assert torch.backends.cuda.matmul.allow_tf32 is True
    assert torch.backends.cudnn.enabled is False


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"mkldnn": "maybe"}, "flag mkldnn=maybe cannot be set here: it takes on or off"),
        ({"num_threads": "many"}, "flag num_threads=many cannot be set here"),
        ({"matmul_precision": "high"}, "flag matmul_precision=high cannot be set here"),
        ({"speed": "1", "mkldnn": "off"}, "unknown flag speed; known are anomaly, cudnn"),
    ],
)
def test_cannot_be_set(torch: ModuleType, flags: dict[str, str], said: str) -> None:
    with pytest.raises(FlagError, match=said):
        apply_flags(flags)
    assert torch.said == {}


def test_torch_is_not_imported_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    apply_flags({})


def test_every_flag_is_read_back() -> None:
    # flush_denormal cannot be asked for.
    assert set(FLAGS) - set(probe.flags(ModuleType("torch"))) == {"flush_denormal"}


@pytest.mark.parametrize("module", [worker, flags_module, probe])
def test_runs_on_old_pythons(module: ModuleType) -> None:
    assert module.__file__
    source = Path(module.__file__).read_text()
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names | {"asv_runner"}
