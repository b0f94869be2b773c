"""tt-inline: puts the body of each callee in the place of its calls, and drops the functions that no one calls any
more.

Reads and leaves ttir. Callees first, so that each body is final when it is copied; a function with one call is moved.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, LocationAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.ir.constants import number
from naiad.ir.tt.func import CallOp, FuncOp

__all__ = ["Inline"]


@dataclass(frozen=True)
class Inline(ModulePass):
    """`all`: also functions marked noinline, as the CPU wants it."""

    name = "tt-inline"
    all: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        funcs = {f.sym_name.data: f for f in op.body.block.ops if isinstance(f, FuncOp)}
        calls = {name: [c for c in f.walk() if isinstance(c, CallOp)] for name, f in funcs.items()}
        if any(calls.values()):
            _Inliner(funcs, calls, self.all).run()


class _Inliner:
    def __init__(self, funcs: dict[str, FuncOp], calls: dict[str, list[CallOp]], everything: bool) -> None:
        self.funcs, self.calls, self.everything = funcs, calls, everything
        self.left: dict[str, int] = dict.fromkeys(funcs, 0)
        for inner in calls.values():
            for call in inner:
                self.left[call.symbol] += 1
        self.done: set[str] = set()
        self.places: dict[tuple[LocationAttr, LocationAttr], LocationAttr] = {}

    def run(self) -> None:
        for name in list(self.funcs):
            self._flatten(name, ())
        for name, func in self.funcs.items():
            if not self.left[name] and not func.is_public:
                Rewriter.erase_op(func)

    def _flatten(self, name: str, callers: tuple[str, ...]) -> None:
        if name in callers:
            raise RuntimeError(f"@{name} calls itself: {' -> '.join(f'@{n}' for n in (*callers, name))}")
        if name in self.done:
            return
        for call in self.calls[name]:
            self._flatten(call.symbol, (*callers, name))
            callee = self.funcs[call.symbol]
            if self.everything or not _is_noinline(callee):
                self._expand(call, callee)
        self.done.add(name)

    def _expand(self, call: CallOp, callee: FuncOp) -> None:
        name = callee.sym_name.data
        if len(callee.body.blocks) != 1:
            raise RuntimeError(f"cannot inline @{name}: its body has {len(callee.body.blocks)} blocks")
        self.left[name] -= 1
        if self.left[name] or callee.is_public:
            results = self._copy(call, callee)
        else:
            results = self._move(call, callee)
        for old, new in zip(call.results, results, strict=True):
            new.name_hint = new.name_hint or old.name_hint
            old.replace_all_uses_with(new)
        Rewriter.erase_op(call)

    def _copy(self, call: CallOp, callee: FuncOp) -> list[SSAValue]:
        body, block = callee.body.block, call.parent
        values: dict[SSAValue, SSAValue] = dict(zip(body.args, call._operands, strict=True))
        last = body.last_op
        for op in body.ops:
            if op is last:
                break
            clone = op.clone(values)
            self._place(clone, call)
            block.insert_op_before(clone, call)
        return [values.get(v, v) for v in last._operands]

    def _move(self, call: CallOp, callee: FuncOp) -> list[SSAValue]:
        body, block = callee.body.block, call.parent
        for old, new in zip(body.args, call._operands, strict=True):
            old.replace_all_uses_with(new)
        last = body.last_op
        results = list(last._operands)
        Rewriter.erase_op(last)
        for op in list(body.ops):
            op.detach()
            self._place(op, call)
            block.insert_op_before(op, call)
        return results

    def _place(self, op: Operation, call: CallOp) -> None:
        """An inlined op stands where it stood in the callee, called from where the call is."""
        if call.location is UNKNOWN_LOC:
            return
        for inner in op.walk() if op.regions else (op,):
            if inner.location is not UNKNOWN_LOC:
                key = (inner.location, call.location)
                if (place := self.places.get(key)) is None:
                    place = self.places[key] = CallSiteLoc(inner.location, call.location)
                inner.location = place


def _is_noinline(func: FuncOp) -> bool:
    mark = func.attributes.get("noinline")
    return mark is not None and bool(number(mark))
