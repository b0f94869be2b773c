"""Statements but control flow: assignments of every form, assert, expressions for their effect."""

import ast
from typing import TYPE_CHECKING, Any

from naiad.compiler.expressions import binary
from naiad.compiler.known import as_known, items_as_known
from naiad.compiler.mistakes import unsupported
from naiad.compiler.values import as_variable, name_handles
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.tuples import as_value
from naiad.language.tuples import tuple as language_tuple
from naiad.language.values import base_value

if TYPE_CHECKING:
    from naiad.compiler.generator import Generator, Visitor

__all__ = ["STATEMENTS", "assign"]


def assign(g: "Generator", target: ast.expr, value: Any) -> None:
    """Binds `target`, a name or a tuple of targets, to `value` as it is."""
    if isinstance(target, ast.Name):
        g.scope[target.id] = value
        name_handles(value, target.id)
    elif isinstance(target, ast.Tuple | ast.List):
        for each, item in zip(target.elts, _unpacked(g, target, value), strict=True):
            assign(g, each.value if isinstance(each, ast.Starred) else each, item)
    elif isinstance(target, ast.Subscript):
        g.builder.node = target
        raise unsupported(g, target, "__setitem__ is not supported in triton", "make a new value, e.g. with tl.where")
    else:
        g.builder.node = target
        raise unsupported(
            g,
            target,
            "Attribute assignment is not supported in triton",
            "make a new value, e.g. tl.aggregate_replace(x, a=b)",
        )


def _unpacked(g: "Generator", target: ast.Tuple | ast.List, value: Any) -> list[Any]:
    """One item for each element of `target`; a starred one takes what is left, as a tuple."""
    items = list(value.values) if isinstance(value, language_tuple) else _plain_items(value)
    count = len(target.elts)
    stars = [i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
    if not stars:
        if len(items) > count:
            raise ValueError(f"too many values to unpack (expected {count}, got {len(items)})")
        if len(items) < count:
            raise ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
        return items
    if len(items) < count - 1:
        raise ValueError(f"not enough values to unpack (expected at least {count - 1}, got {len(items)})")
    at, behind = stars[0], count - stars[0] - 1
    end = len(items) - behind
    return [*items[:at], language_tuple(items[at:end]), *items[end:]]


def _plain_items(value: Any) -> list[Any]:
    plain = unwrap(value)
    if not isinstance(plain, tuple | list):
        raise TypeError(f"cannot unpack non-iterable value of type {type(plain).__name__}")
    return [as_value(item) for item in plain]


def _store(g: "Generator", target: ast.expr, value: Any) -> None:
    """Assigns; numbers become tensors, but for names that were annotated with tl.constexpr."""
    if isinstance(target, ast.Name):
        value = as_constexpr(value) if target.id in g.constexpr_names else as_variable(value)
        assign(g, target, value)
    elif isinstance(target, ast.Tuple | ast.List):
        for each, item in zip(target.elts, _unpacked(g, target, value), strict=True):
            _store(g, each.value if isinstance(each, ast.Starred) else each, item)
    else:
        assign(g, target, value)


def as_constexpr(value: Any) -> Any:
    """A value for a name annotated with tl.constexpr: a number stays one. What is known only at run time may be named
    so too, as in Triton; it is what it is, and refused where a constexpr is needed."""
    value = items_as_known(as_known(value))
    return value if isinstance(value, base_value) else as_value(value)


def assignment(g: "Generator", node: ast.Assign) -> None:
    value = g.visit(node.value)
    for target in node.targets:
        _store(g, target, value)


def annotated_assignment(g: "Generator", node: ast.AnnAssign) -> None:
    """`x: tl.constexpr = value` keeps the value a constexpr; other annotations say nothing."""
    value = g.visit(node.value) if node.value is not None else None
    if _is_constexpr_annotation(g, node.annotation) and isinstance(node.target, ast.Name):
        name = node.target.id
        # a loop that is unrolled comes back to the same statement, which may define the name again
        if (
            node.value is not None
            and name in g.scope
            and g.constexpr_names.get(name) is not node
            and name not in _declared(g)
        ):
            raise ValueError(f"{name} is already defined. constexpr cannot be reassigned.")
        g.constexpr_names[name] = node
        if node.value is not None:
            g.scope[name] = as_constexpr(value)
    elif node.value is not None:
        _store(g, node.target, value)


def _declared(g: "Generator") -> set[str]:
    """Names whose annotation had no value: `x: tl.constexpr`."""
    return {n for n, at in g.constexpr_names.items() if isinstance(at, ast.AnnAssign) and at.value is None}


def _is_constexpr_annotation(g: "Generator", node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.split(".")[-1].strip() == "constexpr"
    try:
        return g.visit(node) is constexpr
    except NameError:  # an annotation that is there for readers only
        return False


def augmented_assignment(g: "Generator", node: ast.AugAssign) -> None:
    if not isinstance(node.target, ast.Name):
        assign(g, node.target, None)  # says that it cannot be assigned
    target = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)  # type: ignore[union-attr]
    value = binary(g, node.op, g.visit(target), g.visit(node.value))
    _store(g, node.target, value)


def named_expression(g: "Generator", node: ast.NamedExpr) -> Any:
    _store(g, node.target, g.visit(node.value))
    return g.scope[node.target.id]


def expression(g: "Generator", node: ast.Expr) -> None:
    if isinstance(node.value, ast.Call):
        node.value._naiad_unused = True  # type: ignore[attr-defined]  # calls.py checks @must_use_result
    g.visit(node.value)


def assertion(g: "Generator", node: ast.Assert) -> None:
    from naiad.language import device_assert

    test = g.visit(node.test)
    message = unwrap(g.visit(node.msg)) if node.msg is not None else ""
    device_assert(test, message)


def nothing(g: "Generator", node: ast.AST) -> None:
    return


STATEMENTS: "dict[type[ast.AST], Visitor]" = {
    ast.Assign: assignment,
    ast.AnnAssign: annotated_assignment,
    ast.AugAssign: augmented_assignment,
    ast.NamedExpr: named_expression,
    ast.Expr: expression,
    ast.Assert: assertion,
    ast.Pass: nothing,
}
