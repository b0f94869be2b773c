"""Loops: `for` over ranges and `while` become scf.for and scf.while; over what is known now they are unrolled.

A name that has a value before the loop and is assigned in it travels: it is an argument of the body and a result of the
loop. The body is read once, with every such name as an argument; what turns out unchanged is taken back.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, Region

import naiad.language as tl
from naiad.compiler import blocks, branches
from naiad.compiler.carried import Carried, carried_names, leave_scope
from naiad.compiler.ir_types import ir_type
from naiad.compiler.known import as_known
from naiad.compiler.scope import Scope
from naiad.compiler.values import describe, handles_of, name_handles, rebuild
from naiad.errors import explain
from naiad.ir.base import int_attr
from naiad.ir.loops import no_licm
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.promotion import integer_promotion, to_tensor
from naiad.language.tensor import tensor
from naiad.language.tuples import as_value
from naiad.language.tuples import tuple as language_tuple
from naiad.language.types import dtype, int1, int32

if TYPE_CHECKING:
    from naiad.compiler.generator import Generator

__all__ = ["for_loop", "while_loop"]

FLAGS = ("disallow_acc_multi_buffer", "flatten", "warp_specialize")
NUMBERS = ("num_stages", "loop_unroll_factor")


@dataclass(frozen=True)
class Bounds:
    """What a runtime loop runs over: scalars of one integer type, the step positive; `attributes` for the scf.for."""

    lower: tensor
    upper: tensor
    step: tensor
    backwards: bool
    attributes: dict[str, Attribute] = field(default_factory=dict)


# ---- for -----------------------------------------------------------------------------------------------------------


def for_loop(g: "Generator", node: ast.For) -> Iterable[Any] | None:
    """Makes an scf.for, or gives the values that the variable takes in a loop that is to be unrolled."""
    over = _iterated(g, node.iter)
    if isinstance(over, Bounds):
        if not isinstance(node.target, ast.Name):
            raise TypeError("the variable of a loop over a range must be a name")
        _runtime_for(g, node, over)
        return None
    return over


def _iterated(g: "Generator", node: ast.expr) -> Bounds | list[Any]:
    """Bounds of a runtime loop, or the values of an unrolled one."""
    if isinstance(node, ast.Call):
        fn = g.visit(node.func)
        fn = fn.value if isinstance(fn, constexpr) else fn
        if fn is range or fn is getattr(tl, "range", range) or fn is getattr(tl, "static_range", None):
            arguments = [item for a in node.args for item in _spread(g, a)]
            keywords = {k.arg: g.visit(k.value) for k in node.keywords if k.arg is not None}
            if fn is getattr(tl, "static_range", None):
                return _static_values(*arguments, **keywords)
            return _bounds(*arguments, **keywords)
    return _known_values(g.visit(node))


def _spread(g: "Generator", node: ast.expr) -> list[Any]:
    return list(as_value(g.visit(node.value)).values) if isinstance(node, ast.Starred) else [g.visit(node)]


def _known_values(value: Any) -> list[Any]:
    if isinstance(value, language_tuple):
        return list(value.values)
    plain = unwrap(value)
    if isinstance(plain, tuple | list | range):
        return [as_value(item) for item in plain]
    error = RuntimeError("Only `range` and `static_range` iterators are currently supported")
    raise explain(
        error,
        expected="range, tl.range, tl.static_range or a tuple",
        found=describe(value),
        advice="loop over tl.range(n)",
    )


def _static_values(arg1: Any, arg2: Any = None, step: Any = None) -> list[Any]:
    """The values of tl.static_range. Raises where a bound is known only at run time."""
    arg1, arg2, step = as_known(arg1), as_known(arg2), as_known(step)
    given = {"arg1": arg1, "arg2": arg2, "step": step}
    for name, value in given.items():
        if not isinstance(value, constexpr | int | None):
            error = TypeError(
                f"{name} required constexpr: the bounds of tl.static_range must be known when the kernel is compiled"
            )
            raise explain(
                error, found=describe(value), advice="use tl.range, or make the bound a tl.constexpr parameter"
            )
    first, second, by = unwrap(arg1), unwrap(arg2), unwrap(step)
    start, end = (0, first) if second is None else (first, second)
    return [constexpr(i) for i in range(start, end, 1 if by is None else by)]


def _bounds(arg1: Any, arg2: Any = None, step: Any = None, **options: Any) -> Bounds:
    """What `range(...)` or `tl.range(...)` says."""
    unknown = set(options) - {*FLAGS, *NUMBERS, "disable_licm"}
    if unknown:
        raise TypeError(f"range() got an unexpected keyword argument '{min(unknown)}'")
    lower, upper = (constexpr(0), arg1) if arg2 is None or unwrap(arg2) is None else (arg1, arg2)
    by = constexpr(1) if step is None or unwrap(step) is None else step
    backwards = not isinstance(by, tensor) and unwrap(by) < 0
    if backwards:
        by, lower, upper = constexpr(-unwrap(by)), upper, lower
    if not isinstance(by, tensor) and unwrap(by) == 0:
        raise ValueError("the step of a range must not be zero")
    scalars = [to_tensor(value) for value in (lower, upper, by)]
    first, end, stride = _in_one_type(scalars)
    return Bounds(first, end, stride, backwards, _attributes(options))


def _in_one_type(scalars: list[tensor]) -> list[tensor]:
    kinds = ", ".join(str(s.type) for s in scalars)
    if not all(s.dtype.is_int() for s in scalars):
        error = TypeError(f"For loop bounds and step must all be ints, are ({kinds})")
        raise explain(error, expected="integers", found=kinds, advice="cast the bound: n.to(tl.int32)")
    for what, value in zip(("lower bound", "upper bound", "step"), scalars, strict=True):
        if value.type.is_block():
            raise TypeError(f"For {what} must be a scalar, got {value.type}")
    common: dtype = integer_promotion(integer_promotion(scalars[0].dtype, scalars[1].dtype), scalars[2].dtype)
    if common == int1:
        common = int32
    return [s if s.dtype == common else s.to(common) for s in scalars]  # type: ignore[attr-defined]


def _attributes(options: dict[str, Any]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {}
    for name in NUMBERS:
        if (value := unwrap(options.get(name))) is not None:
            found[f"tt.{name}"] = int_attr(int(value))
    for name in FLAGS:
        if unwrap(options.get(name)):
            found[f"tt.{name}"] = UnitAttr()
    return found | (no_licm() if unwrap(options.get("disable_licm")) else {})


def _runtime_for(g: "Generator", node: ast.For, bounds: Bounds) -> None:
    assert isinstance(node.target, ast.Name)
    variable, before = node.target.id, g.scope
    promoted: frozenset[str] = frozenset()
    while True:
        names = carried_names(g, node, promoted, without=variable)
        carried = Carried(g, names)
        body = Block(arg_types=[ir_type(bounds.lower.type), *carried.types])
        carried.enter(g, before, body.args[1:])
        _for_body(g, node, bounds, body)
        if not (changed := carried.changed_constants(g, node, before, without=variable)):
            break
        promoted |= changed
        carried.discard(body)
        g.scope = before
    kept = carried.settle(g, node, [body.args[1:]])
    _end(g, body, "scf.yield", kept.yielded)
    operands = (bounds.lower.handle, bounds.upper.handle, bounds.step.handle, *kept.initial)
    types = [handle.type for handle in kept.initial]
    op = g.builder.add("scf.for", operands, types, (Region(body),), attributes=bounds.attributes)
    leave_scope(g, node, before, carried.results(kept, op.results), variable)


def _for_body(g: "Generator", node: ast.For, bounds: Bounds, body: Block) -> None:
    """Reads the body of the loop into the block `body`."""
    assert isinstance(node.target, ast.Name)
    outside, g.builder.block = g.builder.block, body
    index = tensor(body.args[0], bounds.lower.type)
    name_handles(index, node.target.id, again=True)
    if bounds.backwards:
        index = bounds.upper - index + bounds.lower
    g.scope[node.target.id] = index
    _body(g, node)
    g.builder.block = outside


def _body(g: "Generator", node: ast.For | ast.While) -> None:
    g.loops.append(node)
    blocks.run(g, node.body)
    g.loops.pop()


# ---- while ---------------------------------------------------------------------------------------------------------


def while_loop(g: "Generator", node: ast.While) -> None:
    """An scf.while: the condition in its first region, the body in its second, both with the names that travel."""
    before, outside = g.scope, g.builder.block
    promoted: frozenset[str] = frozenset()
    while True:
        carried = Carried(g, carried_names(g, node, promoted))
        first = Block(arg_types=carried.types)
        carried.enter(g, before, first.args)
        condition, attributes = _while_condition(g, node, first)
        tested, found = carried.current(g, node), _new_names(g, before)
        fresh = [handle for value in found.values() for handle in handles_of(value)]
        second = Block(arg_types=[*carried.types, *(handle.type for handle in fresh)])
        count = len(carried.handles)
        carried.enter(g, before, second.args[:count])
        g.scope |= _rebuilt(found, second.args[count:])
        g.builder.block = second
        _body(g, node)
        g.builder.block = outside
        if not (changed := carried.changed_constants(g, node, before)):
            break
        promoted |= changed
        carried.discard(first, second)
        g.scope = before
    kept = carried.settle(g, node, [first.args, second.args[:count]], tested)
    _end(g, first, "scf.condition", (condition, *kept.tested, *fresh))
    _end(g, second, "scf.yield", kept.yielded)
    types = [handle.type for handle in (*kept.initial, *fresh)]
    made = g.builder.add("scf.while", kept.initial, types, (Region(first), Region(second)), attributes=attributes)
    own = len(kept.initial)
    results = carried.results(kept, made.results[:own]) | _rebuilt(found, made.results[own:])
    leave_scope(g, node, before, results)


def _new_names(g: "Generator", before: Scope) -> Scope:
    """What the condition itself names: `while (x := f()) < n`. The body sees it, and what follows the loop."""
    return {name: value for name, value in g.scope.items() if name not in before and handles_of(value)}


def _rebuilt(values: Scope, handles: Sequence[Any]) -> Scope:
    scope: Scope = {}
    cursor = 0
    for name, value in values.items():
        end = cursor + len(handles_of(value))
        scope[name] = rebuild(value, list(handles[cursor:end]))
        cursor = end
    return scope


def _end(g: "Generator", block: Block, op: str, values: Sequence[Any]) -> None:
    outside, g.builder.block = g.builder.block, block
    g.builder.add(op, values)
    g.builder.block = outside


def _while_condition(g: "Generator", node: ast.While, block: Block) -> tuple[Any, dict[str, Attribute]]:
    g.builder.block = block
    value = g.visit(node.test)
    attributes: dict[str, Attribute] = {}
    if hasattr(value, "condition"):  # tl.condition(test, disable_licm=...)
        attributes = no_licm() if unwrap(value.disable_licm) else {}
        value = value.condition
    value = value if isinstance(value, tensor) else to_tensor(bool(unwrap(value)))
    return branches.truth(g, value, node.test).handle, attributes
