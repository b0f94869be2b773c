"""Runs a tt.func on numpy, op by op: what a pass leaves must compute what it was given.

Memory is a `Heap` of bytes; a pointer is an offset into it. An access outside of what was allotted is an error, so a
mask that a pass loses shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from naiad.ir.base import element, shape
from naiad.ir.constants import numpy_type
from naiad.ir.elementwise import Elementwise, compute
from naiad.ir.types import pointee_of

GAP = 256


@dataclass
class Heap:
    """Bytes with unallotted room between arrays; `valid` says which bytes may be touched."""

    data: np.ndarray = field(default_factory=lambda: np.zeros(1 << 18, np.uint8))
    valid: np.ndarray = field(default_factory=lambda: np.zeros(1 << 18, bool))
    top: int = GAP

    def put(self, array: np.ndarray) -> int:
        """Copies an array in; gives its address."""
        at, size = self.top, array.nbytes
        self.data[at : at + size] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.valid[at : at + size] = True
        self.top = (at + size + GAP) // 16 * 16
        return at

    def get(self, at: int, like: np.ndarray) -> np.ndarray:
        return self.data[at : at + like.nbytes].view(like.dtype).reshape(like.shape).copy()

    def read(self, at: np.ndarray, dtype: np.dtype) -> np.ndarray:
        places = self._places(at, dtype)
        return self.data[places].view(dtype).reshape(at.shape)

    def write(self, at: np.ndarray, values: np.ndarray) -> None:
        self.data[self._places(at, values.dtype)] = np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(
            at.size, -1)  # fmt: skip

    def _places(self, at: np.ndarray, dtype: np.dtype) -> np.ndarray:
        places = at.reshape(-1, 1) + np.arange(dtype.itemsize)
        assert (places >= 0).all() and self.valid[places].all(), "access outside of memory"
        return places


class Machine:
    def __init__(
        self, module: ModuleOp, heap: Heap, program: Sequence[int] = (0, 0, 0), grid: Sequence[int] = (1, 1, 1)
    ):
        self.funcs = {f.sym_name.data: f for f in module.body.block.ops if f.name == "tt.func"}
        self.heap, self.program, self.grid = heap, program, grid
        self.steps = 0

    def call(self, name: str, *arguments: Any) -> list[np.ndarray]:
        """Runs a function on numbers and addresses."""
        func = self.funcs[name]
        args = func.body.block.args
        given = [np.array(v).astype(numpy_type(a.type)) for v, a in zip(arguments, args, strict=True)]
        return self.block(func.body.block, given, {})

    def block(
        self, block: Block, arguments: Sequence[np.ndarray], values: dict[SSAValue, np.ndarray]
    ) -> list[np.ndarray]:
        """Runs a block; gives what its terminator passes on."""
        values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            self.steps += 1
            assert self.steps < 200_000, "does not end"
            operands = [values[v] for v in op.operands]
            if op is block.last_op:
                return operands
            results = self.op(op, operands, values)
            for r, v in zip(op.results, results, strict=True):
                v = np.asarray(v)
                assert v.shape == shape(r.type), f"{op.name}: {v.shape} for {r.type}"
                values[r] = v
        raise AssertionError("no terminator")

    def op(self, op: Operation, operands: list[np.ndarray], values: dict[SSAValue, np.ndarray]) -> Sequence[np.ndarray]:
        if isinstance(op, Elementwise) and "ptr" not in op.name:
            return [compute(op, operands)]
        return getattr(self, op.name.replace(".", "_"))(op, operands, values)

    # ---- tt, one method an op --------------------------------------------------------------------------------------

    def arith_constant(self, op, _, values):
        return [np.full(shape(op.result.type), op.value.value.data, dtype=object).astype(numpy_type(op.result.type))]

    def ub_poison(self, op, _, values):
        return [np.zeros(shape(op.result.type), numpy_type(op.result.type))]

    def tt_get_program_id(self, op, _, values):
        return [np.int32(self.program[op.axis.value.data])]

    def tt_make_range(self, op, _, values):
        return [np.arange(op.start.value.data, op.end.value.data, dtype=np.int32)]

    def tt_splat(self, op, operands, values):
        return [np.broadcast_to(operands[0], shape(op.result.type))]

    tt_broadcast = tt_splat

    def tt_expand_dims(self, op, operands, values):
        return [np.expand_dims(operands[0], op.axis.value.data)]

    def tt_reshape(self, op, operands, values):
        return [operands[0].reshape(shape(op.result.type))]

    def tt_trans(self, op, operands, values):
        return [operands[0].transpose(op.order.get_values())]

    def tt_addptr(self, op, operands, values):
        size = numpy_type(element(pointee_of(op.ptr.type))).itemsize
        return [operands[0] + operands[1].astype(np.int64) * size]

    def tt_load(self, op, operands, values):
        dtype = numpy_type(op.result.type)
        mask = operands[1] if len(operands) > 1 else np.ones(operands[0].shape, bool)
        out = np.array(operands[2] if len(operands) > 2 else np.zeros(mask.shape), dtype)
        out = np.broadcast_to(out, mask.shape).copy()
        out[mask] = self.heap.read(operands[0][mask], dtype)
        return [out]

    def tt_store(self, op, operands, values):
        mask = operands[2] if len(operands) > 2 else np.ones(operands[0].shape, bool)
        self.heap.write(operands[0][mask], operands[1][mask])
        return []

    def tt_atomic_rmw(self, op, operands, values):
        ptr, value = operands[:2]
        mask = operands[2] if len(operands) > 2 else np.ones(ptr.shape, bool)
        old = np.zeros(ptr.shape, value.dtype)
        combine = {"add": np.add, "fadd": np.add, "fmax": np.fmax, "fmin": np.fmin, "max": np.maximum}
        for at in np.ndindex(ptr.shape):
            if mask[at]:
                old[at] = self.heap.read(ptr[at].reshape(1), value.dtype)[0]
                self.heap.write(ptr[at].reshape(1), combine[op.atomic_rmw_op.data](old[at], value[at]).reshape(1))
        return [old]

    def tt_assert(self, op, operands, values):
        assert operands[0].all(), op.message.data
        return []

    def tt_dot(self, op, operands, values):
        a, b, c = (v.astype(np.float64) for v in operands)
        return [(a @ b + c).astype(numpy_type(op.result.type))]

    def tt_reduce(self, op, operands, values):
        axis = op.axis.value.data
        rows = [np.moveaxis(v, axis, 0) for v in operands]
        out = [np.empty(r.shape[1:], r.dtype) for r in rows]
        for at in np.ndindex(rows[0].shape[1:]):
            total = [r[0][at] for r in rows]
            for n in range(1, rows[0].shape[0]):
                total = self.block(op.combine.block, [*total, *(np.asarray(r[n][at]) for r in rows)], dict(values))
            for o, t in zip(out, total, strict=True):
                o[at] = t
        return out

    def tt_call(self, op, operands, values):
        return self.block(self.funcs[op.symbol].body.block, operands, {})

    # ---- scf -------------------------------------------------------------------------------------------------------

    def scf_for(self, op, operands, values):
        start, end, step, *carried = operands
        for i in range(int(start), int(end), int(step)):
            carried = self.block(op.body.block, [np.array(i).astype(start.dtype), *carried], values)
        return carried

    def scf_if(self, op, operands, values):
        region = op.true_region if operands[0] else op.false_region
        return self.block(region.block, [], values) if region.blocks else []

    def scf_while(self, op, operands, values):
        while True:
            condition, *passed = self.block(op.before_region.block, operands, values)
            if not condition:
                return passed
            operands = self.block(op.after_region.block, passed, values)
