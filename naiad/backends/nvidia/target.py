"""NVIDIA GPUs as the rules of `lowering/` see them: facts by generation, and the PTX for what LLVM has no word for.

Inline assembly comes from here and from `mma.py`, `copies.py` only; the tests assemble all of it for every target.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from naiad import knobs
from naiad.backends.nvidia import fragments, mma
from naiad.backends.nvidia.functions import UNARY
from naiad.backends.nvidia.inline import asm
from naiad.layouts.convert import SharedMove
from naiad.layouts.linear import LinearLayout
from naiad.lowering.target import Access
from naiad.lowering.threads import CLUSTER, GLOBAL, SHARED, Threads, width

__all__ = ["Nvidia", "target_of"]

AXES = "xyz"
PTX_VERSIONS = {80: 80, 86: 80, 87: 80, 89: 84, 90: 86, 100: 86, 103: 88, 110: 90, 120: 87, 121: 88}
LETTER = {8: "h", 16: "h", 32: "r", 64: "l"}
SMALL = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
"""PTX's names of the 8-bit floats that it converts."""
EVICTION = {"evict_first": ".L1::evict_first", "evict_last": ".L1::evict_last", "evict_normal": ""}


@dataclass(frozen=True)
class Nvidia:
    """A GPU of compute capability `arch` (90 is 9.0)."""

    arch: int
    warp_size: int = 32

    @property
    def cpu(self) -> str:
        """LLVM's and ptxas' name: the variant with the generation's own instructions where there is one."""
        return f"sm_{self.arch}{'a' if self.arch >= 90 else ''}"

    @property
    def ptx_feature(self) -> str:
        """The PTX version that is asked of LLVM: what this generation needs, and little newer, so that old ptxas do."""
        return f"+ptx{PTX_VERSIONS.get(self.arch, 88)}"

    @property
    def shared_limit(self) -> int:
        """Bytes of shared memory that one CTA may ask for."""
        return {75: 65536, 80: 166912, 86: 101376, 87: 166912, 89: 101376, 120: 101376, 121: 101376}.get(
            self.arch, 232448
        )

    @property
    def has_wgmma(self) -> bool:
        return self.arch == 90 and not knobs.nvidia.disable_mma_v3

    @property
    def has_fp8_mma(self) -> bool:
        return self.arch >= 89

    def program_id(self, e: Threads, axis: int) -> str:
        """A cluster is a program."""
        return special(e, f"{'ctaid' if e.ctas == 1 else 'clusterid'}.{AXES[axis]}")

    def num_programs(self, e: Threads, axis: int) -> str:
        return special(e, f"{'nctaid' if e.ctas == 1 else 'nclusterid'}.{AXES[axis]}")

    def thread_id(self, e: Threads) -> str:
        thread = special(e, "tid.x")
        if e.ctas == 1:
            return thread
        rank = special(e, "cluster.ctarank")
        return e.op(f"or i32 {thread}, {e.op(f'shl i32 {rank}, {e.cta_bits}')}")

    def barrier(self, e: Threads) -> None:
        if e.ctas == 1:
            e.call("void", "llvm.nvvm.barrier.cta.sync.aligned.all", ("i32",), ("0",))
            return
        for step in ("arrive", "wait"):
            e.call("void", f"llvm.nvvm.barrier.cluster.{step}.aligned", (), ())

    def of_first_cta(self, e: Threads) -> str:
        return e.call(CLUSTER, "llvm.nvvm.mapa.shared.cluster", (SHARED, "i32"), ("@shared", "0"))

    def warp_barrier(self, e: Threads) -> None:
        e.call("void", "llvm.nvvm.bar.warp.sync", ("i32",), ("-1",))

    def shuffle_xor(self, e: Threads, word: str, mask: int) -> str:
        return e.call("i32", "llvm.nvvm.shfl.sync.bfly.i32", ("i32",) * 4, ("-1", word, str(mask), "31"))

    def shuffle(self, e: Threads, word: str, lane: str) -> str:
        return e.call("i32", "llvm.nvvm.shfl.sync.idx.i32", ("i32",) * 4, ("-1", word, lane, "31"))

    def load_global(self, e: Threads, ptr: str, mask: str | None, others: Sequence[str], how: Access) -> list[str]:
        """`how.words` words behind a pointer; where the mask is false, `others`."""
        n, letter = how.words, LETTER[how.bits]
        kind = "i16" if how.bits == 8 else f"i{how.bits}"
        cache = "" if how.cache == "none" else f".{how.cache}"
        head = "ld.volatile.global" if how.volatile else f"ld.global{cache}{EVICTION[how.evict]}"
        outs = ", ".join(f"${i}" for i in range(n))
        text = f"{head}{vector(n)}.b{how.bits} {braced(outs, n)}, [ ${n} ];"
        constraints, arguments = [f"={letter}"] * n + ["l"], [f"{GLOBAL} {ptr}"]
        if mask is not None:
            text = f"@${n + 1} {text}"
            constraints += ["b", *(str(i) for i in range(n))]
            arguments += [f"i1 {mask}", *(f"{kind} {e.resize(o, how.bits, int(kind[1:]))}" for o in others)]
        made = asm(e, text, ",".join(constraints), arguments, [kind] * n)
        return [e.resize(m, int(kind[1:]), how.bits) for m in made]

    def store_global(self, e: Threads, ptr: str, mask: str | None, words: Sequence[str], how: Access) -> None:
        n, letter = how.words, LETTER[how.bits]
        kind = "i16" if how.bits == 8 else f"i{how.bits}"
        cache = "" if how.cache == "none" else f".{how.cache}"
        ins = ", ".join(f"${i + 1}" for i in range(n))
        text = f"st.global{cache}{EVICTION[how.evict]}{vector(n)}.b{how.bits} [ $0 ], {braced(ins, n)};"
        constraints = ["l", *[letter] * n]
        arguments = [f"{GLOBAL} {ptr}", *(f"{kind} {e.resize(w, how.bits, int(kind[1:]))}" for w in words)]
        if mask is not None:
            text, constraints, arguments = f"@${n + 1} {text}", [*constraints, "b"], [*arguments, f"i1 {mask}"]
        asm(e, text, ",".join([*constraints, "~{memory}"]), arguments)

    def atomic(self, e: Threads, kind: str, ptr: str, value: str, type: str, mask: str | None, sem: str, scope: str,
               used: bool) -> str:  # fmt: skip
        """One atomic; gives what was there (0 where the mask is false)."""
        n = width(type)
        if kind in LOOPED or (type == "bfloat" and self.arch < 90):
            return looped(e, kind, ptr, type, value, mask)
        word, suffix = ATOMICS[kind], atomic_type(kind, type)
        bits = e.to_bits(value, type)
        text = f"atom.global.{scope}.{sem}.{word}.{suffix} $0, [ $1 ], $2;"
        constraints, arguments = f"={LETTER[n]},l,{LETTER[n]}", [f"{GLOBAL} {ptr}", f"i{n} {bits}"]
        if mask is not None:
            text, constraints = f"@$3 {text}", f"{constraints},b,0"
            arguments += [f"i1 {mask}", f"i{n} 0"]
        [made] = asm(e, text, constraints + ",~{memory}", arguments, [f"i{n}"])
        return e.from_bits(made, type)

    def compare_swap(self, e: Threads, ptr: str, expected: str, value: str, bits: int, mask: str | None, sem: str,
                     scope: str) -> str:  # fmt: skip
        letter, kind = LETTER[bits], f"i{bits}"
        text = f"atom.global.{sem}.{scope}.cas.b{bits} $0, [ $1 ], $2, $3;"
        constraints = f"={letter},l,{letter},{letter}"
        arguments = [f"{GLOBAL} {ptr}", f"{kind} {expected}", f"{kind} {value}"]
        if mask is not None:
            text, constraints = f"@$4 {text}", f"{constraints},b,0"
            arguments += [f"i1 {mask}", f"{kind} 0"]
        [made] = asm(e, text, constraints + ",~{memory}", arguments, [kind])
        return made

    def narrows(self, format: str) -> bool:
        return self.arch >= 89 and format in SMALL

    def narrow(self, e: Threads, format: str, type: str, low: str, high: str) -> str:
        to = f"cvt.rn.satfinite.{SMALL[format]}x2"
        if type == "half":
            pair = pair_of(e, low, high)
            return asm(e, f"{to}.f16x2 $0, $1;", "=h,r", [f"i32 {pair}"], ["i16"], pure=True)[0]
        return asm(e, f"{to}.f32 $0, $2, $1;", "=h,f,f", [f"float {low}", f"float {high}"], ["i16"], pure=True)[0]

    def widen(self, e: Threads, format: str, word: str) -> list[str]:
        [pair] = asm(e, f"cvt.rn.f16x2.{SMALL[format]}x2 $0, $1;", "=r,h", [f"i16 {word}"], ["i32"], pure=True)
        both = e.op(f"bitcast i32 {pair} to <2 x half>")
        return [e.op(f"extractelement <2 x half> {both}, i32 {i}") for i in range(2)]

    def to_byte(self, e: Threads, type: str, value: str, is_signed: bool) -> str:
        """PTX has it; LLVM's own goes by way of 16 bits, and drops those above."""
        if type not in ("float", "double"):
            type, value = "float", e.op(f"fpext {type} {value} to float")
        text = f"cvt.rzi.{'s' if is_signed else 'u'}8.f{width(type)} $0, $1;"
        constraint = "=h,f" if type == "float" else "=h,d"
        return e.op(f"trunc i16 {asm(e, text, constraint, [f'{type} {value}'], ['i16'], pure=True)[0]} to i8")

    def unary(self, e: Threads, name: str, type: str, value: str) -> str:
        """A function of one f32 or f64: our own where there is one, else that of libdevice."""
        rule = UNARY.get((name, type))
        return rule(e, value) if rule is not None else self.library(e, name, type, value)

    def library(self, e: Threads, name: str, type: str, *values: str) -> str:
        """A function of libdevice, which is linked in later."""
        symbol = f"__nv_{name}{'f' if type == 'float' else ''}"
        return e.call(type, symbol, (type,) * len(values), values)

    def divide(self, e: Threads, type: str, a: str, b: str) -> str:
        """a / b: f32 and halves within 2 ulp (div.full), f64 correctly rounded."""
        if type == "double":
            return e.op(f"fdiv double {a}, {b}")
        if type != "float":
            x, y = (e.op(f"fpext {type} {v} to float") for v in (a, b))
            return e.op(f"fptrunc float {self.divide(e, 'float', x, y)} to {type}")
        return asm(e, "div.full.f32 $0, $1, $2;", "=f,f,f", [f"float {a}", f"float {b}"], ["float"], pure=True)[0]

    def store_fragments(self, e: Threads, registers: Sequence[str], source: LinearLayout, target: LinearLayout,
                        type: str, place: int | str, how: SharedMove) -> SharedMove | None:  # fmt: skip
        """Stores what a tile's threads hold of it by stmatrix, where there is one and it helps; else None."""
        return fragments.store_fragments(e, registers, source, target, type, place, how) if self.arch >= 90 else None

    def matrix_multiply(self, op: Operation, e: Threads) -> list[str]:
        return mma.multiply(op, e)


def pair_of(e: Threads, low: str, high: str) -> str:
    """Two halves as an i32."""
    first = e.op(f"insertelement <2 x half> poison, half {low}, i32 0")
    return e.op(f"bitcast <2 x half> {e.op(f'insertelement <2 x half> {first}, half {high}, i32 1')} to i32")


def special(e: Threads, name: str) -> str:
    """A special register."""
    return e.call("i32", f"llvm.nvvm.read.ptx.sreg.{name}", (), ())


ATOMICS = {"add": "add", "fadd": "add", "max": "max", "min": "min", "umax": "max", "umin": "min", "and": "and",
           "or": "or", "xor": "xor", "exch": "exch"}  # fmt: skip


LOOPED = ("fmin", "fmax")
"""What no instruction does to one float in memory."""


def looped(e: Threads, kind: str, ptr: str, type: str, value: str, mask: str | None) -> str:
    """An atomic without an instruction (addition of bfloat16 before sm_90 too): LLVM loops over compare and swap."""

    def update() -> list[str]:
        return [e.op(f"atomicrmw {kind} {GLOBAL} {ptr}, {type} {value} acq_rel")]

    zero = {"half": "0xH0000", "bfloat": "0xR0000"}.get(type, "0.0")
    return update()[0] if mask is None else e.when(mask, [type], update, lambda: [zero])[0]


def atomic_type(kind: str, type: str) -> str:
    """The type of an atomic in PTX."""
    n = width(type)
    if kind == "fadd":
        return {"half": "noftz.f16", "bfloat": "noftz.bf16"}.get(type, f"f{n}")
    if kind in ("max", "min"):
        return f"s{n}"
    return f"u{n}" if kind in ("add", "umax", "umin") else f"b{n}"


def vector(n: int) -> str:
    return f".v{n}" if n > 1 else ""


def braced(operands: str, n: int) -> str:
    return f"{{ {operands} }}" if n > 1 else operands


def target_of(arch: int) -> Nvidia:
    """The GPU of a compute capability; ValueError below 8.0."""
    if arch < 80:
        raise ValueError(f"compute capability {arch / 10:.1f} is not supported: 8.0 is the lowest")
    return Nvidia(arch)
