"""Expressions: names, constants, operators, comparisons, subscripts, attributes, tuples, comprehensions, f-strings."""

import ast
import operator
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from naiad.compiler import branches, names
from naiad.compiler.known import as_known, keep
from naiad.compiler.mistakes import unsupported
from naiad.compiler.values import describe, is_constant
from naiad.errors import explain
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.function import BoundFunction, Function
from naiad.language.promotion import is_number, to_tensor
from naiad.language.tensor import tensor
from naiad.language.tuples import as_value
from naiad.language.tuples import tuple as language_tuple
from naiad.language.types import dtype
from naiad.language.values import base_value

if TYPE_CHECKING:
    from naiad.compiler.generator import Generator, Visitor

__all__ = ["EXPRESSIONS", "attribute_of", "binary"]

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def constant(g: "Generator", node: ast.Constant) -> Any:
    return constexpr(node.value)


def name(g: "Generator", node: ast.Name) -> Any:
    return names.lookup(g, node.id)


def sequence(g: "Generator", node: ast.Tuple | ast.List) -> language_tuple:
    items: list[Any] = []
    for each in node.elts:
        if isinstance(each, ast.Starred):
            items += as_value(g.visit(each.value)).values
        else:
            items.append(g.visit(each))
    return language_tuple(items)


# ---- operators -----------------------------------------------------------------------------------------------------


def binary_operation(g: "Generator", node: ast.BinOp) -> Any:
    return binary(g, node.op, g.visit(node.left), g.visit(node.right))


def binary(g: "Generator", op: ast.operator, left: Any, right: Any) -> Any:
    """`left op right`: Python's arithmetic on constexpr, the language's where one is a tensor."""
    function = BINARY.get(type(op))
    if function is None:
        assert g.builder.node is not None
        raise unsupported(
            g, g.builder.node, f"AST binary operator '{type(op).__name__}' is not (currently) implemented."
        )
    return _apply(function, left, right)


def _apply(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """A tensor's operator takes Python numbers; those of constexpr would not know what to do with a tensor."""
    if function is operator.pow:
        left, right = as_known(left), as_known(right)
    if isinstance(left, tensor):
        return keep(function, function(left, unwrap(right) if isinstance(right, constexpr) else right), left, right)
    if isinstance(right, tensor) and isinstance(left, constexpr):
        return keep(function, function(left.value, right), left, right)
    if isinstance(left, base_value) or isinstance(right, base_value):
        return _kept(function(left, right))
    return constexpr(function(left, right))


def _kept(value: Any) -> Any:
    return value if isinstance(value, base_value) else as_value(value)


def unary_operation(g: "Generator", node: ast.UnaryOp) -> Any:
    value = g.visit(node.operand)
    if isinstance(node.op, ast.Not):
        if isinstance(value, tensor):
            return keep(operator.not_, value.__not__(), value)  # type: ignore[attr-defined]
        if isinstance(value, base_value) and not isinstance(value, constexpr):
            raise unsupported(
                g,
                node,
                f"AST unary operator '__not__' is not (currently) implemented on type {type(value).__name__}",
                "compare what you mean: `len(x) == 0`",
            )
        return constexpr(not unwrap(value))
    function = UNARY[type(node.op)]
    return function(value) if isinstance(value, base_value) else constexpr(function(value))


def comparison(g: "Generator", node: ast.Compare) -> Any:
    """`a < b < c` is `a < b and b < c`, each operand evaluated once."""
    left, result = g.visit(node.left), None
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = g.visit(right_node)
        one = _compare(op, left, right)
        result = one if result is None else _logical("logical_and", result, one)
        left = right
        if isinstance(result, constexpr) and not result.value:
            break
    return result


def _compare(op: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(op, ast.Is | ast.IsNot):
        return constexpr(_is(unwrap(left), unwrap(right)) is isinstance(op, ast.Is))
    if isinstance(op, ast.In | ast.NotIn):
        return _contains(left, right, isinstance(op, ast.NotIn))
    return _apply(COMPARISONS[type(op)], left, right)


def _is(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, dtype) and isinstance(b, dtype) and a == b)  # dtypes are values, not objects


def _contains(item: Any, container: Any, negated: bool) -> Any:
    if isinstance(item, tensor):
        found: Any = constexpr(False)
        for each in container:
            found = _logical("logical_or", found, _apply(operator.eq, item, each))
        if not isinstance(found, tensor):
            return constexpr(found.value is not negated)
        return found.__not__() if negated else found  # type: ignore[attr-defined]
    if not is_constant(container):
        raise explain(
            TypeError("`in` needs values that are known when the kernel is compiled"), found=describe(container)
        )
    return constexpr((unwrap(item) in unwrap(container)) is not negated)


def boolean_operation(g: "Generator", node: ast.BoolOp) -> Any:
    """Constants decide at once, as in Python; what is known only at run time is combined elementwise."""
    is_and = isinstance(node.op, ast.And)
    pending: list[Any] = []
    value = None
    for each in node.values:
        value = as_known(g.visit(each))
        if isinstance(value, tensor):
            if value.type.is_block():
                _warn_of_tiles(g, node)
            pending.append(value)
        elif _truth(value) is not is_and:
            return value
    if not pending:
        return value
    result = pending[0]
    for each_value in pending[1:]:
        result = _logical("logical_and" if is_and else "logical_or", result, each_value)
    return result


def _truth(value: Any) -> bool:
    return len(value) > 0 if isinstance(value, language_tuple) else bool(unwrap(value))


def _logical(method: str, left: Any, right: Any) -> Any:
    if not isinstance(left, tensor) and not isinstance(right, tensor):
        a, b = unwrap(left), unwrap(right)
        return constexpr((a and b) if method == "logical_and" else (a or b))
    left = left if isinstance(left, tensor) else to_tensor(left)
    return getattr(left, method)(right)


def _warn_of_tiles(g: "Generator", node: ast.BoolOp) -> None:
    warnings.warn_explicit(
        "Logical operators 'and' and 'or' are deprecated for non-scalar tensors; please use '&' or '|' instead",
        category=UserWarning,
        filename=g.frame.file,
        lineno=g.frame.first_line + node.lineno - 1,
        source=ast.unparse(node),
    )


# ---- parts ---------------------------------------------------------------------------------------------------------


def subscript(g: "Generator", node: ast.Subscript) -> Any:
    value = g.visit(node.value)
    index = g.visit(node.slice)
    if not isinstance(value, tensor):
        index = as_known(index)
    if isinstance(value, tensor):
        return value[_plain_index(index)]  # type: ignore[index]
    if isinstance(value, base_value) and not isinstance(value, constexpr | language_tuple):
        method = attribute_of(g, value, "__getitem__")
        return g.unit.builder.call(method, [index], {})
    if isinstance(index, constexpr) or not isinstance(index, base_value):
        index = unwrap(index)
    elif not is_constant(index):
        error = TypeError("the index of a tuple must be known when the kernel is compiled")
        raise explain(error, found=describe(index), advice="loop with tl.static_range, or use a constexpr index")
    return as_value(value[index]) if not _is_python(value[index]) else value[index]


def _is_python(value: Any) -> bool:
    """Functions, modules, classes: they stay what they are."""
    return callable(value) and not isinstance(value, base_value)


def _plain_index(index: Any) -> Any:
    if isinstance(index, language_tuple):
        return tuple(_plain_index(item) for item in index.values)
    return unwrap(index) if isinstance(index, constexpr) else index


def slice_(g: "Generator", node: ast.Slice) -> constexpr:
    parts = [unwrap(g.visit(each)) if each is not None else None for each in (node.lower, node.upper, node.step)]
    return constexpr(slice(*parts))


def attribute(g: "Generator", node: ast.Attribute) -> Any:
    return attribute_of(g, g.visit(node.value), node.attr)


def attribute_of(g: "Generator", value: Any, attr: str) -> Any:
    """`value.attr`. A number known at compile time has the methods of a tensor too; @jit methods come bound."""
    if isinstance(value, constexpr) and attr not in ("value", "type"):
        plain = value.value
        if is_number(plain) and not hasattr(plain, attr) and hasattr(tensor, attr):
            value = to_tensor(plain)
        else:
            value = plain
    found = getattr(value, attr)
    if isinstance(found, Function) and isinstance(value, base_value):
        static = isinstance(_static(type(value), attr), staticmethod)
        return found if static else BoundFunction(found, value)
    return found


def _static(owner: type, attr: str) -> Any:
    return next((vars(c)[attr] for c in owner.__mro__ if attr in vars(c)), None)


# ---- comprehensions and text ---------------------------------------------------------------------------------------


def list_comprehension(g: "Generator", node: ast.ListComp) -> language_tuple:
    """Over tuples and what else is known at compile time; its names are its own."""
    outer = g.scope
    g.scope = dict(outer)
    results: list[Any] = []
    _comprehend(g, node, 0, results)
    g.scope = outer
    return language_tuple(results)


def _comprehend(g: "Generator", node: ast.ListComp, depth: int, results: list[Any]) -> None:
    from naiad.compiler.statements import assign  # statements build on expressions

    if depth == len(node.generators):
        results.append(g.visit(node.elt))
        return
    generator = node.generators[depth]
    items = g.visit(generator.iter)
    plain = unwrap(items) if isinstance(items, constexpr) else items
    if not isinstance(plain, language_tuple | tuple | list | range):
        raise explain(NotImplementedError("only tuple comprehensions are supported"), found=describe(items))
    for item in plain:
        assign(g, generator.target, as_value(item))
        if all(_holds(g, test) for test in generator.ifs):
            _comprehend(g, node, depth + 1, results)


def _holds(g: "Generator", test: ast.expr) -> bool:
    condition = branches.condition_of(g, test)
    if not isinstance(condition, bool):
        raise unsupported(g, test, "the `if` of a comprehension must be known when the kernel is compiled")
    return condition


def formatted_text(g: "Generator", node: ast.JoinedStr) -> constexpr:
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = g.visit(part.value)
        if not is_constant(value):
            raise unsupported(
                g,
                node,
                "Cannot evaluate f-string containing non-constexpr conversion values, found conversion of type "
                f"{type(value)}",
                "print run-time values with tl.device_print",
            )
        spec = unwrap(g.visit(part.format_spec)) if part.format_spec is not None else ""
        conversion = "" if part.conversion < 0 else "!" + chr(part.conversion)
        parts.append(("{0" + conversion + ":" + spec + "}").format(unwrap(value)))
    return constexpr("".join(parts))


EXPRESSIONS: "dict[type[ast.AST], Visitor]" = {
    ast.Constant: constant,
    ast.Name: name,
    ast.Tuple: sequence,
    ast.List: sequence,
    ast.BinOp: binary_operation,
    ast.UnaryOp: unary_operation,
    ast.Compare: comparison,
    ast.BoolOp: boolean_operation,
    ast.IfExp: branches.if_expression,
    ast.Subscript: subscript,
    ast.Slice: slice_,
    ast.Attribute: attribute,
    ast.ListComp: list_comprehension,
    ast.JoinedStr: formatted_text,
}
