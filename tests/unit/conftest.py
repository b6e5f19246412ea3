from __future__ import annotations

from hypothesis import settings

# No test asserts a time: a first example may import scipy on a busy machine.
settings.register_profile("harness", deadline=None)
settings.load_profile("harness")
