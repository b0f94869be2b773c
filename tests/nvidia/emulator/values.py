"""Registers and memory of the emulator: operands as numbers, accesses with their checks.

Registers hold bits, as unsigned integers.
"""

import re

import numpy as np

from .machine import Block, EmulationError

np.seterr(all="ignore")
PARAMETERS = 1 << 41
"""Where the kernel's parameters would lie, for code that computes which one it reads."""
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
SPECIAL = {f"%{name}.{axis}" for name in ("tid", "ctaid", "nctaid", "clusterid", "nclusterid") for axis in "xyz"}
WINDOW = 24
"""Addresses of a cluster's memory have the number of the block, plus one, above so many bits."""


def bits_of(type: str) -> int:
    return 32 if type in ("f16x2", "bf16x2") else int(re.sub(r"\D", "", type.replace("bf16", "16")))


def unsigned(bits: int) -> type:
    return {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]


def signed(bits: int) -> type:
    return {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}[bits]


def raw(block: Block, operand: str) -> np.ndarray:
    """The bits of an operand, one per thread."""
    n = block.threads
    if operand in block.registers:
        return block.registers[operand]
    if operand in block.parameters:
        return np.full(n, PARAMETERS + 16 * list(block.parameters).index(operand), np.uint64)
    if operand in SPECIAL:
        name, axis = operand[1:].split(".")
        k = "xyz".index(axis)
        if name == "tid":
            return (np.arange(n) % (n // block.ctas)).astype(np.uint32)
        if block.ctas > 1 and "cta" in name:
            raise EmulationError(f"a program of several blocks asks for {operand}")
        return np.full(n, (block.grid if name[0] == "n" else block.position)[k], np.uint32)
    if operand == "%cluster_ctarank":
        return block.rank.astype(np.uint32)
    if operand in ("shared", "global_smem"):
        return np.zeros(n, np.uint64)
    if operand.startswith("0f"):
        return np.full(n, int(operand[2:], 16), np.uint32)
    if operand.startswith("0d"):
        return np.full(n, int(operand[2:], 16), np.uint64)
    if operand.startswith("0x"):
        return np.full(n, int(operand.rstrip("U"), 16), np.uint64)
    if re.match(r"^-?\d+$", operand):
        return np.full(n, int(operand) & 0xFFFFFFFFFFFFFFFF, np.uint64)
    if operand in block.tables:
        return np.full(n, block.tables[operand], np.uint64)
    if re.match(
        r"^(text|table|param|__cudart|__local_depot|%SP)[\w$]*$", operand
    ):  # the address of a constant or of the stack
        return np.full(n, 1 << 40, np.uint64)
    if operand in ("true", "false"):
        return np.full(n, operand == "true")
    if re.match(r"^%(r|rs|rd)\d+$", operand):  # LLVM packs halves with one that it never sets, and does not look at it
        return np.full(n, 0xA5A5A5A5A5A5A5A5, np.uint64).astype(kind_of(operand))
    raise EmulationError(f"the register {operand} is read before it is written")


def kind_of(name: str) -> type:
    """What numpy holds a register's bits in."""
    return bool if name.startswith("%p") else unsigned({"%rs": 16, "%rd": 64, "%rq": 64}.get(name[:3], 32))


def value(block: Block, operand: str, type: str) -> np.ndarray:
    """An operand as numbers of a PTX type."""
    found = raw(block, operand)
    if type == "pred":
        return found
    n = bits_of(type)
    word = found.astype(unsigned(n))
    if type == "bf16":
        return (word.astype(np.uint32) << 16).view(np.float32)
    if type in FLOATS:
        return word.view(FLOATS[type])
    if type in ("f16x2", "bf16x2"):
        halves = word.view(np.uint16).reshape(-1, 2)
        return (
            halves.view(np.float16).astype(np.float32)
            if type == "f16x2"
            else (halves.astype(np.uint32) << 16).view(np.float32)
        )
    return word.view(signed(n)) if type[0] == "s" else word


def to_bf16(x: np.ndarray) -> np.ndarray:
    """f32 rounded to nearest even, as bits."""
    u = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = ((u.astype(np.uint64) + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FFF), rounded)


def bits(numbers: np.ndarray, type: str) -> np.ndarray:
    """Numbers of a PTX type as the bits of a register."""
    if type == "pred":
        return numbers.astype(bool)
    if type == "bf16":
        return to_bf16(numbers)
    if type == "f16x2":
        return np.ascontiguousarray(numbers.astype(np.float16)).view(np.uint32).reshape(-1)
    if type == "bf16x2":
        return np.ascontiguousarray(to_bf16(numbers)).view(np.uint32).reshape(-1)
    if type in FLOATS:
        return np.ascontiguousarray(numbers.astype(FLOATS[type])).view(unsigned(bits_of(type)))
    return numbers.astype(unsigned(bits_of(type)), casting="unsafe")


def write(block: Block, name: str, found: np.ndarray, active: np.ndarray) -> None:
    """Sets a register in the active threads; `_` throws away."""
    if name == "_":
        return
    kind = kind_of(name)
    found = found.astype(kind, copy=False)
    old = block.registers.get(name)
    if old is None or active.all():
        block.registers[name] = found.copy() if old is None else found
        if old is None and not active.all():
            block.registers[name] = np.where(active, found, np.zeros(1, kind))
    else:
        block.registers[name] = np.where(active, found, old)


def names(operand: str) -> list[str]:
    return [n.strip() for n in operand.strip("{} ").split(",")]


def address(block: Block, operand: str) -> np.ndarray:
    """`[ %rd1+16 ]`."""
    inner = operand.strip("[] ")
    base, _, offset = inner.partition("+")
    total = raw(block, base.strip()).astype(np.int64)
    return total + int(offset) if offset else total


def reach(block: Block, space: str, at: np.ndarray, size: int, active: np.ndarray) -> np.ndarray:
    """The byte indices of an access, checked."""
    first = at[active]
    start = first
    if space == "global":
        start = block.memory.locate(first)
    elif space.startswith("shared"):
        start = in_shared(block, space, at)[active]
    places = start[:, None] + np.arange(size)
    limit = len(block.shared) if space.startswith("shared") else len(block.memory.bytes)
    if places.size and (
        places.min() < 0 or places.max() >= limit or (space == "global" and not block.memory.mapped[places].all())
    ):
        raise EmulationError(f"{space} memory is accessed out of bounds")
    if places.size and np.any(first % size):
        raise EmulationError(f"an access of {size} bytes that is not aligned")
    return places


def in_shared(block: Block, space: str, at: np.ndarray) -> np.ndarray:
    """Where addresses of shared memory lie in that of all blocks; -1 where they are out of bounds."""
    rank = block.rank
    if space == "shared::cluster":
        rank = np.where(at >> WINDOW == 0, rank, (at >> WINDOW) - 1)
        at = at & (1 << WINDOW) - 1
    return np.where((at >= 0) & (at < block.shared_size), at + rank * block.shared_size, -1)


def warps(active: np.ndarray) -> np.ndarray:
    return (np.arange(len(active)) // 32)[active].astype(np.int32)


def load(block: Block, space: str, at: np.ndarray, size: int, active: np.ndarray) -> np.ndarray:
    """`size` bytes per thread; zeros in threads that are not active."""
    places = reach(block, space, at, size, active)
    out = np.zeros((block.threads, size), np.uint8)
    if space.startswith("shared"):
        block.races.on_read(places, warps(active))
        out[active] = block.shared[places]
    else:
        out[active] = block.memory.bytes[places]
    return out


def store(block: Block, space: str, at: np.ndarray, data: np.ndarray, active: np.ndarray) -> None:
    places = reach(block, space, at, data.shape[1], active)
    if space.startswith("shared"):
        block.races.on_write(places, warps(active), block.shared[places] == data[active])
        block.shared[places] = data[active]
    else:
        block.memory.bytes[places] = data[active]


def as_bytes(words: list[np.ndarray], size: int) -> np.ndarray:
    return np.concatenate(
        [np.ascontiguousarray(w.astype(unsigned(8 * size)))[:, None].view(np.uint8) for w in words], axis=1
    )


def space_of(opcode: str) -> str:
    for space in ("global", "shared::cluster", "shared", "param", "const"):
        if f".{space}" in opcode:
            return space
    return "global"
