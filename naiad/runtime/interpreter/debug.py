"""Rules of the ops that speak to the programmer: print, assert, barriers, hints."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from naiad.rounding import is_float, to_double
from naiad.runtime.interpreter import place
from naiad.runtime.interpreter.errors import DeviceAssertionError
from naiad.runtime.interpreter.tiles import Rule, Tile


def print_tiles(
    builder: Any,
    operands: Sequence[Tile],
    type: Any = None,
    prefix: str = "",
    hex: bool = False,
    isSigned: Sequence[int] = (),
) -> None:
    """One line an element: `pid (0, 0, 0) idx (  3) x: 7`, in the format of the compiled kernel."""
    pid = "pid ({}, {}, {})".format(*builder.program)
    if not operands:
        print(f"{pid}{prefix}")
    for number, (tile, signed) in enumerate(zip(operands, isSigned, strict=True)):
        tile = np.asarray(tile)
        label = f"{prefix}(operand {number}) " if len(operands) > 1 else prefix
        widths = [len(str(size - 1)) for size in tile.shape]
        for index in product(*(range(size) for size in tile.shape)):
            place = ", ".join(f"{i:>{width}}" for i, width in zip(index, widths, strict=True))
            print(f"{pid} idx ({place}){label}{_text(tile[index], hex, bool(signed))}")


def _text(value: Any, hex: bool, signed: bool) -> str:
    if is_float(value.dtype):
        return f"{float(to_double(value)):f}"
    bits = 8 * value.dtype.itemsize
    number = int(value)
    if hex:
        return f"{number % 2**bits:#0{bits // 4 + 2}x}"
    return str(number if signed else number % 2**bits)


def check(builder: Any, operands: Sequence[Tile], type: Any = None, message: str = "") -> None:
    """Raises where an element of the condition is false."""
    bad = ~np.asarray(operands[0])
    if bad.any():
        where = ", ".join(map(str, np.argwhere(bad)[0])) if bad.ndim else ""
        lane = f" at idx ({where})" if where else ""
        raise DeviceAssertionError(
            f"{place.current()}\ndevice-side assert: {message} in program {builder.program}{lane}"
        )


def nothing(builder: Any, operands: Sequence[Any], type: Any = None, **attributes: Any) -> None:
    """Barriers and hints: one program runs at a time, and every store is done when it returns."""


RULES: dict[str, Rule] = {
    "tt.print": print_tiles,
    "tt.assert": check,
    "llvm.intr.assume": nothing,
    **dict.fromkeys(("gpu.barrier", "ttg.barrier", "ttg.local_barrier", "tt.barrier"), nothing),
}
