"""Everything that the peer's triton.language has is here, under the same names and with the same parameters."""

import ast
import inspect

import pytest

import naiad.language as tl
from naiad.language.extra.device_library import table
from naiad.language.function import COMPILER_KEYWORDS, Function

peer = pytest.importorskip("triton.language", reason="the peer is not installed")


def parameters(function):
    """The names of the parameters that a user may give."""
    function = getattr(function, "fn", function)
    return [name for name in inspect.signature(function).parameters if name not in COMPILER_KEYWORDS]


def test_names():
    assert [name for name in peer.__all__ if not hasattr(tl, name)] == []
    assert [name for name in peer.__all__ if not hasattr(tl.core, name)] == []


def test_names_of_core():
    names = {name for name, value in vars(peer.core).items() if inspect.isfunction(value) or inspect.isclass(value)}
    internal = {
        "aggregate_value", "check_bit_width", "dispatch", "binary_op_type_legalization", "is_negative_zero", "partial",
        "wraps", "contextmanager", "dataclass", "warn", "JITCallable", "validate_block_shape", "get_primitive_bitwidth",
        "Enum",
    }  # fmt: skip
    public = {name for name in names if not name.startswith("_")} - internal
    missing = [n for n in sorted(public) if not hasattr(tl.core, n) and getattr(peer.core, n).__module__ != "typing"]
    assert missing == []


FUNCTIONS = [
    name
    for name in peer.__all__
    if name not in ("const", "constexpr")
    and not isinstance(getattr(peer, name), type)
    and callable(getattr(peer, name))
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters(name):
    want, got = parameters(getattr(peer, name)), parameters(getattr(tl, name))
    assert got[: len(want)] == want
    extra = [
        inspect.signature(getattr(getattr(tl, name), "fn", getattr(tl, name))).parameters[p] for p in got[len(want) :]
    ]
    assert all(parameter.default is not inspect.Parameter.empty for parameter in extra)


@pytest.mark.parametrize(
    "name", ["constexpr", "tensor", "tuple", "tensor_descriptor", "dtype", "pointer_type", "block_type"]
)
def test_members(name):
    theirs, ours = getattr(peer, name), getattr(tl, name)
    internal = {"to_ir", "_flatten_ir", "_unflatten_ir", "_flatten_ir_types"}
    names = [n for n in vars(theirs) if n not in internal and (not n.startswith("_") or n.endswith("__"))]
    odd = {
        "__rgt__",
        "__rge__",
        "__rlt__",
        "__rle__",
        "__req__",
        "__rne__",
        "__neq__",
        "__weakref__",
        "__firstlineno__",
    }
    assert [n for n in names if n not in odd and not hasattr(ours, n)] == []


def test_methods_take_what_the_functions_take():
    assert isinstance(tl.sum, Function)
    assert tl.tensor.sum is tl.sum
    assert tl.tensor.reshape is tl.reshape


def _symbols(module):
    """The tables in the source of one of the peer's device libraries: name -> {types: (symbol, result)}."""
    found = {}
    for node in ast.parse(inspect.getsource(module)).body:
        tables = [n for n in ast.walk(node) if isinstance(n, ast.Dict)] if isinstance(node, ast.FunctionDef) else []
        if tables:
            found[node.name] = {
                tuple(_name(type) for type in key.elts): (value.elts[0].value, _name(value.elts[1]))
                for key, value in zip(tables[0].keys, tables[0].values, strict=True)
            }
    return found


def _name(node):
    return node.args[0].value


@pytest.mark.parametrize("library", ["cuda", "hip"])
def test_device_libraries(library):
    module = pytest.importorskip(f"triton.language.extra.{library}.libdevice")
    ours = {
        name: {tuple(t.name for t in types): (symbol, result.name) for types, (symbol, result) in rows.items()}
        for name, rows in table(library).items()
    }
    theirs = _symbols(module)
    assert ours == theirs
