"""ttg-pipeline-loops: loads that feed dots are issued iterations ahead, as asynchronous copies to shared memory.

The loads of a loop, and what computes their addresses, run `buffers - 1` turns ahead of the rest: that many turns of
them
stand before the loop, and in it they see the loop's variables as they will be. Each turn waits for its own copies,
which
lie in one of `buffers` buffers, then issues those of a later turn into the buffer that the turn before has read.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i1, i32
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.analysis.axis import AxisInfo
from naiad.analysis.scratch import bytes_beside
from naiad.analysis.writes import arguments_behind, destinations
from naiad.ir.attributes import keyword
from naiad.ir.base import bits, element, like, shape
from naiad.ir.constants import constant, number
from naiad.ir.elementwise import ELEMENTWISE
from naiad.ir.encodings import AsyncTokenType, MemDescType, layout_of, linear_of, memdesc
from naiad.ir.tt.make import SplatOp
from naiad.ir.ttg import (
    AsyncCommitGroupOp,
    AsyncWaitOp,
    LocalAllocOp,
    LocalDeallocOp,
    LocalLoadOp,
    MemDescIndexOp,
    async_copy,
)
from naiad.layouts.axes import register_run
from naiad.passes.common.dce import eliminate_dead_code
from naiad.passes.effects import is_speculatable
from naiad.passes.ttgir.coalesce import feeds_dot
from naiad.passes.ttgir.dot_operands import is_local, swizzled_for
from naiad.passes.ttgir.overlap import Deferred, wait_after
from naiad.passes.ttgir.transfer import is_tile

__all__ = ["PipelineLoops"]

STAGES = "tt.num_stages"
FRESH = "ttg.other_buffer"
TOKEN_TYPE = AsyncTokenType()
Insert = Callable[[Operation], SSAValue]


@dataclass(frozen=True)
class PipelineLoops(ModulePass):
    """shared_limit: bytes of shared memory that buffers may take in all."""

    name = "ttg-pipeline-loops"
    num_stages: int = 3
    shared_limit: int = 166912

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if function.name == "tt.func":
                axis = AxisInfo.of(function)
                for loop in [o for o in function.walk() if isinstance(o, ForOp)]:
                    stages = self.stages_of(loop)
                    if stages > 1 and not any(isinstance(o, ForOp) for o in loop.body.walk()):
                        Pipeliner(loop, stages, axis, self.shared_limit - bytes_beside(function, loop)).run()
                eliminate_dead_code(op)

    def stages_of(self, loop: ForOp) -> int:
        given = loop.attributes.pop(STAGES, None)
        return given.value.data if isinstance(given, IntegerAttr) else self.num_stages


@dataclass
class Ahead:
    """What runs ahead: ops of the loop's body in order, and the loop's variables that they need."""

    ops: set[Operation]
    variables: set[SSAValue]


@dataclass(frozen=True)
class Buffered:
    """A load, the layout of its buffers, and their memory."""

    load: Operation
    memory: SSAValue
    view: MemDescType
    vector: int


class Pipeliner:
    """One loop."""

    def __init__(self, loop: ForOp, stages: int, axis: AxisInfo, limit: int):
        self.loop, self.axis, self.block = loop, axis, loop.body.block
        self.variable, self.low, self.high, self.step = self.block.args[0], loop.lb, loop.ub, loop.step
        self.ahead = Ahead(set(), set())
        self.written = list(dict.fromkeys(v for op in loop.walk() for v in destinations(op)))
        self.loads = [op for op in self.block.ops if op.name == "tt.load" and self.is_wanted(op)]
        each = sum(view_bytes(self.view_of(load)) for load in self.loads)
        self.overlapped = self.overlapping()
        self.deferred = Deferred.of(self.block, self.is_buffered)
        overlaps = self.overlapped is not None or self.deferred is not None
        self.buffers = min(stages + overlaps, limit // each) if each else 0
        if self.buffers < 3:
            self.overlapped = self.deferred = None
            overlaps = False
        self.distance = self.buffers - (2 if overlaps else 1)

    def overlapping(self) -> Operation | None:
        """The wait for a wgmma that may go on into the next turn: its result is only carried to itself.

        Then a buffer is free one turn later, as it may still be read while the next one is waited for.
        """
        waits = [op for op in self.block.ops if op.name == "ttng.warp_group_dot_wait"]
        if len(waits) != 1 or len(waits[0].operands) != 1:
            return None
        dot, [use, *more] = waits[0].operands[0].owner, list(waits[0].results[0].uses)
        if more or use.operation is not self.block.last_op or dot.name != "ttng.warp_group_dot":
            return None
        carried = self.block.args[use.index + 1]
        reads_memory = all(self.is_buffered(o) for o in dot.operands[:2])
        is_alone = dot.operands[2] is carried and len(list(carried.uses)) == 1
        return waits[0] if is_alone and reads_memory and dot.parent_block() is self.block else None

    def is_buffered(self, operand: SSAValue) -> bool:
        """Whether an operand lies in memory that stays as it is for a turn: a buffer, or made before the loop."""
        while isinstance(operand.owner, Operation) and operand.owner.name == "ttg.memdesc_trans":
            operand = operand.owner.operands[0]
        maker = operand.owner
        if not isinstance(operand.type, MemDescType) or not isinstance(maker, Operation):
            return False
        if not is_inside(maker, self.loop):
            return True
        return maker.name == "ttg.local_alloc" and bool(maker.operands) and maker.operands[0].owner in self.loads

    def is_wanted(self, load: Operation) -> bool:
        """Whether a load can be copied asynchronously, and feeds a dot. Notes what it needs ahead of time."""
        if not is_tile(load.operands[0]) or not feeds_dot(load) or copy_bytes(self.axis, load) < 4:
            return False
        if load.other is not None and number(load.other) != 0:
            return False
        if not is_local(load.results[0].type) or self.may_be_written(load):
            return False
        needs = Ahead(set(self.ahead.ops), set(self.ahead.variables))
        if not all(self.collect(operand, needs) for operand in load.operands):
            return False
        self.ahead = needs
        return True

    def may_be_written(self, load: Operation) -> bool:
        """Whether the loop may write what a load reads, so that it must stay behind the stores of earlier turns.

        Different arguments of the kernel are taken for different memory.
        """
        if not self.written:
            return False
        module = self.loop.get_toplevel_object()
        assert isinstance(module, ModuleOp)
        read, written = (arguments_behind(module, values) for values in (load.operands[:1], self.written))
        return read is None or written is None or bool({*read} & {*written})

    def collect(self, value: SSAValue, needs: Ahead) -> bool:
        """Adds what `value` is made of in the loop; False if that cannot run ahead."""
        owner = value.owner
        if owner is self.block:
            if value is self.variable or value in needs.variables:
                return True
            needs.variables.add(value)
            return self.collect(self.yielded(value), needs)
        if not isinstance(owner, Operation) or owner.parent_block() is not self.block or owner in needs.ops:
            return not is_inside(owner, self.loop) or (isinstance(owner, Operation) and owner in needs.ops)
        if owner.regions or not is_speculatable(owner):
            return False
        needs.ops.add(owner)
        return all(self.collect(operand, needs) for operand in owner.operands)

    def yielded(self, argument: SSAValue) -> SSAValue:
        return self.block.last_op.operands[argument.index - 1]

    def view_of(self, load: Operation) -> MemDescType:
        """The memory of one buffer: as the allocation that the load feeds wants it, else as its own layout suggests."""
        allocs = [u.operation for u in load.results[0].uses if u.operation.name == "ttg.local_alloc"]
        layout = layout_of(allocs[0].results[0].type) if allocs else swizzled_for(load.results[0].type)
        return memdesc(load.results[0].type.element_type, shape(load.results[0].type), layout, True)

    # -- writing

    def run(self) -> None:
        if self.buffers < 2:
            return
        if self.deferred is not None:
            self.deferred.apply(self.block)
        buffered = [self.allocate(load) for load in self.loads]
        variables = sorted(self.ahead.variables, key=lambda v: v.index)
        now = self.prologue(buffered, variables)
        self.rebuild(buffered, variables, now)

    def before(self, op: Operation) -> SSAValue:
        self.loop.parent_block().insert_op_before(op, self.loop)
        op.location = self.loop.location
        return op.results[0]

    def allocate(self, load: Operation) -> Buffered:
        view = self.view_of(load)
        whole = memdesc(view.element_type, (self.buffers, *view.shape), layout_of(view), True)
        memory = self.before(LocalAllocOp(results=[whole], location=load.location))
        run = register_run(linear_of(load.operands[0].type))[1]
        return Buffered(load, memory, view, min(run, copy_bytes(self.axis, load) * 8 // element_bits(load)))

    def prologue(self, buffered: list[Buffered], variables: list[SSAValue]) -> dict[SSAValue, SSAValue]:
        """The first turns of what runs ahead; the loop's variables as they are after them."""
        now = {v: self.loop.iter_args[v.index - 1] for v in variables}
        index = self.low
        for turn in range(self.distance):
            here = Turn(self, self.before, {self.variable: index, **now})
            slot = self.before(constant(turn, i32))
            here.copies(buffered, slot, turn > 0)
            now = {v: here.value(self.yielded(v)) for v in variables}
            index = self.before(ELEMENTWISE["arith.addi"](index, self.step, results=[index.type]))
        return now

    def rebuild(self, buffered: list[Buffered], variables: list[SSAValue], now: dict[SSAValue, SSAValue]) -> None:
        """The loop with more variables: those that run ahead, and which buffers are read and filled."""
        block = self.block
        first = block.first_op
        zero, last = self.before(constant(0, i32)), self.before(constant(self.distance, i32))
        carried = [*(now[v] for v in variables), zero, last]
        added = [block.insert_arg(v.type, len(block.args)) for v in carried]
        ahead, (reading, filling) = dict(zip(variables, added, strict=False)), added[-2:]

        def insert(op: Operation) -> SSAValue:
            op.location = self.loop.location
            block.insert_op_before(op, first)
            return op.results[0]

        later = len(buffered) * (self.distance - 1)  # groups that may still be under way
        insert(AsyncWaitOp(num=IntegerAttr(later, i32), results=[TOKEN_TYPE]))
        views = [insert(MemDescIndexOp(b.memory, reading, results=[b.view])) for b in buffered]
        first = next((op.next_op for op in block.ops if op.name == "ttng.warp_group_dot"), first)
        index: SSAValue = self.variable
        for _ in range(self.distance):
            index = insert(ELEMENTWISE["arith.addi"](index, self.step, results=[index.type]))
        turn = Turn(self, insert, {self.variable: index, **ahead})
        turn.copies(buffered, filling, True)
        following = [turn.value(self.yielded(v)) for v in variables]
        for b, view in zip(buffered, views, strict=True):
            read_from(b.load, view)
        slots = [self.next_slot(insert, s) for s in (reading, filling)]
        self.replace_loop(carried, [*following, *slots])
        for b in buffered:
            self.after(b)

    def next_slot(self, insert: Insert, slot: SSAValue) -> SSAValue:
        """slot + 1, or 0 after the last."""
        one, end, zero = (insert(constant(n, i32)) for n in (1, self.buffers, 0))
        more = insert(ELEMENTWISE["arith.addi"](slot, one, results=[i32]))
        past = insert(ELEMENTWISE["arith.cmpi"](more, end, results=[i1], predicate=keyword("sge")))
        return insert(ELEMENTWISE["arith.select"](past, zero, more, results=[i32]))

    def replace_loop(self, carried: list[SSAValue], following: list[SSAValue]) -> None:
        old, block = self.loop, self.block
        last = block.last_op
        Rewriter.replace_op(last, YieldOp.create(operands=[*last.operands, *following], location=last.location))
        operands = [*old.operands, *carried]
        region = old.detach_region(old.body)
        new = ForOp.create(
            operands=operands,
            result_types=[v.type for v in operands[3:]],
            regions=[region],
            attributes=dict(old.attributes),
            properties=dict(old.properties),
            location=old.location,
        )
        old.parent_block().insert_op_before(new, old)
        for before, after in zip(old.results, new.results, strict=False):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
        Rewriter.erase_op(old)
        self.loop = new
        wait = AsyncWaitOp(num=IntegerAttr(0, i32), results=[TOKEN_TYPE], location=new.location)
        new.parent_block().insert_op_after(wait, new)
        self.end = wait
        if self.deferred is not None:
            wait_after(new, self.deferred.index)
        if self.overlapped is not None:
            self.let_overlap(self.overlapped)

    def let_overlap(self, wait: Operation) -> None:
        """In the loop, waits for the wgmma of the turn before only; after it, for the last one."""
        [use] = list(wait.results[0].uses)
        wait.properties["pendings"] = IntegerAttr(1, i32)
        wait_after(self.loop, use.index)

    def after(self, b: Buffered) -> None:
        self.end.parent_block().insert_op_after(LocalDeallocOp(b.memory, location=self.loop.location), self.end)


class Turn:
    """One turn of what runs ahead, written by `insert` with the loop's variables as `values` says."""

    def __init__(self, pipeliner: Pipeliner, insert: Insert, values: dict[SSAValue, SSAValue]):
        self.pipeliner, self.insert, self.values = pipeliner, insert, dict(values)
        for op in [o for o in pipeliner.block.ops if o in pipeliner.ahead.ops]:
            copy = op.clone({o: self.value(o) for o in op.operands})
            insert(copy)
            copy.location = op.location
            self.values |= dict(zip(op.results, copy.results, strict=True))
        self.runs: SSAValue | None = None

    def value(self, value: SSAValue) -> SSAValue:
        """What a value of the loop's body is in this turn; values from outside are themselves."""
        return self.values.get(value, value)

    def guard(self) -> SSAValue:
        """Whether the loop has this turn."""
        p = self.pipeliner
        index = self.values[p.variable]
        unsigned = "unsignedCmp" in p.loop.properties or "unsignedCmp" in p.loop.attributes
        predicate = keyword("ult" if unsigned else "slt")
        return self.insert(ELEMENTWISE["arith.cmpi"](index, p.high, results=[i1], predicate=predicate))

    def copies(self, buffered: list[Buffered], slot: SSAValue, fresh: bool) -> None:
        """The copies of this turn into buffer `slot`, each a group."""
        guard = self.guard()
        for b in buffered:
            load = b.load
            ptr = self.value(load.ptr)
            mask = self.insert(SplatOp(guard, results=[like(ptr.type, i1)]))
            if load.mask is not None:
                mask = self.insert(ELEMENTWISE["arith.andi"](mask, self.value(load.mask), results=[mask.type]))
            other = self.value(load.other) if load.other is not None else None
            view = self.insert(MemDescIndexOp(b.memory, slot, results=[b.view]))
            words = {n: load.properties[n] for n in ("cache", "evict") if n in load.properties}
            copy = async_copy(ptr, view, mask, other, b.vector, **words)
            if fresh:
                copy.attributes[FRESH] = UnitAttr()
            self.insert(AsyncCommitGroupOp(self.insert(copy), results=[TOKEN_TYPE]))


def read_from(load: Operation, view: SSAValue) -> None:
    """Replaces a load by its buffer: allocations of it are the buffer itself, other uses read it."""
    for use in list(load.results[0].uses):
        if use.operation.name == "ttg.local_alloc":
            use.operation.results[0].replace_all_uses_with(view)
            Rewriter.erase_op(use.operation)
    if list(load.results[0].uses):
        read = LocalLoadOp(view, results=[load.results[0].type], location=load.location)
        Rewriter.replace_op(load, read)
    else:
        Rewriter.erase_op(load)


def is_inside(owner: Operation | Block, loop: Operation) -> bool:
    """Whether a value's owner lies within a loop."""
    here: Operation | None = owner if isinstance(owner, Operation) else owner.parent_op()
    while here is not None:
        if here is loop:
            return True
        here = here.parent_op()
    return False


def element_bits(load: Operation) -> int:
    return max(8, bits(element(load.operands[0].type).pointee))


def copy_bytes(axis: AxisInfo, load: Operation) -> int:
    """How many bytes one copy of a load would take."""
    dim, run = register_run(linear_of(load.operands[0].type))
    vector = min(run, axis.vector(load.operands[0], dim))
    if load.mask is not None:
        vector = min(vector, axis[load.mask].axes[dim].constancy)
    return vector * element_bits(load) // 8


def view_bytes(view: MemDescType) -> int:
    count = 1
    for size in view.shape:
        count *= size
    return count * max(8, bits(view.element_type)) // 8
