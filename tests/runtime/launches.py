"""A launch whose result is checked, for tests that ask where its kernel came from."""

from typing import Any

import numpy as np

from naiad.runtime.jit import JITFunction

from .kernels import add


def launch() -> Any:
    """One launch by a function that has compiled nothing yet; its kernel."""
    x, y, out = np.arange(70, dtype="f4"), np.ones(70, "f4"), np.full(70, np.nan, "f4")
    kernel = JITFunction(add.fn)[(2,)](x, y, out, 70)
    np.testing.assert_array_equal(out, x + y)
    return kernel
