"""Relocations of aarch64 objects, position independent, small model. Source: ELF for the Arm 64-bit architecture."""

import struct

from naiad.backends.cpu.symbols import LoadError

ABS64, PREL64, PREL32, PLT32 = 257, 260, 261, 314
ADR_LO21, ADR_PAGE21, ADD_LO12, JUMP26, CALL26, CONDBR19 = 274, 275, 277, 282, 283, 280
LOAD_STORE_SHIFT = {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}  # LDST8..LDST128_ABS_LO12_NC -> log2 of the access
ADR_GOT_PAGE, LD64_GOT_LO12 = 311, 312
LOW_MEMORY: frozenset[int] = frozenset()
GOT = frozenset({ADR_GOT_PAGE, LD64_GOT_LO12})
STUB = frozenset({JUMP26, CALL26, PLT32})
THREAD_LOCAL = frozenset(range(512, 574))
STUB_BYTES = 16


def stub(address: int) -> bytes:
    """ldr x16, [pc + 8]; br x16; the address."""
    return struct.pack("<IIQ", 0x58000050, 0xD61F0200, address)


def patch(memory: memoryview, at: int, kind: int, value: int, place: int) -> None:
    """Writes the relocation at offset `at`; `value` is the symbol's (or its GOT entry's) address plus the addend."""
    if kind == ABS64:
        struct.pack_into("<Q", memory, at, value % 2**64)
    elif kind in (PREL32, PLT32, PREL64):
        width, form = (64, "<q") if kind == PREL64 else (32, "<i")
        struct.pack_into(form, memory, at, reach(kind, value - place, width))
    else:
        (word,) = struct.unpack_from("<I", memory, at)
        struct.pack_into("<I", memory, at, word | immediate(kind, value, place))


def immediate(kind: int, value: int, place: int) -> int:
    """The bits that the instruction at `place` gets."""
    if kind in (JUMP26, CALL26):
        return reach(kind, value - place, 28) >> 2 & 0x3FFFFFF
    if kind == CONDBR19:
        return (reach(kind, value - place, 21) >> 2 & 0x7FFFF) << 5
    if kind in (ADR_PAGE21, ADR_GOT_PAGE):
        return adr(reach(kind, (value >> 12) - (place >> 12), 21))
    if kind == ADR_LO21:
        return adr(reach(kind, value - place, 21))
    if kind == ADD_LO12:
        return (value & 0xFFF) << 10
    if kind in LOAD_STORE_SHIFT:
        return (value & 0xFFF) >> LOAD_STORE_SHIFT[kind] << 10
    if kind == LD64_GOT_LO12:
        return (value & 0xFF8) >> 3 << 10
    raise LoadError(f"aarch64 relocation of kind {kind} is not supported")


def adr(distance: int) -> int:
    """The 21-bit immediate of ADR and ADRP: two low bits at 29, the rest at 5."""
    return (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5


def reach(kind: int, distance: int, bits: int) -> int:
    if not -(1 << bits - 1) <= distance < 1 << bits - 1:
        raise LoadError(f"aarch64 relocation of kind {kind} is out of range: {distance:#x}")
    return distance
