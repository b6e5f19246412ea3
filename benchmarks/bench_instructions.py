"""Instructions that small operations execute, counted by valgrind: a change of 1 % shows on any machine, however busy.

A simulated processor counts them, so neither its neighbours nor its frequency matter. What does: the processor's model,
for libraries choose code by what it can do, and the C library. Importing torch under valgrind takes minutes.
"""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from .common import load_torch, metric, skip

#: Calls that are counted together: what counting begins and ends with is divided by them.
CALLS = 200
#: Statements, and what is made before them.
OPERATIONS = {
    "add": ("torch.add(a, b)", "a = torch.ones(8); b = torch.ones(8)"),
    "view": ("a[0]", "a = torch.ones(8, 8)"),
    "allocate": ("torch.empty(8)", "torch.empty(8)"),
    "backward": ("(a * b).sum().backward()", "a = torch.ones(8, requires_grad=True); b = torch.ones(8)"),
}


class Instructions:
    param_names = ["operation"]
    params = [list(OPERATIONS)]

    def setup(self, operation):
        load_torch()
        if shutil.which("valgrind") is None:
            skip("valgrind is not installed (Debian and Ubuntu: apt-get install valgrind)")
        if importlib.util.find_spec("setuptools") is None:
            skip("setuptools is not installed")
        from torch.utils.benchmark import Timer

        statement, before = OPERATIONS[operation]
        # Once, for what the first calls make and later ones find made.
        self.timer = Timer(statement, setup=f"{before}\n{statement}")

    @metric(
        "instructions",
        unit="instructions",
        direction="lower",
        hot_path="H03",
        tags=["instructions"],
        floor=0.005,
        enough_rounds=3,
        seconds=90.0,
        timeout=600.0,
        summary="instructions of one small operation, counted by callgrind",
    )
    def track_instructions(self, _):
        # It calls `python`, whichever that is.
        environment = dict(os.environ)
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
        # Strings hash alike in each process, so that tables of names are walked alike.
        os.environ["PYTHONHASHSEED"] = "0"
        try:
            counted = self.timer.collect_callgrind(number=CALLS, collect_baseline=False)
        finally:
            os.environ.clear()
            os.environ.update(environment)
        return counted.counts() / CALLS
