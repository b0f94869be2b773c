"""ttcir: what a tile program is on a CPU. Loops (`scf`) over vectors of one register, scalar addresses, an arena.

`arith` and `math` work on scalars and on `vector<16xf32>`; addresses are scalar `!tt.ptr<T>` moved by `tt.addptr`
with an `index` or i64 offset in elements. Memory of a tile that must exist is an `ttc.alloc`, a pointer like any
other.

    %x = ttc.load %p, %mask, %zero : !tt.ptr<f32> -> vector<16xf32>
    %s = ttc.reduce add %x : vector<16xf32>
"""

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, UnitAttr, VectorType, i1, i32, i64
from xdsl.ir import Dialect
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from naiad.ir.base import Derived, NaiadOp, element
from naiad.ir.types import PointerType

V = VarConstraint("V", AnyAttr())
ELEMENT = Derived("V", element)
MASK = "(`mask` $mask^ `:` type($mask))?"
OTHER = "(`other` $other^ `:` type($other))?"


@irdl_op_definition
class AllocOp(NaiadOp):
    """Memory of the program's arena, 64-byte aligned, for `elements` elements of the pointee; i1 takes a byte each.

    `name_hint` of the result says what it holds. Placed at the start of the function, never in a loop.
    """

    name = "ttc.alloc"
    elements = prop_def(IntegerAttr.constr(type=i64))
    result = result_def(PointerType)
    assembly_format = "$elements attr-dict `:` type($result)"


@irdl_op_definition
class LoadOp(NaiadOp):
    """Reads a scalar, or lanes `step` elements apart starting at `ptr` (a scalar pointer); step is 1 when absent.

    Lanes whose mask is false touch no memory and give `other` (0 when absent). mask, other: vectors (or scalars for a
    scalar result). `align`: bytes that `ptr` is known to be aligned to (the element's size when absent).
    """

    name = "ttc.load"
    ptr = operand_def(PointerType)
    mask = opt_operand_def()
    other = opt_operand_def()
    step = opt_prop_def(IntegerAttr.constr(type=i64))
    align = opt_prop_def(IntegerAttr.constr(type=i64))
    volatile = opt_prop_def(UnitAttr)
    result = result_def()
    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = f"$ptr {MASK} {OTHER} attr-dict `:` type($ptr) `->` type($result)"


@irdl_op_definition
class PrefetchOp(NaiadOp):
    """Asks for the cache line at `ptr`; touches nothing, whatever the pointer holds."""

    name = "ttc.prefetch"
    ptr = operand_def(PointerType)
    traits = traits_def(MemoryWriteEffect())  # it must not be dropped as dead
    assembly_format = "$ptr attr-dict `:` type($ptr)"


@irdl_op_definition
class StoreOp(NaiadOp):
    """Writes a scalar, or lanes `step` elements apart starting at `ptr`; the rest as in `ttc.load`.

    `stream`: the value will not be read again soon. Where `align` says that the address allows it, it goes past the
    caches.
    """

    name = "ttc.store"
    ptr = operand_def(PointerType)
    value = operand_def()
    mask = opt_operand_def()
    step = opt_prop_def(IntegerAttr.constr(type=i64))
    align = opt_prop_def(IntegerAttr.constr(type=i64))
    stream = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = f"$ptr `,` $value {MASK} attr-dict `:` type($ptr) `,` type($value)"


@irdl_op_definition
class GatherOp(NaiadOp):
    """Reads each lane from its own pointer. ptrs: vector of pointers; mask, other as in `ttc.load`."""

    name = "ttc.gather"
    ptrs = operand_def(VectorType)
    mask = opt_operand_def(VectorType)
    other = opt_operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = f"$ptrs {MASK} {OTHER} attr-dict `:` type($ptrs) `->` type($result)"


@irdl_op_definition
class ScatterOp(NaiadOp):
    """Writes each lane to its own pointer, lane 0 first: of two lanes with one address the higher wins."""

    name = "ttc.scatter"
    ptrs = operand_def(VectorType)
    value = operand_def(VectorType)
    mask = opt_operand_def(VectorType)
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = f"$ptrs `,` $value {MASK} attr-dict `:` type($ptrs) `,` type($value)"


@irdl_op_definition
class SplatOp(NaiadOp):
    """A vector with the scalar in every lane."""

    name = "ttc.splat"
    src = operand_def()
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"


@irdl_op_definition
class IotaOp(NaiadOp):
    """0, 1, 2, ... in the integer type of the result's lanes."""

    name = "ttc.iota"
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"


@irdl_op_definition
class ExtractOp(NaiadOp):
    """The lane of `src` that `lane` (index, i32 or i64) names."""

    name = "ttc.extract"
    src = operand_def(V)
    lane = operand_def()
    result = result_def(ELEMENT)
    traits = traits_def(Pure())
    assembly_format = "$src `[` $lane `:` type($lane) `]` attr-dict `:` type($src)"


@irdl_op_definition
class InsertOp(NaiadOp):
    """`dest` with the lane that `lane` names replaced by `value`."""

    name = "ttc.insert"
    value = operand_def()
    dest = operand_def(V)
    lane = operand_def()
    result = result_def(V)
    traits = traits_def(Pure())
    assembly_format = "$value `into` $dest `[` $lane `:` type($lane) `]` attr-dict `:` type($value) `,` type($dest)"


@irdl_op_definition
class ShuffleOp(NaiadOp):
    """Lanes picked from the two operands laid end to end; an index of -1 leaves the lane unspecified."""

    name = "ttc.shuffle"
    lhs = operand_def(V)
    rhs = operand_def(V)
    indices = prop_def(DenseArrayBase.constr(i32))
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs $indices attr-dict `:` type($lhs) `->` type($result)"


@irdl_op_definition
class ReduceOp(NaiadOp):
    """All lanes combined into a scalar, in any order: arith.addf, addi, muli, mulf, maxnumf, minnumf, maximumf,
    minimumf, maxsi, maxui, minsi, minui, andi, ori, xori (`kind` is the name without `arith.`)."""

    name = "ttc.reduce"
    kind = prop_def(StringAttr)
    src = operand_def(V)
    result = result_def(ELEMENT)
    traits = traits_def(Pure())
    assembly_format = "$kind $src attr-dict `:` type($src)"


@irdl_op_definition
class DivideOp(NaiadOp):
    """src / divisor, rounded once, all lanes by one divisor (f32).

    reciprocal: 1 / divisor. simple (i1): the divisor is far from overflow and underflow, see
    `backends/cpu/lower_divide.py`.
    """

    name = "ttc.divide"
    src = operand_def(V)
    divisor = operand_def(ELEMENT)
    reciprocal = operand_def(ELEMENT)
    simple = operand_def(i1)
    result = result_def(V)
    traits = traits_def(Pure())
    assembly_format = "$src `by` $divisor `,` $reciprocal `,` $simple attr-dict `:` type($src)"


@irdl_op_definition
class AtomicRmwOp(NaiadOp):
    """The atomic of `tt.atomic_rmw` on one element: gives what was there. kind, sem: as the ttir text spells them.

    kind: and, or, xor, add, fadd, max, min, umax, umin, fmax, fmin, xchg.
    """

    name = "ttc.atomic_rmw"
    kind = prop_def(StringAttr)
    sem = prop_def(StringAttr)
    ptr = operand_def(PointerType)
    value = operand_def()
    result = result_def()
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$kind `,` $sem `,` $ptr `,` $value attr-dict `:` type($ptr) `,` type($value) `->` type($result)"


@irdl_op_definition
class AtomicCasOp(NaiadOp):
    """Stores `value` where `expected` is found (bits compared); gives what was there."""

    name = "ttc.atomic_cas"
    sem = prop_def(StringAttr)
    ptr = operand_def(PointerType)
    expected = operand_def(V)
    value = operand_def(V)
    result = result_def(V)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$sem `,` $ptr `,` $expected `,` $value attr-dict `:` type($ptr) `,` type($value)"


@irdl_op_definition
class DotOp(NaiadOp):
    """acc[m][n] += a[m][k] . b[k][n] by the target's register microkernel.

    a: row-major, unit stride along k, `lda` elements from row to row. b: where `packed` in the panels that
    `backends/cpu/microkernel.py` describes, else row-major with `ldb`. acc: the arena, rows of n elements, `ldc`, if it
    is not n, from row to row. Element types from the pointers: f32, f64, bf16, f16, i8 (acc f32, f64, i32). `zero`: acc
    is written, not read; so it is where `fresh` (i1, tile registers only) holds. `unsigned_a`, `unsigned_b`: i8
    operands are u8.
    """

    name = "ttc.dot"
    a = operand_def(PointerType)
    b = operand_def(PointerType)
    acc = operand_def(PointerType)
    lda = operand_def()
    ldb = operand_def()
    fresh = opt_operand_def(i1)
    m = prop_def(IntegerAttr.constr(type=i64))
    n = prop_def(IntegerAttr.constr(type=i64))
    k = prop_def(IntegerAttr.constr(type=i64))
    ldc = opt_prop_def(IntegerAttr.constr(type=i64))
    packed = opt_prop_def(UnitAttr)
    zero = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class TransposeOp(NaiadOp):
    """dst[j][i] = src[i][j] for i < m, j < n; pitches in elements. The two do not overlap."""

    name = "ttc.transpose"
    src = operand_def(PointerType)
    dst = operand_def(PointerType)
    lds = operand_def()
    ldd = operand_def()
    m = prop_def(IntegerAttr.constr(type=i64))
    n = prop_def(IntegerAttr.constr(type=i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class SortOp(NaiadOp):
    """Sorts each of `rows` rows of `n` elements (a power of two) in place, rows end to end; NaN last when ascending.

    `signed`: how integers compare. `ahead`: memory of as many bytes that is worth fetching meanwhile.
    """

    name = "ttc.sort"
    ptr = operand_def(PointerType)
    ahead = opt_operand_def(PointerType)
    rows = prop_def(IntegerAttr.constr(type=i64))
    n = prop_def(IntegerAttr.constr(type=i64))
    descending = opt_prop_def(UnitAttr)
    signed = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class PrintOp(NaiadOp):
    """One line on stdout: the program's ids, the element's index, the prefix, then the scalar operand.

    index: one `index` value per dimension of the tile, padded to the widths of `shape`. `operand`, `operands`:
    which of how many operands this is.
    """

    name = "ttc.print"
    prefix = prop_def(StringAttr)
    hex = opt_prop_def(UnitAttr)
    signed = opt_prop_def(UnitAttr)
    shape = prop_def(DenseArrayBase.constr(i64))
    operand_number = prop_def(IntegerAttr.constr(type=i64))
    operand_count = prop_def(IntegerAttr.constr(type=i64))
    pids = var_operand_def()
    index = var_operand_def()
    value = opt_operand_def()
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)


@irdl_op_definition
class AssertOp(NaiadOp):
    """Where `condition` (i1) is false, the launch fails: the runtime raises RuntimeError with `message` after it
    ends."""

    name = "ttc.assert"
    condition = operand_def(i1)
    message = prop_def(StringAttr)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition `,` $message attr-dict"


@irdl_op_definition
class CallOp(NaiadOp):
    """Calls the C function `symbol` (of libm or of the runtime) on scalars."""

    name = "ttc.call"
    symbol = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())


OPS = [AllocOp, LoadOp, PrefetchOp, StoreOp, GatherOp, ScatterOp, SplatOp, IotaOp, ExtractOp, InsertOp,
       ShuffleOp, ReduceOp, DivideOp, AtomicRmwOp, AtomicCasOp, DotOp, TransposeOp, SortOp, PrintOp,
       AssertOp, CallOp]  # fmt: skip
TTC = Dialect("ttc", OPS, [])
