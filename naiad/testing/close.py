"""assert_close: whether two arrays agree within a tolerance."""

from typing import Any


def assert_close(x: Any, y: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Raises AssertionError unless the arrays agree within atol + rtol * |y|, by default 1e-2 and 0 as in Triton.

    Takes torch tensors, numpy arrays, lists and numbers. A tolerance may be a function of the dtype of `x`. The message
    says how many elements differ, and the largest error.
    """
    import numpy as np

    atol = 1e-2 if atol is None else atol(_dtype(x)) if callable(atol) else atol
    rtol = 0.0 if rtol is None else rtol(_dtype(x)) if callable(rtol) else rtol
    a, b = _as_numpy(x), _as_numpy(y)
    if a.size > 1 or b.size > 1:
        np.testing.assert_allclose(a, b, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)
    elif not np.allclose(a, b, atol=atol, rtol=rtol, equal_nan=True):
        raise AssertionError(f"{err_msg} {a} is not close to {b} (atol={atol}, rtol={rtol})")


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else _as_numpy(x).dtype


def _as_numpy(x: Any) -> Any:
    """The numbers in host memory, in a dtype that numpy computes with."""
    import numpy as np

    if hasattr(x, "detach"):
        x = x.detach().cpu()
        return (x.float() if "bfloat16" in str(x.dtype) or "float8" in str(x.dtype) else x).numpy()
    return np.asarray(x)
