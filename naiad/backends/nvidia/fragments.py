"""Results of matrix instructions on their way through shared memory: stmatrix stores rows of 16 bytes.

A fragment holds 8 neighbours of a row in four lanes, two each; stmatrix puts them together, so that 16 bytes are stored
and loaded at once. A matrix has 8 rows; lane l of the warp gives the address of row l % 8 of matrix l / 8.
"""

from collections.abc import Sequence
from dataclasses import replace

from naiad.backends.nvidia.inline import asm
from naiad.layouts.convert import SharedMove, scratch
from naiad.layouts.linear import LinearLayout
from naiad.lowering.convert import address
from naiad.lowering.threads import SHARED, Threads, held_bits

__all__ = ["store_fragments"]

ROW = 8
"""Elements of 16 bits in a row."""


def as_rows(source: LinearLayout, target: LinearLayout) -> LinearLayout | None:
    """A fragment's layout as stmatrix sees it: a row in registers, the lanes at the rows of up to four matrices.

    None where it is no fragment, or the target has not the same 8 neighbours in registers.
    """
    registers, lanes = source.bases("register"), source.bases("lane")
    if not registers or not all((*registers, *lanes)):
        return None
    row = (registers[0], *lanes[:2])
    if row != target.bases("register")[:3]:
        return None
    rest = registers[1:]
    return source.replace("lane", [*lanes[2:5], *rest[:2], *[0] * (2 - len(rest[:2]))]).replace(
        "register", [*row, *rest[2:]]
    )


def store_fragments(e: Threads, registers: Sequence[str], source: LinearLayout, target: LinearLayout, type: str,
                    place: int | str, how: SharedMove) -> SharedMove | None:  # fmt: skip
    """Stores the registers of a fragment, and says where its elements lie then; None where plain stores do better."""
    rows = as_rows(source, target) if held_bits(type) == 16 and how.vec < ROW else None
    if rows is None or (e.ctas > 1 and isinstance(place, int)):
        return None
    found = replace(scratch(rows, target, 16), within_warp=how.within_warp)
    offsets = rows.compose(found.offset)
    others = (*offsets.bases("register")[3:], *e.thread_columns(offsets))
    if found.vec != ROW or offsets.bases("register")[:3] != (1, 2, 4) or any(c % ROW for c in others):
        return None
    words = e.pack(registers, type, 32)
    count = min(4, len(words))
    names = ", ".join(f"${k + 1}" for k in range(count))
    text = f"stmatrix.sync.aligned.m8n8.x{count}.shared.b16 [ $0 ], {{ {names} }};"
    for first in range(0, len(words), count):
        start = address(e, offsets, first // count * ROW, 2, place)
        given = [f"i32 {w}" for w in words[first : first + count]]
        asm(e, text, ",".join(["r"] * (count + 1)) + ",~{memory}", [f"{SHARED} {start}", *given])
    return found
