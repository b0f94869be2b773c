"""Relocations of x86-64 objects, position independent or in the low 2 GB. Source: AMD64 psABI 1.0, table 4.9."""

import struct

from naiad.backends.cpu.symbols import LoadError

ABS64, PC32, PLT32, GOTPCREL, ABS32, ABS32S, PC64, GOTPCRELX, REX_GOTPCRELX = 1, 2, 4, 9, 10, 11, 24, 41, 42
LOW_MEMORY = frozenset({ABS32, ABS32S})
GOT = frozenset({GOTPCREL, GOTPCRELX, REX_GOTPCRELX})
STUB = frozenset({PLT32})
THREAD_LOCAL = frozenset({16, 17, 18, 19, 20, 21, 22, 23, 34, 35, 36})
PLACED = frozenset({PC32, PLT32, PC64}) | GOT  # relative to the place that is patched
FORMAT = {ABS64: "<Q", ABS32: "<I", ABS32S: "<i", PC64: "<q", **dict.fromkeys((PC32, PLT32, *GOT), "<i")}
STUB_BYTES = 16


def stub(address: int) -> bytes:
    """jmp *[rip]; the address."""
    return b"\xff\x25\0\0\0\0" + struct.pack("<Q", address) + b"\x90\x90"


def patch(memory: memoryview, at: int, kind: int, value: int, place: int) -> None:
    """Writes the relocation at offset `at`; `value` is the symbol's (or its GOT entry's) address plus the addend."""
    if kind not in FORMAT:
        raise LoadError(f"x86-64 relocation of kind {kind} is not supported")
    value = value - place if kind in PLACED else value % 2**64
    try:
        struct.pack_into(FORMAT[kind], memory, at, value)
    except struct.error as error:
        raise LoadError(f"x86-64 relocation of kind {kind} is out of range: {value:#x}") from error
