"""Where two arrays part: how many elements, which first, and how far, in units of the last place."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from naiad.rounding import format_of, is_float

LEAST, WIDEST = 2.0**-18, 2.0**-9
"""Errors relative to a value that float32 is allowed by default; and, relative to the largest value, narrow floats."""


@dataclass(frozen=True)
class Bound:
    """What is still the same: |a - b| <= atol + rtol |b|. None: by the dtype, and 0 for integers."""

    rtol: float | None = None
    atol: float | None = None

    def of(self, dtype: np.dtype, largest: float) -> tuple[float, float]:
        """rtol and atol for floats of a dtype, where the largest value is as told."""
        rtol = self.rtol
        if rtol is None:
            rtol = 2.0**-40 if dtype == np.float64 else max(2 * 2.0 ** -_mantissa(dtype), LEAST)
        atol = min(rtol, WIDEST) * largest if self.atol is None else self.atol
        return rtol, atol


@dataclass(frozen=True)
class Parting:
    """Elements that differ: how many of how many, the first one, what it is and should be, and the worst error."""

    count: int
    total: int
    index: tuple[int, ...]
    got: Any
    want: Any
    error: str
    bound: str

    def __str__(self) -> str:
        at = list(self.index)
        return (
            f"{self.count} of {self.total} elements differ, the first at {at}: {self.got!r}, not {self.want!r}; "
            f"{self.error} ({self.bound})"
        )


def parting(got: np.ndarray, want: np.ndarray, bound: Bound, dtype: np.dtype | None = None) -> Parting | None:
    """Where `got` is not `want`; None where they agree. `dtype`: that of the numbers, if `want` is wider."""
    dtype = dtype or got.dtype
    if got.shape != want.shape:
        raise ValueError(f"shapes differ: {list(got.shape)} and {list(want.shape)}")
    if not is_float(dtype):
        bad = got != want
        return _parting(bad, got, want, _by_difference, "integers are compared bit for bit") if bad.any() else None
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    rtol, atol = bound.of(dtype, float(finite.max()) if finite.size else 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        close = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b)))
    if close.all():
        return None
    text = f"allowed is |error| <= {atol:.3g} + {rtol:.3g} |value|"
    return _parting(~close, got, want, functools.partial(_in_ulps, dtype), text)


def _parting(bad: np.ndarray, got: np.ndarray, want: np.ndarray, error: Any, bound: str) -> Parting:
    index = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.ndim else ()
    first = tuple(map(int, index))
    text = error(got[bad], want[bad], bad)
    return Parting(int(bad.sum()), bad.size, first, got[first].item(), want[first].item(), text, bound)


def _place(bad: np.ndarray, position: int) -> list[int]:
    """The index of one of the bad elements."""
    return [int(axis[position]) for axis in np.nonzero(bad)]


def _by_difference(got: np.ndarray, want: np.ndarray, bad: np.ndarray) -> str:
    errors = [abs(int(a) - int(b)) for a, b in zip(got, want, strict=True)]
    worst = max(range(len(errors)), key=errors.__getitem__)
    return f"the worst is {errors[worst]} off, at {_place(bad, worst)}"


def _in_ulps(dtype: np.dtype, got: np.ndarray, want: np.ndarray, bad: np.ndarray) -> str:
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(a - b)
    known = np.isfinite(errors)
    if not known.any():
        return "what differs is not finite"
    worst = int(np.argmax(np.where(known, errors, -1)))
    ulps = errors[worst] / ulp(dtype, b[worst])
    relative = f", {errors[worst] / abs(b[worst]):.3g} of the value" if b[worst] else ""
    rest = "" if known.all() else f", and {int((~known).sum())} are not finite"
    return f"the worst error is {errors[worst]:.3g}, {ulps:.4g} ulps{relative}, at {_place(bad, worst)}{rest}"


def _mantissa(dtype: np.dtype) -> int:
    return 52 if dtype == np.float64 else format_of(dtype).mantissa


def ulp(dtype: np.dtype, value: float) -> float:
    """The distance of floats of a dtype near a value."""
    least = -1022 if dtype == np.float64 else format_of(dtype).least
    exponent = np.frexp(abs(value))[1] - 1 if value and np.isfinite(value) else least
    return float(np.ldexp(1.0, int(max(exponent, least)) - _mantissa(dtype)))
