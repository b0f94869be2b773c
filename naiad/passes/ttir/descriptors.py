"""tt-rewrite-descriptors: block pointers and tensor descriptors become plain pointer tiles with masks. ttir to ttir.

    %p = tt.make_tensor_ptr %base, [%m, %n], [%s, %c1], [%i, %j] : <tensor<32x64xf16>>
    %x = tt.load %p {boundaryCheck = array<i32: 0>}

    becomes  range_d * stride_d, added to a scalar pointer base + i * s + j * c1, and the mask  range_0 < m - i

so that in a loop only scalars change. Such a value is a list of scalars (`Parts`) wherever it goes: through scf, calls
and arguments. A kernel's descriptor argument becomes its base pointer; its shape (i32) and strides (i64) are the
arguments that follow, which the front end puts there; where they are not there (ttir by hand) they are added.
`tt.padding = 2 : i32` on the argument says that it pads with NaN, `tt.divisibility` that its last dimension has a
multiple of 16 bytes, as the steps between rows and the address always have, `tt.round_f32_to_tf32` that what is read is
rounded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, i1, i32, i64
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.ir.attributes import keyword
from naiad.ir.base import bits, shape
from naiad.ir.tt.blocks import (
    AdvanceOp,
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    MakeTensorDescriptorOp,
    MakeTensorPtrOp,
)
from naiad.ir.tt.func import FuncOp
from naiad.ir.tt.memory import LoadOp, StoreOp, is_block_pointer
from naiad.ir.types import TensorDescType, pointer
from naiad.passes.ttir.accesses import ALIGNMENT, Access, Maker, Parts

__all__ = ["RewriteDescriptors"]


@dataclass(frozen=True)
class RewriteDescriptors(ModulePass):
    name = "tt-rewrite-descriptors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(_is_described(v.type) for inner in op.walk() for v in _values(inner)):
            for func in list(op.body.block.ops):
                if isinstance(func, FuncOp) and func.body.blocks:
                    _Rewrite().function(func)


def _values(op: Operation) -> list[SSAValue]:
    return [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]


def _is_described(type: Attribute) -> bool:
    return isinstance(type, TensorDescType) or is_block_pointer(type)


def _block(type: Attribute) -> Attribute:
    return type.block if isinstance(type, TensorDescType) else type.pointee


def _part_types(type: Attribute) -> list[Attribute]:
    """What a value of `type` becomes.

    Base, shape, strides, then offsets of a block pointer, or padding and rounding of a descriptor.
    """
    if not _is_described(type):
        return [type]
    block = _block(type)
    rank = len(shape(block))
    last = [i1, i1] if isinstance(type, TensorDescType) else [i64] * rank
    return [pointer(block.element_type), *[i64] * (2 * rank), *last]


@dataclass
class _Rewrite:
    """Rewrites one function, ops in order; `parts` holds what each block pointer and descriptor has become."""

    parts: dict[SSAValue, Parts] = field(default_factory=dict)
    gone: list[Operation] = field(default_factory=list)

    def function(self, func: FuncOp) -> None:
        block = func.body.block
        types = [a.type for a in block.args]
        attributes = [dict(d.data) for d in func.arg_attrs] if func.arg_attrs else [{} for _ in types]
        if any(map(_is_described, types)):
            attributes = self._arguments(func, block, attributes)
            func.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(a) for a in attributes])
        outputs = [t for type in func.function_type.outputs for t in _part_types(type)]
        func.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], outputs)
        self.block(block)
        for op in reversed(self.gone):
            Rewriter.erase_op(op)

    def _arguments(
        self, func: FuncOp, block: Block, attributes: list[dict[str, Attribute]]
    ) -> list[dict[str, Attribute]]:
        index, kept = 0, list(attributes)
        while index < len(block.args):
            argument = block.args[index]
            if not _is_described(argument.type):
                index += 1
            elif func.is_public and isinstance(argument.type, TensorDescType):
                index = self._kernel_argument(block, index, kept)
            else:
                added = self.expand_argument(block, index)
                kept[index : index + 1] = [{} for _ in range(added)]
                index += added
        return kept

    def _kernel_argument(self, block: Block, index: int, attributes: list[dict[str, Attribute]]) -> int:
        """desc, then r times i32 and r times i64: the shape and the strides of the descriptor."""
        old = block.args[index]
        rank = len(shape(old.type.block))
        following = [a.type for a in block.args[index + 1 : index + 1 + 2 * rank]]
        if following != [i32] * rank + [i64] * rank:
            for n, type in enumerate([i32] * rank + [i64] * rank):
                block.insert_arg(type, index + 1 + n)
                attributes.insert(index + 1 + n, {})
        base = block.insert_arg(pointer(old.type.block.element_type), index)
        base.name_hint, base.location = old.name_hint, old.location
        extents = block.args[index + 2 : index + 2 + 2 * rank]
        make = Maker(block.first_op, block.first_op.location)
        sizes = [make.op("arith.extsi", i64, v) for v in extents[:rank]]
        strides = [*extents[rank:-1], make.constant(1, i64)]  # a descriptor's last dimension is contiguous
        padding = attributes[index].pop("tt.padding", None)
        self._promises(attributes, index, rank, old.type.block.element_type)
        nan = make.constant(padding is not None and padding.value.data == 2, i1)
        rounds = make.constant(attributes[index].pop("tt.round_f32_to_tf32", None) is not None, i1)
        self.parts[old] = Parts(base, sizes, strides, (), nan, rounds)
        old.replace_all_uses_with(_stand_in(self, old))
        block.erase_arg(old)
        return index + 1 + 2 * rank

    def _promises(self, attributes: list[dict[str, Attribute]], index: int, rank: int, kind: Attribute) -> None:
        """What a descriptor's arguments are multiples of, as its maker has checked; rows' length where it says so."""
        step = max(1, ALIGNMENT * 8 // max(8, bits(kind)))
        last = attributes[index].pop("tt.divisibility", None)
        attributes[index]["tt.divisibility"] = IntegerAttr(ALIGNMENT, i32)
        if last is not None:
            attributes[index + rank]["tt.divisibility"] = IntegerAttr(step, i32)
        for n in range(rank - 1):
            attributes[index + 1 + rank + n]["tt.divisibility"] = IntegerAttr(step, i32)

    def expand_argument(self, block: Block, index: int) -> int:
        """Puts scalars in the place of an argument; says how many."""
        old = block.args[index]
        types = _part_types(old.type)
        fresh = [block.insert_arg(type, index + n) for n, type in enumerate(types)]
        for value in fresh:
            value.name_hint, value.location = old.name_hint, old.location
        self.parts[old] = Parts.of(old.type, fresh)
        old.replace_all_uses_with(_stand_in(self, old))
        block.erase_arg(old)
        return len(types)

    # ---- ops -------------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            if isinstance(op, ForOp | IfOp | WhileOp):
                self._control(op)
            elif rule := RULES.get(type(op)):
                rule(self, op)
            elif any(v in self.parts for v in op._operands) or any(_is_described(r.type) for r in op.results):
                self._other(op)
            else:
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)

    def flat(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Values with each block pointer and descriptor as its parts."""
        return [part for v in values for part in (self.parts[v].flat() if v in self.parts else (v,))]

    def _control(self, op: Operation) -> None:
        """A loop or a branch: its operands, arguments and results by parts."""
        for region in op.regions:
            for block in region.blocks:
                for index in reversed(range(len(block.args))):
                    if _is_described(block.args[index].type):
                        self.expand_argument(block, index)
                self.block(block)
        if any(_is_described(r.type) for r in op.results) or any(v in self.parts for v in op._operands):
            self._swap(op, [op.detach_region(region) for region in list(op.regions)])

    def _other(self, op: Operation) -> None:
        """Terminators, calls and selects: by parts; anything else does not take a block pointer."""
        if op.name == "arith.select":
            self._select(op)
        elif op.name in ("scf.yield", "scf.condition", "tt.return"):
            op.operands = self.flat(op._operands)
        elif op.name in ("tt.call", "ub.poison"):
            self._poison(op) if op.name == "ub.poison" else self._swap(op, [])
        else:
            raise RuntimeError(f"{op.name} takes no block pointers or tensor descriptors")

    def _swap(self, op: Operation, regions: list[Region]) -> None:
        types = [t for r in op.results for t in _part_types(r.type)]
        new = type(op).create(operands=self.flat(op._operands), result_types=types, regions=regions,
                              location=op.location, attributes=dict(op.attributes),
                              properties=dict(op.properties))  # fmt: skip
        op.parent.insert_op_before(new, op)
        at = 0
        for old in op.results:
            count = len(_part_types(old.type))
            if _is_described(old.type):
                self.parts[old] = Parts.of(old.type, list(new.results[at : at + count]))
            else:
                old.replace_all_uses_with(new.results[at])
                new.results[at].name_hint = old.name_hint
            at += count
        self.gone.append(op)

    def _select(self, op: Operation) -> None:
        make = Maker(op, op.location)
        yes, no = self.parts[op._operands[1]].flat(), self.parts[op._operands[2]].flat()
        chosen = [make.op("arith.select", a.type, op._operands[0], a, b) for a, b in zip(yes, no, strict=True)]
        self.parts[op.results[0]] = Parts.of(op.results[0].type, chosen)
        self.gone.append(op)

    def _poison(self, op: Operation) -> None:
        make = Maker(op, op.location)
        result = op.results[0]
        self.parts[result] = Parts.of(result.type, [make.op("ub.poison", t) for t in _part_types(result.type)])
        self.gone.append(op)


def _stand_in(rewrite: _Rewrite, old: SSAValue) -> SSAValue:
    """A detached value that keeps an erased argument's name in the table while its users wait to be rewritten."""
    holder = Block(arg_types=[old.type]).args[0]
    rewrite.parts[holder] = rewrite.parts.pop(old)
    return holder


# ---- one rule an op ------------------------------------------------------------------------------------------------


def _make(r: _Rewrite, op: MakeTensorPtrOp | MakeTensorDescriptorOp) -> None:
    make = Maker(op, op.location)
    if isinstance(op, MakeTensorPtrOp):
        offsets = [make.op("arith.extsi", i64, v) for v in op.offsets]
        parts = Parts(op.base, list(op.shape), list(op.strides), offsets, None)
    else:
        sizes = [make.op("arith.extsi", i64, v) for v in op.shape]
        nan = make.constant(op.padding is not None and _is_nan(op.padding), i1)
        parts = Parts(op.base, sizes, list(op.strides), (), nan, make.constant(False, i1))
    r.parts[op.results[0]] = parts
    r.gone.append(op)


def _advance(r: _Rewrite, op: AdvanceOp) -> None:
    make, old = Maker(op, op.location), r.parts[op.ptr]
    steps = [make.op("arith.extsi", i64, v) for v in op.offsets]
    moved = [make.op("arith.addi", i64, a, b) for a, b in zip(old.offsets, steps, strict=True)]
    r.parts[op.result] = Parts(old.base, old.shape, old.strides, moved, None)
    r.gone.append(op)


def _load(r: _Rewrite, op: LoadOp) -> None:
    if (parts := r.parts.get(op.ptr)) is None:
        return
    checked = tuple(op.boundaryCheck.get_values()) if op.boundaryCheck is not None else ()
    access = Access.block(Maker(op, op.location), parts, op.result.type, parts.offsets, checked)
    nan = None if op.padding is None else _is_nan(op.padding)
    _replace(op, access.load(op, nan if checked else None))


def _store(r: _Rewrite, op: StoreOp) -> None:
    if (parts := r.parts.get(op.ptr)) is None:
        return
    checked = tuple(op.boundaryCheck.get_values()) if op.boundaryCheck is not None else ()
    Access.block(Maker(op, op.location), parts, op.value.type, parts.offsets, checked).store(op, op.value)
    Rewriter.erase_op(op)


def _described_access(r: _Rewrite, op: Operation) -> Access:
    parts = r.parts[op._operands[0]]
    make = Maker(op, op.location)
    block = _block(op._operands[0].type)
    offsets = [make.op("arith.extsi", i64, v) for v in op.indices]
    return Access.block(make, parts, block, offsets, tuple(range(len(offsets))))


def _descriptor_load(r: _Rewrite, op: DescriptorLoadOp) -> None:
    access = _described_access(r, op)
    loaded = access.load(op, access.parts.padding)
    _replace(op, access.make.reshaped(loaded, op.result.type))


def _descriptor_store(r: _Rewrite, op: DescriptorStoreOp) -> None:
    access = _described_access(r, op)
    access.store(op, access.make.reshaped(op.src, _block(op.desc.type)))
    Rewriter.erase_op(op)


def _descriptor_reduce(r: _Rewrite, op: DescriptorReduceOp) -> None:
    access = _described_access(r, op)
    access.reduce(
        op.kind.data,
        access.make.reshaped(op.src, _block(op.desc.type)),
    )
    Rewriter.erase_op(op)


def _rows(r: _Rewrite, op: DescriptorGatherOp | DescriptorScatterOp, tile: Attribute) -> Access:
    return Access.rows(Maker(op, op.location), r.parts[op.desc], tile, op.x_offsets, op.y_offset)


def _gather(r: _Rewrite, op: DescriptorGatherOp) -> None:
    access = _rows(r, op, op.result.type)
    _replace(op, access.load(op, access.parts.padding))


def _scatter(r: _Rewrite, op: DescriptorScatterOp) -> None:
    _rows(r, op, op.src.type).store(op, op.src)
    Rewriter.erase_op(op)


def _is_nan(padding: Attribute) -> bool:
    return padding == keyword("nan")


def _replace(op: Operation, value: SSAValue) -> None:
    value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)
    Rewriter.erase_op(op)


RULES: dict[type[Operation], Callable[..., None]] = {
    MakeTensorPtrOp: _make,
    MakeTensorDescriptorOp: _make,
    AdvanceOp: _advance,
    LoadOp: _load,
    StoreOp: _store,
    DescriptorLoadOp: _descriptor_load,
    DescriptorStoreOp: _descriptor_store,
    DescriptorReduceOp: _descriptor_reduce,
    DescriptorGatherOp: _gather,
    DescriptorScatterOp: _scatter,
}
