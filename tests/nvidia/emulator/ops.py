"""What each PTX instruction does, for all active threads at once."""

import ml_dtypes
import numpy as np

from .machine import Block, EmulationError, Instruction
from .tensor import do_atom, do_cp, do_ldmatrix, do_mma, do_stmatrix, do_wgmma
from .values import (
    FLOATS,
    PARAMETERS,
    WINDOW,
    address,
    as_bytes,
    bits,
    bits_of,
    load,
    names,
    raw,
    signed,
    space_of,
    store,
    unsigned,
    value,
    write,
)


def do_ld(block: Block, i: Instruction, active: np.ndarray) -> None:
    kind, outs = i.opcode.split(".")[-1], names(i.operands[0])
    if ".param" in i.opcode and i.operands[1].strip("[] ").startswith("retval"):
        write(block, outs[0], np.zeros(block.threads, np.uint32), active)
        return
    if ".param" in i.opcode and i.operands[1].strip("[] ") in block.registers:
        which = (raw(block, i.operands[1].strip("[] ")).astype(np.int64) - PARAMETERS) // 16
        values = [int(np.frombuffer(v.tobytes().ljust(8, b"\0"), np.uint64)[0]) for v in block.parameters.values()]
        write(block, outs[0], np.array(values, np.uint64)[np.clip(which, 0, len(values) - 1)], active)
        return
    if ".param" in i.opcode:
        given = block.parameters[i.operands[1].strip("[] ")]
        given = given if isinstance(given, np.generic) else np.uint64(int(given) & 0xFFFFFFFFFFFFFFFF)
        whole = np.frombuffer(given.tobytes().ljust(8, b"\0")[: bits_of(kind) // 8], unsigned(bits_of(kind)))
        write(block, outs[0], np.full(block.threads, whole[0]), active)
        return
    size = bits_of(kind) // 8
    data = load(block, space_of(i.opcode), address(block, i.operands[1]), size * len(outs), active)
    for n, out in enumerate(outs):
        word = np.ascontiguousarray(data[:, n * size : (n + 1) * size]).view(unsigned(8 * size)).reshape(-1)
        if kind[0] == "s":
            word = word.view(signed(8 * size)).astype(np.int64)
        write(block, out, word, active)


def do_st(block: Block, i: Instruction, active: np.ndarray) -> None:
    kind = i.opcode.split(".")[-1]
    if ".param" in i.opcode or ".local" in i.opcode:
        return
    size = bits_of(kind) // 8
    words = [raw(block, n) for n in names(i.operands[1])]
    store(block, space_of(i.opcode), address(block, i.operands[0]), as_bytes(words, size), active)


def do_mov_address(block: Block, i: Instruction, active: np.ndarray) -> None:
    """cvta: an address is the same in every space here."""
    write(block, i.operands[0], raw(block, i.operands[1]), active)


def do_call(block: Block, i: Instruction, active: np.ndarray) -> None:
    """Assertions fail; printing prints nothing."""
    if "__assertfail" in i.text:
        raise EmulationError("device-side assert triggered")
    if "vprintf" not in i.text:
        raise EmulationError("the emulator calls no functions")


def do_mov(block: Block, i: Instruction, active: np.ndarray) -> None:
    kind, (out, source) = i.opcode.split(".")[1], i.operands
    if source.startswith("{"):
        parts = [raw(block, n) for n in names(source)]
        size = bits_of(kind) // 8 // len(parts)
        write(block, out, as_bytes(parts, size).view(unsigned(bits_of(kind))).reshape(-1), active)
    elif out.startswith("{"):
        outs = names(out)
        whole = np.ascontiguousarray(raw(block, source).astype(unsigned(bits_of(kind))))
        parts = whole.view(unsigned(bits_of(kind) // len(outs))).reshape(-1, len(outs))
        for n, name in enumerate(outs):
            write(block, name, parts[:, n], active)
    else:
        write(block, out, raw(block, source), active)


COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge":
np.greater_equal,
           "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}  # fmt: skip


def do_setp(block: Block, i: Instruction, active: np.ndarray) -> None:
    parts = i.opcode.split(".")
    test, kind = parts[1], parts[-1]
    a, b = (value(block, o, kind) for o in i.operands[1:3])
    floats = kind in FLOATS or kind in ("bf16",)
    unordered = (np.isnan(a) | np.isnan(b)) if floats else np.zeros(len(a), bool)
    if test == "nan":
        found = unordered
    elif test == "num":
        found = ~unordered
    elif floats and test.endswith("u") and test[:-1] in COMPARE:
        found = COMPARE[test[:-1]](a, b) | unordered
    else:
        found = COMPARE[test](a, b) & ~unordered
    write(block, i.operands[0], found, active)


SMALL = {"e4m3x2": ml_dtypes.float8_e4m3fn, "e5m2x2": ml_dtypes.float8_e5m2}


CUT = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
"""What a number may be rounded to toward zero."""


def narrowed(pair: np.ndarray, kind: type) -> np.ndarray:
    """Pairs of numbers as words of two 8-bit floats, saturated."""
    most = float(ml_dtypes.finfo(kind).max)
    codes = np.clip(pair, -most, most).astype(kind).view(np.uint8)  # NaN stays
    return np.ascontiguousarray(codes).view(np.uint16).reshape(-1)


def do_cvt(block: Block, i: Instruction, active: np.ndarray) -> None:
    parts = i.opcode.split(".")
    target, source, modes = parts[-2], parts[-1], parts[1:-2]
    if i.opcode == "cvt.rna.tf32.f32":
        x = value(block, i.operands[1], "u32").astype(np.uint64)
        special = x & 0x7F800000 == 0x7F800000
        rounded = np.where(special, x, x + 0x1000 & 0xFFFFE000)
        write(block, i.operands[0], rounded, active)
        return
    if target in SMALL:
        found = [value(block, o, source) for o in i.operands[1:]]
        pair = found[0] if source == "f16x2" else np.stack(found[::-1], 1)
        write(block, i.operands[0], narrowed(pair, SMALL[target]), active)
        return
    if source in SMALL:
        codes = raw(block, i.operands[1]).astype(np.uint16).view(np.uint8).reshape(-1, 2)
        write(block, i.operands[0], bits(codes.view(SMALL[source]).astype(np.float32), target), active)
        return
    if target in ("f16x2", "bf16x2"):
        high, low = (value(block, o, source) for o in i.operands[1:3])
        write(block, i.operands[0], bits(np.stack([low, high], 1), target), active)
        return
    x = value(block, i.operands[1], source)
    rounding = {"rzi": np.trunc, "rni": np.rint, "rmi": np.floor, "rpi": np.ceil}
    for mode in modes:
        x = rounding[mode](x) if mode in rounding else x
    if target[0] in "su" and source[0] in "fb" and source != "b":
        limits = np.iinfo((signed if target[0] == "s" else unsigned)(bits_of(target)))
        x = np.where(np.isnan(x), 0, np.clip(x.astype(np.float64), float(limits.min), float(limits.max)))
        x = np.where(x >= float(limits.max), limits.max, x.astype(np.int64 if target[0] == "s" else np.uint64))
    if target in ("f16", "f32", "f64", "bf16") and source[0] in "su":
        x = x.astype(np.float32 if target == "f32" else np.float64)
    if "rz" in modes and target in CUT:
        nearest = x.astype(CUT[target])
        below = np.nextafter(nearest, CUT[target](0))
        x = np.where(np.abs(nearest.astype(np.float64)) > np.abs(x), below, nearest).astype(np.float32)
    made = bits(x, target)
    if target[0] == "s":  # a register that is wider than its type holds the sign in the rest
        made = made.view(signed(bits_of(target))).astype(np.int64)
    write(block, i.operands[0], made, active)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)


def shift(word: str):
    def apply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        n = a.dtype.itemsize * 8
        by = np.minimum(b.astype(np.uint64), n - 1).astype(a.dtype)
        made = np.left_shift(a, by) if word == "shl" else np.right_shift(a, by)
        over = b.astype(np.uint64) >= n
        return np.where(over, 0 if word == "shl" or a.dtype.kind == "u" else a >> (n - 1), made)

    return apply


def truncating(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f":
        return a / b
    negative = (a < 0) ^ (b < 0)
    sizes = [np.abs(n).view(unsigned(8 * a.dtype.itemsize)) for n in (a, np.where(b == 0, b.dtype.type(1), b))]
    quotient = (sizes[0] // sizes[1]).view(a.dtype)
    return np.where(negative, -quotient, quotient)


def rest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a - truncating(a, b) * b


def nan_aware(pick):
    def apply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return pick(a, b) if a.dtype.kind != "f" else (np.fmax if pick is np.maximum else np.fmin)(a, b)

    return apply


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": truncating, "rem": rest, "and": np.bitwise_and,
          "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": shift("shl"), "shr": shift("shr"),
          "min": nan_aware(np.minimum), "max": nan_aware(np.maximum)}  # fmt: skip
UNARY = {"neg": np.negative, "abs": np.abs, "not": np.invert, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
         "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
         "rcp": lambda x: 1 / x}  # fmt: skip


def arithmetic(block: Block, i: Instruction, active: np.ndarray) -> None:
    parts = i.opcode.split(".")
    word, kind = parts[0], parts[-1]
    if word in UNARY:
        x = value(block, i.operands[1], kind)
        wide = x.astype(np.float64) if kind in ("f32", "f16", "bf16") else x
        write(block, i.operands[0], bits(UNARY[word](wide) if kind != "pred" else ~x, kind), active)
        return
    second = "u32" if word in ("shl", "shr") else kind
    a, b = value(block, i.operands[1], kind), value(block, i.operands[2], second)
    if word == "mul" and parts[1] in ("wide", "hi"):
        product = a.astype(object) * b.astype(object)
        n = bits_of(kind)
        made = (product >> n if parts[1] == "hi" else product) & (1 << (n if parts[1] == "hi" else 2 * n)) - 1
        write(block, i.operands[0], np.array(made.tolist(), np.uint64), active)
        return
    if "NaN" in parts:
        made = (np.maximum if word == "max" else np.minimum)(a, b)
    else:
        made = BINARY[word](a, b) if kind != "pred" else {"and": a & b, "or": a | b, "xor": a ^ b}[word]
    write(block, i.operands[0], bits(made, kind), active)


def do_fma(block: Block, i: Instruction, active: np.ndarray) -> None:
    kind = i.opcode.split(".")[-1]
    a, b, c = (value(block, o, kind) for o in i.operands[1:4])
    write(block, i.operands[0], bits(fma(a, b, c) if a.dtype.kind == "f" else a * b + c, kind), active)


def do_mad(block: Block, i: Instruction, active: np.ndarray) -> None:
    parts = i.opcode.split(".")
    kind = parts[-1]
    a, b = (value(block, o, kind) for o in i.operands[1:3])
    if parts[1] == "wide":
        wide = "s64" if kind[0] == "s" else "u64"
        made = a.astype(np.int64) * b.astype(np.int64) + value(block, i.operands[3], wide).astype(np.int64)
        write(block, i.operands[0], made.view(np.uint64), active)
    else:
        write(block, i.operands[0], bits(a * b + value(block, i.operands[3], kind), kind), active)


def do_copysign(block: Block, i: Instruction, active: np.ndarray) -> None:
    """The size of the second operand with the sign of the first."""
    kind = i.opcode.split(".")[-1]
    sign, size = (value(block, o, kind) for o in i.operands[1:3])
    write(block, i.operands[0], bits(np.copysign(size, sign), kind), active)


def do_testp(block: Block, i: Instruction, active: np.ndarray) -> None:
    parts = i.opcode.split(".")
    x = value(block, i.operands[1], parts[2])
    found = {"infinite": np.isinf, "finite": np.isfinite, "notanumber": np.isnan, "number": lambda v: ~np.isnan(v)}[
        parts[1]
    ](x)
    write(block, i.operands[0], found, active)


def do_selp(block: Block, i: Instruction, active: np.ndarray) -> None:
    a, b, p = (raw(block, o) for o in i.operands[1:4])
    write(block, i.operands[0], np.where(p, a.astype(np.uint64), b.astype(np.uint64)), active)


def do_bfe(block: Block, i: Instruction, active: np.ndarray) -> None:
    kind = i.opcode.split(".")[-1]
    a = value(block, i.operands[1], "u32" if kind.endswith("32") else "u64")
    start, count = int(i.operands[2]), int(i.operands[3])
    made = a >> np.array(start, a.dtype) & np.array((1 << count) - 1, a.dtype)
    if kind[0] == "s":
        made = np.where(
            made >> np.array(count - 1, a.dtype) & np.array(1, a.dtype), made.astype(np.int64) - (1 << count), made
        )
    write(block, i.operands[0], bits(made, kind), active)


def do_bfi(block: Block, i: Instruction, active: np.ndarray) -> None:
    a, b = (value(block, o, "u32") for o in i.operands[1:3])
    start, count = int(i.operands[3]), int(i.operands[4])
    mask = np.uint32(((1 << count) - 1) << start)
    write(block, i.operands[0], b & ~mask | a << np.uint32(start) & mask, active)


def do_prmt(block: Block, i: Instruction, active: np.ndarray) -> None:
    a, b, c = (value(block, o, "u32") for o in i.operands[1:4])
    data = np.ascontiguousarray(np.stack([a, b], 1)).view(np.uint8)
    out = np.zeros((block.threads, 4), np.uint8)
    for k in range(4):
        choice = c >> np.uint32(4 * k) & np.uint32(15)
        byte = data[np.arange(block.threads), (choice & np.uint32(7)).astype(int)]
        out[:, k] = np.where(choice & np.uint32(8), np.where(byte & 128, 255, 0), byte)
    write(block, i.operands[0], out.view(np.uint32).reshape(-1), active)


def do_lop3(block: Block, i: Instruction, active: np.ndarray) -> None:
    a, b, c = (value(block, o, "u32") for o in i.operands[1:4])
    table, out = int(i.operands[4], 0), np.zeros(block.threads, np.uint32)
    for k in range(8):
        if table >> k & 1:
            out |= (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
    write(block, i.operands[0], out, active)


def do_shfl(block: Block, i: Instruction, active: np.ndarray) -> None:
    mode, out = i.opcode.split(".")[2], i.operands[0].split("|")[0]
    if not all(len(set(active[w : w + 32])) == 1 for w in range(0, block.threads, 32)):
        raise EmulationError("a shuffle that not all lanes of a warp reach")
    data, by = value(block, i.operands[1], "u32"), value(block, i.operands[2], "u32").astype(np.int64)
    me = np.arange(block.threads)
    lane = {"bfly": me % 32 ^ by, "idx": by % 32}[mode]
    write(block, out, data[me // 32 * 32 + lane], active)


def do_mapa(block: Block, i: Instruction, active: np.ndarray) -> None:
    """The address, in the cluster's memory, of a place in the memory of one of its blocks."""
    at, rank = (raw(block, o).astype(np.int64) for o in i.operands[1:3])
    write(block, i.operands[0], at + (rank + 1 << WINDOW), active)


def execute(block: Block, i: Instruction, active: np.ndarray) -> None:
    """Runs one instruction in the active threads."""
    word = i.opcode.split(".")[0]
    if (rule := RULES.get(word)) is None:
        raise EmulationError(f"the emulator does not know {i.opcode}")
    rule(block, i, active)


RULES = {"ld": do_ld, "st": do_st, "mapa": do_mapa,
         "mov": do_mov, "setp": do_setp, "cvt": do_cvt, "fma": do_fma, "mad": do_mad,
         "selp": do_selp, "testp": do_testp, "copysign": do_copysign, "bfe": do_bfe, "bfi": do_bfi,
         "prmt": do_prmt, "lop3": do_lop3, "shfl": do_shfl, "mma": do_mma,
         "ldmatrix": do_ldmatrix, "stmatrix": do_stmatrix, "cp": do_cp, "atom": do_atom, "red": do_atom,
         "wgmma": do_wgmma, "fence": lambda *_: None, "bar": lambda *_: None, "call": do_call,
         "cvta": do_mov_address, **dict.fromkeys([*BINARY, *UNARY], arithmetic)}  # fmt: skip
