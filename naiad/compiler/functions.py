"""Functions of the module: the kernel, and a private tt.func for each @jit callee per argument types and constants."""

import ast
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Block, Region

from naiad import knobs
from naiad.compiler import blocks
from naiad.compiler.branches import FELL
from naiad.compiler.builder import Frame
from naiad.compiler.generator import Generator, Specialization
from naiad.compiler.ir_types import ir_type
from naiad.compiler.known import as_known, items_as_known
from naiad.compiler.mistakes import place_of, placed, unsupported
from naiad.compiler.values import describe, handles_of, name_handles, rebuild
from naiad.errors import CompilationError, explain
from naiad.ir.attributes import boolean
from naiad.ir.tt.func import function as function_op
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.function import Function
from naiad.language.promotion import scalar_constant
from naiad.language.tensor import tensor
from naiad.language.tuples import as_value
from naiad.language.tuples import tuple as language_tuple
from naiad.language.values import base_type, base_value, handle_types

if TYPE_CHECKING:
    from naiad.compiler.generator import Unit

__all__ = ["call", "define", "parameter_mistake"]


# ---- calls ---------------------------------------------------------------------------------------------------------


def call(g: Generator, function: Function, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A tt.call of `function`, which is read the first time that it is called with such arguments."""
    bound = _with_known(function, bind(function, arguments, keywords))
    node = g.builder.node
    if function.noinline:
        _check_noinline(g, function, bound)
    key = (function, tuple(_key(value) for value in bound.values()))
    found = g.unit.specializations.get(key)
    if found is None:
        found = g.unit.specializations[key] = Specialization(_symbol(g.unit, function, bound))
        _read(g, node, function, found, bound)
    if not found.done:
        message = f"Recursive call of {function.__name__} with the same argument types and constants"
        raise unsupported(
            g, node or function.parse(), message, "write it as a loop, or let a constexpr argument shrink"
        )
    handles = [handle for value in bound.values() for handle in handles_of(value)]
    types = [handle.type for handle in handles_of(found.result)]
    op = g.builder.add("tt.call", handles, types, properties={"callee": SymbolRefAttr(found.symbol)})
    return rebuild(found.result, list(op.results))


def _with_known(function: Function, bound: dict[str, Any]) -> dict[str, Any]:
    """Known numbers are constexprs for parameters that say so, and in shapes that the language's library is given."""
    is_library = type(function) is Function
    for parameter in function.params:
        value = bound[parameter.name]
        if parameter.is_constexpr:
            bound[parameter.name] = items_as_known(as_known(value))
        elif is_library:
            bound[parameter.name] = items_as_known(value)
    return bound


def _read(
    g: Generator, node: ast.AST | None, function: Function, specialization: Specialization, bound: dict[str, Any]
) -> None:
    """Reads the callee; a mistake in it is told with the place of the call above it."""
    builder = g.builder
    state = builder.frame, builder.block, g.unit.generator
    given = {name: value.type if handles_of(value) else value for name, value in bound.items()}
    try:
        specialization.result = define(g.unit, function, specialization.symbol, given)
    except CompilationError as inner:
        raise CompilationError(None, place_of(g, node), inner=inner) from inner
    finally:
        builder.frame, builder.block, g.unit.generator = state
        builder.node = node
    specialization.done = True


def _check_noinline(g: Generator, function: Function, bound: dict[str, Any]) -> None:
    for name, value in bound.items():
        if isinstance(value, tensor) and value.type.is_block() and value.type.numel != 1:
            called = f"but was called with non-scalar argument {name}:{value}"
            message = f"Function {function.__name__} is marked noinline, {called}"
            raise unsupported(g, g.builder.node or function.parse(), message, "leave `noinline` out, or pass scalars")


def bind(function: Function, arguments: Sequence[Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Arguments by the names of the parameters, defaults filled in. Raises TypeError in Python's words."""
    bound: dict[str, Any] = {}
    rest, left = list(arguments), dict(keywords)
    missing = []
    misfit = partial(_misfit, function, arguments, keywords)
    for parameter in function.params:
        name = parameter.name
        if parameter.variadic:
            bound[name], rest = language_tuple(rest), []
        elif rest and not parameter.keyword_only:
            if name in left:
                raise misfit(f"got multiple values for argument '{name}'")
            bound[name] = as_value(rest.pop(0))
        elif name in left:
            bound[name] = as_value(left.pop(name))
        elif parameter.has_default:
            bound[name] = as_value(parameter.default)
        else:
            missing.append(name)
    if missing:
        noun = "argument" if len(missing) == 1 else "arguments"
        raise misfit(f"missing {len(missing)} required {noun}: {', '.join(map(repr, missing))}")
    if left:
        raise misfit(f"got an unexpected keyword argument '{next(iter(left))}'")
    if rest:
        takes = sum(not p.keyword_only for p in function.params)
        raise misfit(f"takes {takes} positional arguments but {len(arguments)} were given")
    return bound


def _misfit(function: Function, arguments: Sequence[Any], keywords: dict[str, Any], what: str) -> TypeError:
    signature = f"{function.__name__}({', '.join(p.name for p in function.params)})"
    given = ", ".join([*(describe(a) for a in arguments), *(f"{name}={describe(v)}" for name, v in keywords.items())])
    error = TypeError(f"{function.__name__}() {what}")
    todo = "give each parameter without a default one argument"
    return explain(error, expected=signature, found=f"{function.__name__}({given})", advice=todo)


# ---- names ---------------------------------------------------------------------------------------------------------


def _key(value: Any) -> Any:
    """What of an argument the callee's code depends on."""
    if isinstance(value, language_tuple):
        return ("tuple", tuple(value.fields), tuple(_key(item) for item in value.values))
    if isinstance(value, constexpr):
        return _constant_key(value.value)
    return (type(value), value.type if isinstance(value, tensor) else value.type.mangle())


def _constant_key(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return (type(value), tuple(_constant_key(v.value if isinstance(v, constexpr) else v) for v in value))
    if isinstance(value, float):
        return (float, value.hex())  # 0.0 and -0.0 differ, NaN is NaN
    try:
        hash(value)
    except TypeError:
        return (type(value), repr(value), id(value))
    return (type(value), value)


def _symbol(unit: "Unit", function: Function, bound: dict[str, Any]) -> str:
    """`module.function__i32_fp32S64S__1c0`: types of the run-time arguments, then the constants by position."""
    types = [value.type.mangle() for value in bound.values() if handles_of(value)]
    constants = [f"{i}c{unwrap(value)}" for i, value in enumerate(bound.values()) if not handles_of(value)]
    name = f"{full_name(function)}__{'_'.join(types)}__{'_'.join(constants)}"
    symbol = unique = re.sub(r"[^\w.$]+", "_", name)[:200]
    while unique in unit.symbols:
        unique = f"{symbol}_{len(unit.symbols)}"
    unit.symbols.add(unique)
    return unique


def full_name(function: Function) -> str:
    return f"{function.__module__}.{function.__qualname__}".replace("<locals>.", "")


# ---- definitions ---------------------------------------------------------------------------------------------------


def define(
    unit: "Unit",
    function: Function,
    symbol: str,
    parameters: dict[str, Any],
    public: bool = False,
    argument_attributes: Sequence[dict[str, Attribute]] = (),
) -> Any:
    """Reads `function` and adds a tt.func to the module. `parameters`: by name a language type, or the constant itself.

    Gives a value of the result's type. Raises CompilationError, which has the place in this function.
    """
    types = [ir_type(t) for p in parameters.values() if _is_type(p) for t in handle_types(p)]
    entry = Block(arg_types=types)
    g = Generator(unit, function, _frame(function, entry))
    position = len(unit.functions)
    unit.functions.append(None)
    builder = unit.builder
    builder.frame, builder.block, builder.node, unit.generator = g.frame, entry, None, g
    try:
        _bind_entry(g, parameters, entry)
        ending = blocks.run(g, _body(function), last=True)
        assert ending is not None
        result = None if ending.value is FELL else ending.value
        builder.add("tt.return", handles_of(result))
    except CompilationError:
        raise
    except Exception as error:
        if knobs.compilation.front_end_debugging:
            raise
        made = placed(g, builder.node, error)
        raise made from made.__cause__
    unit.functions[position] = function_op(
        symbol,
        types,
        [handle.type for handle in handles_of(result)],
        Region(entry),
        public,
        _known(g.frame, types, argument_attributes),
        g.frame.location(function.parse().body[0]),
        {"noinline": boolean(function.noinline)},
    )
    return result


def _known(
    frame: Frame, types: Sequence[Attribute], given: Sequence[dict[str, Attribute]]
) -> list[dict[str, Attribute]] | None:
    """What is known of each argument: from the launch, and from the function's own promises."""
    known = [dict(each) for each in given] + [{} for _ in types[len(given) :]]
    for i, promised in frame.promises.items():
        known[i] |= promised
    return known if any(known) else None


def parameter_mistake(unit: "Unit", function: Function, name: str, error: Exception) -> CompilationError:
    """`error` at the parameter `name` in the head of the function."""
    g = Generator(unit, function, _frame(function, Block()))
    head = function.parse().body[0]
    node = next((n for n in ast.walk(head) if isinstance(n, ast.arg) and n.arg == name), head)
    return placed(g, node, error)


def _is_type(parameter: Any) -> bool:
    return isinstance(parameter, base_type) and not isinstance(parameter, base_value)


def _bind_entry(g: Generator, parameters: dict[str, Any], entry: Block) -> None:
    """Gives the parameters their values: arguments of the block, or constants."""
    cursor = 0
    for name, parameter in parameters.items():
        if not _is_type(parameter):
            folded = getattr(parameter, "declared", None)
            g.scope[name] = parameter
            if folded is not None:
                g.scope[name] = scalar_constant(parameter.value, folded)
                g.scope[name].known = parameter.value if isinstance(parameter.value, bool | int) else None
            continue
        g.scope[name], end = parameter._unflatten_ir(entry.args, cursor)
        name_handles(g.scope[name], name, again=True)
        cursor = end


def _frame(function: Function, entry: Block) -> Frame:
    first = function.def_line_number
    line = next(iter(l for l in function.raw_src if re.match(r"\s*(async\s+)?def\s", l)), "")
    indent = len(line) - len(line.lstrip())
    with_locations = not knobs.compilation.disable_line_info
    return Frame(entry, function.file_name, first, indent, with_locations)


def _body(function: Function) -> list[ast.stmt]:
    definition = function.parse().body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition.body
