"""Which arguments a kernel may write through: what tuning puts back after it tried a configuration. Reads ttir.

Every pointer that is written is followed backwards, through arithmetic, loops, branches, calls and descriptors, to the
arguments that it may come from. What an argument's pointer reaches outside of its own array is the caller's affair.
"""

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from naiad.ir.base import element
from naiad.ir.tt.blocks import AdvanceOp, MakeTensorDescriptorOp, MakeTensorPtrOp
from naiad.ir.tt.debug import ElementwiseInlineAsmOp, ExternElementwiseOp
from naiad.ir.tt.func import CallOp, FuncOp, ReturnOp
from naiad.ir.tt.make import AddPtrOp
from naiad.ir.tt.memory import AtomicCasOp, AtomicRmwOp, StoreOp
from naiad.ir.types import PointerType, TensorDescType

__all__ = ["arguments_behind", "destinations", "written_arguments"]

Sources = Sequence[SSAValue] | None
"""The values that a pointer may come from; None where it comes from memory, or from nowhere that can be seen."""
TO_FIRST = (StoreOp, AtomicRmwOp, AtomicCasOp)
BASE_FIRST = (AddPtrOp, AdvanceOp, MakeTensorPtrOp, MakeTensorDescriptorOp)


def written_arguments(module: ModuleOp) -> tuple[int, ...] | None:
    """The indices of the kernel's arguments that it may write through; None where that cannot be told.

    It cannot where a pointer is read from memory, or is made of a number that the kernel is given.
    """
    return arguments_behind(module, (value for op in module.walk() for value in destinations(op)))


def arguments_behind(module: ModuleOp, pointers: Iterable[SSAValue]) -> tuple[int, ...] | None:
    """The indices of the kernel's arguments that pointers may come from; None where that cannot be told."""
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    return _Trace(module, {f.sym_name.data: f for f in functions}).run(pointers)


class _Trace:
    """The walk from pointers to where they come from. It visits each value once."""

    def __init__(self, module: ModuleOp, functions: dict[str, FuncOp]) -> None:
        self.module, self.functions = module, functions
        self.found: set[int] = set()
        self.seen: set[SSAValue] = set()
        self.work: list[SSAValue] = []

    def run(self, pointers: Iterable[SSAValue]) -> tuple[int, ...] | None:
        self._add(pointers)
        while self.work:
            value = self.work.pop()
            sources = self._sources(value)
            if sources is None:
                return None
            self._add(sources)
        return tuple(sorted(self.found))

    def _add(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            if value not in self.seen:
                self.seen.add(value)
                self.work.append(value)

    def _sources(self, value: SSAValue) -> Sources:
        if isinstance(value, OpResult):
            return self._of_result(value.op, value.index)
        assert isinstance(value, BlockArgument)
        return self._of_argument(value, value.block, value.index)

    def _of_result(self, op: Operation, index: int) -> Sources:
        if isinstance(op, BASE_FIRST):
            return op._operands[:1]
        if isinstance(op, ForOp):
            return op._operands[3 + index], *_ends(op, index)
        if isinstance(op, IfOp):
            return _ends(op, index)
        if isinstance(op, WhileOp):
            return (_end(op.before_region.block, index + 1),)
        if isinstance(op, CallOp):
            returns = (inner for inner in self.functions[op.symbol].walk() if isinstance(inner, ReturnOp))
            return [inner.values[index] for inner in returns]
        if op.name == "arith.select":
            return op._operands[1:]
        return _parts(op)

    def _of_argument(self, value: BlockArgument, block: Block, index: int) -> Sources:
        op = block.parent_op()
        if isinstance(op, FuncOp):
            return self._parameter(op, value, index)
        if isinstance(op, ForOp):
            return (op._operands[2 + index], _end(block, index - 1)) if index else op._operands[:1]
        if isinstance(op, WhileOp):
            if block is op.after_region.block:
                return (_end(op.before_region.block, index + 1),)
            return op._operands[index], _end(op.after_region.block, index)
        return op._operands if op is not None else None

    def _parameter(self, function: FuncOp, value: BlockArgument, index: int) -> Sources:
        """The kernel's parameters are what is looked for; those of other functions come from their calls."""
        if not function.is_public:
            name = function.sym_name.data
            calls = (op for op in self.module.walk() if isinstance(op, CallOp) and op.symbol == name)
            return [call.arguments[index] for call in calls]
        if not isinstance(element(value.type), PointerType | TensorDescType):
            return None
        self.found.add(index)
        return ()


def destinations(op: Operation) -> Iterator[SSAValue]:
    """The pointers through which an op writes memory, or may: of code from outside, every operand with an address."""
    if isinstance(op, TO_FIRST):
        yield op._operands[0]
    elif isinstance(op, ElementwiseInlineAsmOp | ExternElementwiseOp):
        if not op.is_pure:
            yield from filter(_may_be_address, op._operands)
    elif op.has_trait(MemoryWriteEffect):
        yield from (v for v in op._operands if isinstance(element(v.type), PointerType | TensorDescType))


def _may_be_address(value: SSAValue) -> bool:
    kind = element(value.type)
    return isinstance(kind, PointerType) or (isinstance(kind, IntegerType) and kind.width.data == 64)


def _parts(op: Operation) -> Sources:
    """A value is made of the operands, and of what the op's regions give; what is read from memory, of anything."""
    impure = isinstance(op, ElementwiseInlineAsmOp | ExternElementwiseOp) and not op.is_pure
    if impure or op.has_trait(MemoryReadEffect):
        return None
    ends = [block.last_op for region in op.regions for block in region.blocks]
    return [*op._operands, *(value for end in ends if end is not None for value in end._operands)]


def _end(block: Block, index: int) -> SSAValue:
    """What the block gives where it ends."""
    assert block.last_op is not None
    return block.last_op._operands[index]


def _ends(op: Operation, index: int) -> list[SSAValue]:
    return [_end(block, index) for region in op.regions for block in region.blocks]
