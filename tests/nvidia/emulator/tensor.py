"""Instructions of whole warps: mma.sync, ldmatrix, stmatrix; asynchronous copies and atomics."""

import functools
from collections.abc import Callable

import numpy as np

from .machine import Block, EmulationError, Instruction
from .values import address, bits, in_shared, load, names, raw, reach, space_of, store, unsigned, value, warps, write


def whole_warps(block: Block, active: np.ndarray) -> list[slice]:
    """The active warps, which must be active as a whole."""
    out = []
    for start in range(0, block.threads, 32):
        here = active[start : start + 32]
        if here.any():
            if not here.all():
                raise EmulationError("not all lanes of a warp reach an instruction of the whole warp")
            out.append(slice(start, start + 32))
    return out


def decoded(words: np.ndarray, kind: str) -> np.ndarray:
    """Words of 32 bits [lane, n] as the elements that they hold [lane, n * per word], in f64."""
    words = np.ascontiguousarray(words.astype(np.uint32))
    if kind == "f16":
        return words.view(np.float16).astype(np.float64)
    if kind == "bf16":
        return (words.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind == "tf32":
        return (words & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    if kind in ("e4m3", "e5m2"):
        import ml_dtypes

        dtype = ml_dtypes.float8_e4m3fn if kind == "e4m3" else ml_dtypes.float8_e5m2
        return words.view(np.uint8).view(dtype).astype(np.float64)
    return words.view(np.int8).astype(np.float64)


def do_mma(block: Block, i: Instruction, active: np.ndarray) -> None:
    parts = i.opcode.split(".")
    k = int(parts[3].split("k")[1])
    accumulator, a_kind, b_kind = parts[6], parts[7], parts[8]
    outs = names(i.operands[0])
    a, b, c = (np.stack([raw(block, n) for n in names(o)], 1) for o in i.operands[1:4])
    whole_warps(block, active)
    made = multiply(decoded(a, a_kind), decoded(b, b_kind), c.astype(np.uint32), k, accumulator)
    for n, name in enumerate(outs):
        write(block, name, made[:, n], active)


@functools.cache
def places(k: int, per: int) -> tuple[np.ndarray, ...]:
    """Rows and columns of a warp's fragments of a, b and the sums: [lane, element], as the PTX manual lays them out.

    per: elements in a word.
    """
    lane, a, b, c = (np.arange(n) for n in (32, 4 * per, 2 * per, 4))
    group, member = lane[:, None] // 4, lane[:, None] % 4
    word, n = a // per, a % per
    left = group + 8 * (word % 2), member * per + n + 4 * per * (word // 2)
    right = member * per + b % per + 4 * per * (b // per), np.broadcast_to(group, (32, 2 * per))
    return *left, *right, group + 8 * (c // 2), 2 * member + c % 2


def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray, k: int, accumulator: str) -> np.ndarray:
    """The sums of all warps, [thread, word], and products of their fragments."""
    i, j, y, x, row, column = places(k, a.shape[1] // 4)
    count = len(a) // 32
    left, right = np.zeros((count, 16, k)), np.zeros((count, k, 8))
    left[:, i, j], right[:, y, x] = a.reshape(count, 32, -1), b.reshape(count, 32, -1)
    view = {"f32": np.float32, "s32": np.int32, "f16": np.float16}[accumulator]
    sums = np.ascontiguousarray(c).view(view).copy()
    sums += (left @ right)[:, row, column].reshape(sums.shape).astype(view)
    return sums.view(np.uint32)


def rows(block: Block, at: np.ndarray, warp: slice, count: int) -> np.ndarray:
    """[matrix, row, 16 bytes] at the addresses that the lanes give."""
    lanes = np.zeros(block.threads, bool)
    lanes[warp.start : warp.start + 8 * count] = True
    places = reach(block, "shared", at, 16, lanes)
    block.races.on_read(places, warps(lanes))
    return block.shared[places].reshape(count, 8, 16)


def do_ldmatrix(block: Block, i: Instruction, active: np.ndarray) -> None:
    outs, at = names(i.operands[0]), address(block, i.operands[1])
    made = np.zeros((block.threads, len(outs)), np.uint32)
    for warp in whole_warps(block, active):
        for n, matrix in enumerate(rows(block, at, warp, len(outs)).view(np.uint16)):
            matrix = matrix.T if ".trans" in i.opcode else matrix
            pairs = np.ascontiguousarray(matrix.reshape(8, 4, 2)).view(np.uint32).reshape(32)
            made[warp, n] = pairs
    for n, name in enumerate(outs):
        write(block, name, made[:, n], active)


def do_stmatrix(block: Block, i: Instruction, active: np.ndarray) -> None:
    at, given = address(block, i.operands[0]), names(i.operands[1])
    words = np.stack([raw(block, n).astype(np.uint32) for n in given], 1)
    for warp in whole_warps(block, active):
        for n in range(len(given)):
            matrix = np.ascontiguousarray(words[warp, n]).view(np.uint16).reshape(8, 8)
            matrix = np.ascontiguousarray(matrix.T) if ".trans" in i.opcode else matrix
            lanes = np.zeros(block.threads, bool)
            lanes[warp.start + 8 * n : warp.start + 8 * n + 8] = True
            data = np.zeros((block.threads, 16), np.uint8)
            data[lanes] = matrix.view(np.uint8).reshape(8, 16)
            store(block, "shared", at, data, lanes)


def do_cp(block: Block, i: Instruction, active: np.ndarray) -> None:
    """Copies land when they are waited for: until then the memory holds garbage."""
    if i.opcode.endswith("commit_group"):
        block.groups.append(block.pending)
        block.pending = []
    elif i.opcode.endswith("wait_group"):
        block.finish_copies(int(i.operands[0]))
    elif i.opcode.startswith("cp.async.c"):
        begin_copy(block, i, active)
    else:
        raise EmulationError(f"the emulator does not know {i.opcode}")


def begin_copy(block: Block, i: Instruction, active: np.ndarray) -> None:
    target, source, size = address(block, i.operands[0]), address(block, i.operands[1]), int(i.operands[2])
    taken = np.full(block.threads, size)
    if len(i.operands) > 3:  # the bytes to take, or whether to ignore the source
        given = raw(block, i.operands[3])
        taken = np.where(given, 0, size) if given.dtype == bool else given.astype(np.int64)
    reads = active & (taken > 0)
    data = np.zeros((block.threads, size), np.uint8)
    if reads.any():
        data = load(block, "global", source, size, reads)
    places = reach(block, "shared", target, size, active)
    block.races.on_write(places, warps(active), np.zeros(places.shape, bool))
    block.shared[places] = 0xA5
    held = data[active]

    def land() -> None:
        block.shared[places] = held

    block.pending.append(land)


def do_atom(block: Block, i: Instruction, active: np.ndarray) -> None:
    """Threads one after the other."""
    parts = i.opcode.split(".")
    kind, space = parts[-1], space_of(i.opcode)
    word = next(p for p in parts if p in ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"))
    has_result = parts[0] == "atom"
    at = address(block, i.operands[has_result])
    given = [value(block, o, kind) for o in i.operands[has_result + 1 :]]
    is_shared = space.startswith("shared")
    memory = block.shared if is_shared else block.memory.bytes
    at = np.where(active, in_shared(block, space, at) if is_shared else block.memory.locate(at), 0)
    size = given[0].dtype.itemsize if kind != "bf16" else 2
    old = np.zeros(block.threads, unsigned(8 * size))
    for t in np.flatnonzero(active):
        if at[t] < 0 or at[t] + size > len(memory) or at[t] % size:
            raise EmulationError("an atomic out of bounds or not aligned")
        cell = memory[at[t] : at[t] + size]
        old[t] = cell.view(unsigned(8 * size))[0]
        new = combined(word, number(cell, given[0].dtype, kind), [g[t] for g in given])
        made = bits(np.asarray([new], given[0].dtype), kind)
        cell[:] = np.ascontiguousarray(made).view(np.uint8)
    if has_result:
        write(block, i.operands[0], old, active)


def number(cell: np.ndarray, dtype: np.dtype, kind: str) -> np.generic:
    """What a cell of memory holds."""
    if kind == "bf16":
        return (cell.view(np.uint16).astype(np.uint32) << 16).view(np.float32)[0]
    return cell.view(dtype)[0]


def combined(word: str, before: np.generic, given: list) -> np.generic:
    match word:
        case "add":
            return before + given[0]
        case "min":
            return min(before, given[0])
        case "max":
            return max(before, given[0])
        case "and":
            return before & given[0]
        case "or":
            return before | given[0]
        case "xor":
            return before ^ given[0]
        case "exch":
            return given[0]
        case "cas":
            return given[1] if before == given[0] else before
    raise EmulationError(f"the emulator does not know the atomic {word}")


SWIZZLES = {1: (128, 7), 2: (64, 3), 3: (32, 1)}


def matrix_at(block: Block, thread: int, descriptor: int, k: int, other: int, is_k_major: bool) -> np.ndarray:
    """The operand [other, k] that a descriptor of wgmma describes, as its bytes. Source: PTX ISA."""
    size = 32 // k
    if size == 1 and not is_k_major:
        raise EmulationError("wgmma reads bytes along k only")
    start, leading, stride = (descriptor >> s & 0x3FFF for s in (0, 16, 32))
    start, leading, stride = start << 4, leading << 4, stride << 4
    width, mask = SWIZZLES[descriptor >> 62 & 3]
    i, j = np.meshgrid(np.arange(other), np.arange(k), indexing="ij")
    if is_k_major:
        at = start + i // 8 * stride + i % 8 * width + size * j
    else:
        per = width // 2
        at = start + i // per * leading + j // 8 * stride + j % 8 * width + 2 * (i % per)
    at = at ^ (at >> 7 & mask) << 4
    if at.max() + size > block.shared_size:
        raise EmulationError("wgmma reads shared memory out of bounds")
    at = at + block.rank[thread] * block.shared_size
    return np.ascontiguousarray(block.shared[at[..., None] + np.arange(size)].reshape(other, -1))


def do_wgmma(block: Block, i: Instruction, active: np.ndarray) -> None:
    """One instruction of each warpgroup; fences do nothing here."""
    if "commit_group" in i.opcode:
        block.products.append([])
    elif "wait_group" in i.opcode:
        block.finish_products(int(i.operands[0]))
    elif "mma_async" in i.opcode:
        block.products[-1].append(product(block, i, active))


def product(block: Block, i: Instruction, active: np.ndarray) -> Callable[[], None]:
    """What a wgmma does when it ends, which is when it is waited for: until then all that it reads must stay."""
    left = i.operands[1]
    descriptors = [raw(block, o).copy() for o in (left, i.operands[2]) if not o.startswith("{")]
    return lambda: finish(block, i, active.copy(), descriptors, names(left) if left.startswith("{") else [])


def finish(
    block: Block, i: Instruction, active: np.ndarray, descriptors: list[np.ndarray], in_registers: list[str]
) -> None:
    """The product itself."""
    parts = i.opcode.split(".")
    shape, a_kind, b_kind = parts[4], parts[6], parts[7]
    n, k = int(shape.split("n")[1].split("k")[0]), int(shape.split("k")[1])
    outs, right = names(i.operands[0]), descriptors[-1]
    flags = [0, 0, 0, 0, *(int(f) for f in i.operands[6:])][-2:]  # which operands are turned
    if i.operands[3] == "0":
        sums = np.zeros((block.threads, len(outs)), np.uint32)
    else:
        sums = np.stack([raw(block, o).astype(np.uint32) for o in outs], 1)
    for first in range(0, block.threads, 128):
        group = slice(first, first + 128)
        if not active[group].all():
            raise EmulationError("not all threads of a warpgroup reach wgmma")
        if len(set(right[group].tolist())) > 1:
            raise EmulationError("the threads of a warpgroup have different descriptors")
        b = decoded(matrix_at(block, first, int(right[first]), k, n, not flags[-1]).view(np.uint32), b_kind)
        if in_registers:
            words = np.stack([raw(block, w).astype(np.uint32) for w in in_registers], 1)[group]
            a = np.concatenate([rows_of(decoded(words[32 * w : 32 * w + 32], a_kind), k) for w in range(4)])
        else:
            a = decoded(
                matrix_at(block, first, int(descriptors[0][first]), k, 64, not flags[0]).view(np.uint32), a_kind
            )
        add_product(sums[group].view(np.int32 if a_kind == "s8" else np.float32), a @ b.T, n)
    for index, name in enumerate(outs):
        write(block, name, sums[:, index], active)


def rows_of(elements: np.ndarray, k: int) -> np.ndarray:
    """The 16 rows that a warp's fragment of a holds."""
    out, per = np.zeros((16, k)), k // 8  # elements in a word
    for lane in range(32):
        for word in range(4):
            row, column = lane // 4 + 8 * (word % 2), per * (lane % 4 + 4 * (word // 2))
            out[row, column : column + per] = elements[lane, per * word : per * word + per]
    return out


def add_product(sums: np.ndarray, product: np.ndarray, n: int) -> None:
    """Adds [64, n] to the accumulators [thread, register] of a warpgroup, in place."""
    thread = np.arange(128)
    for register in range(n // 2):
        row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (register // 2 % 2)
        column = 8 * (register // 4) + 2 * (thread % 4) + register % 2
        sums[:, register] += product[row, column].astype(sums.dtype)
