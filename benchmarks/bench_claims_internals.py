"""Claims about names inside `torch._C`, and about what an import changes in its process."""

import os
import re

from .claims import Claim, ask_new_process, claim, failure_of
from .common import skip
from .verdicts import verdict

#: Seconds for one fresh process; an import from a cold disk takes tens of seconds.
PATIENCE = 100


class Names(Claim):
    @claim("C28", "claim_autograd_table_dump_exists", "torch._C._debug_dump_autograd_table exists")
    def track_dump(self):
        names = dir(self.torch._C)
        near = sorted(name for name in names if re.search(r"dump|autograd_(table|graph)", name))
        holds = "_debug_dump_autograd_table" in names
        note = (
            f"among {len(names)} names of torch._C it is {'there' if holds else 'not'}; those with dump or autograd "
            f"table in them are {', '.join(near) or 'none'}"
        )
        return verdict(holds, note)

    @claim("C29", "claim_config_names_build_type", "torch._C._show_config() names the build type")
    def track_build_type(self):
        said = []
        why = failure_of(lambda: said.append(self.torch._C._show_config()))
        found = re.search(r"(?:CMAKE_)?BUILD_TYPE=(\w+)", "".join(said))
        note = f"it raised: {why}" if why else f"it says {found.group(0) if found else 'no build type'}"
        return verdict(found is not None, note)


class Import:
    """In fresh processes that import torch; this one never does, for they inherit its affinity."""

    param_names = ["environment"]
    params = [["as it is", "OMP_PROC_BIND=true"]]

    def setup(self, environment):
        name, _, value = environment.partition("=")
        self.variables = {name: value} if value else {}
        if why := ask_new_process(IMPORTS, PATIENCE):
            message = f"torch cannot be imported: {why}"
            raise RuntimeError(message)
        if value and len(os.sched_getaffinity(0)) == 1:
            skip("one processor: nothing can be bound to fewer")

    @claim(
        "C32",
        "claim_import_leaves_threads_alone",
        "importing torch leaves the process's CPU affinity and thread settings unchanged",
        timeout=2.0 * PATIENCE + 20.0,
    )
    def track_import(self, _):
        before, after = ask_new_process(IMPORT, PATIENCE, variables=self.variables)
        changed = [name for name in before if before[name] != after[name] and name != "threads"]
        said = [f"{name} went from {before[name]} to {after[name]}" for name in changed]
        note = (
            f"{'; '.join(said) or 'affinity, scheduling and variables were the same after'}"
            f"; processors {len(before['affinity'])} before and {len(after['affinity'])} after, threads "
            f"{before['threads']} and {after['threads']}"
        )
        return verdict(not changed, note)


IMPORTS = """
import json
why = ""
try:
    import torch
except Exception as error:
    why = "%s: %s" % (type(error).__name__, error)
print(json.dumps(why))
"""
#: Variables are read from the C library: what native code sets does not show in os.environ.
IMPORT = """
import ctypes, json, os
def variables():
    at, found = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ"), []
    while at[len(found)]:
        found.append(at[len(found)].decode(errors="replace"))
    return sorted(found)
def state():
    return {
        "affinity": sorted(os.sched_getaffinity(0)),
        "scheduling": [os.sched_getscheduler(0), os.nice(0)],
        "variables": variables(),
        "threads": len(os.listdir("/proc/self/task")),
    }
before = state()
import torch
after = state()
new = [text for text in after["variables"] if text not in before["variables"]]
old = [text for text in before["variables"] if text not in after["variables"]]
before["variables"], after["variables"] = old, new
print(json.dumps([before, after]))
"""
