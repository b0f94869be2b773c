"""What a kernel's code depends on beside its own source: the functions that it calls and the globals that it reads.

The walk follows Python's scoping in the order of the source, as far as a kernel can tell: a name that was not assigned
before it is read is a global (or a variable of an enclosing function).
"""

import ast
import builtins
import copy
import hashlib
import inspect
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from naiad.backends.constants import stable
from naiad.language.builtin import is_builtin
from naiad.language.constexpr import constexpr
from naiad.language.function import Function

Globals = dict[tuple[str, int], tuple[Any, dict[str, Any]]]
"""(name, identity of the scope) to (value when it was read, the scope)."""
BUILTINS = frozenset(vars(builtins))
OWN_MODULES = ("naiad.", "triton.", "math")
ABSENT = object()


class Dependencies(ast.NodeVisitor):
    """Walks the syntax tree of one function. Afterwards `globals` and `digest()` say what it depends on."""

    def __init__(self, function: Any, nonlocals: dict[str, Any]) -> None:
        self.function = function
        self.scopes = (function.__globals__, nonlocals)
        self.hasher = hashlib.sha256(function.src.encode())
        self.globals: Globals = {}
        self.callees: dict[str, str] = {}
        self.locals: set[str] = set()
        self.in_default = False

    def digest(self) -> str:
        """A hash of the source, the functions called, and the constants read; the order of the walk does not count."""
        constants = [(name, stable(value)) for (name, _), (value, _) in self.globals.items() if _is_constant(value)]
        self.hasher.update(repr(sorted(constants, key=repr)).encode())
        return self.hasher.hexdigest()

    # Names
    def visit_Name(self, node: ast.Name) -> Any:
        """The object that the name means, where it is not local."""
        if not isinstance(node.ctx, ast.Load):
            self.locals.add(node.id)
            return ABSENT
        if node.id in self.locals:
            return ABSENT
        for scope in self.scopes:
            if node.id in scope:
                return self.record(scope[node.id], node.id, scope)
        return ABSENT

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """The object that `a.b.c` means, where `a` is not local."""
        owner = self.visit(node.value)
        if owner is ABSENT or owner is None or _is_own(owner):
            return ABSENT
        value = getattr(owner, node.attr, ABSENT)
        if value is ABSENT:
            return ABSENT
        if getattr(owner, "__triton_aggregate__", False):
            return value  # the members of an aggregate are in its key
        return self.record(value, node.attr, vars(owner) if isinstance(owner, ModuleType) else None)

    def record(self, value: Any, name: str, scope: dict[str, Any] | None) -> Any:
        """Notes what `value` means for the kernel, and gives it back."""
        if isinstance(value, ModuleType) or value is None or _is_own(value):
            return value
        value = _unwrapped(value)
        if getattr(value, "__triton_aggregate__", False):
            for part in value.hash_attrs:
                self.record(part.__func__ if isinstance(part, staticmethod) else part, name, None)
        elif hasattr(value, "cache_key"):
            self.depend(value, name)
        elif is_builtin(value):
            pass
        elif callable(value) and not isinstance(value, type | constexpr):
            if name not in BUILTINS and not inspect.isbuiltin(value):
                raise RuntimeError(f"Unsupported function referenced: {value}; a kernel calls @jit functions")
        elif scope is not None and not self.in_default and not isinstance(value, type):
            self.globals[name, id(scope)] = (_kept(value), scope)
        return value

    def depend(self, callee: Any, name: str) -> None:
        """Takes in a called function: its key, and the globals that it reads."""
        key = f"{callee.cache_key}{getattr(callee, 'noinline', False)}"
        seen = getattr(callee, "used_global_vals", {})
        for where in self.globals.keys() & seen.keys():
            ours, theirs = self.globals[where][0], seen[where][0]
            if not _same(ours, theirs):
                raise RuntimeError(
                    f"Global variable {where[0]} has value {ours} when compiling {self.function.__name__}, but inner "
                    f"kernel {callee.__name__} has conflicting value {theirs} from when it was first compiled. "
                    "This is not allowed."
                )
        self.globals.update(seen)
        self.callees[name] = key
        self.hasher.update(key.encode())

    # Order of evaluation: values before targets, defaults in the enclosing scope
    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.in_default = True
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        self.in_default = False
        self.locals |= {argument.arg for argument in _arguments(node.args)}
        self._walk([*filter(None, (a.annotation for a in _arguments(node.args))), *node.body])

    def visit_Assign(self, node: ast.Assign) -> None:
        self._walk([node.value, *node.targets])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._walk([*filter(None, [node.value]), node.annotation, node.target])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.visit_Name(ast.Name(node.target.id, ast.Load()))
        self._walk([node.value, node.target])

    def visit_For(self, node: ast.For) -> None:
        self._walk([node.iter, node.target, *node.body, *node.orelse])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._walk([node.value, node.target])

    def visit_ListComp(self, node: ast.ListComp) -> None:
        for generator in node.generators:
            self._walk([generator.iter, generator.target, *generator.ifs])
        self.visit(node.elt)

    visit_GeneratorExp = visit_ListComp  # type: ignore[assignment]

    def _walk(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def generic_visit(self, node: ast.AST) -> Any:
        super().generic_visit(node)
        return ABSENT


def changed_global(used: Globals) -> str | None:
    """Says which of the globals that a kernel was compiled with has another value now."""
    for (name, _), (value, scope) in used.items():
        now = scope.get(name, ABSENT)
        if now is not value and not _same(now, value):
            shown = "nothing" if now is ABSENT else now
            return f"Global variable {name} has changed since we compiled this kernel, from {value} to {shown}"
    return None


def described(function: Any, callees: Mapping[str, str], used: Globals) -> dict[str, Any]:
    """What a function's key is made of, part by part: its own source and line, what it calls, what it reads."""
    constants = {name: str(stable(value)) for (name, _), (value, _) in used.items() if _is_constant(value)}
    return {
        "source": function.src,
        "line": str(function.starting_line_number),
        "dependencies": dict(sorted(callees.items())),
        "globals": dict(sorted(constants.items())),
    }


def _arguments(args: ast.arguments) -> list[ast.arg]:
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]


def _is_own(value: Any) -> bool:
    """Whether the value is part of the language or of the compiler, whose version is in the key anyway."""
    module = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None) or ""
    if not isinstance(module, str):
        return False
    if isinstance(value, ModuleType):
        return f"{module}.".startswith(OWN_MODULES) or module == "copy"
    return isinstance(value, Function | type) and module.startswith("naiad.language")


def _unwrapped(value: Any) -> Any:
    """The @jit function in an Autotuner or Heuristics."""
    while hasattr(value, "base_fn") or (hasattr(value, "values") and hasattr(value, "fn")):
        value = value.fn
    return value


def _is_constant(value: Any) -> bool:
    return isinstance(value, constexpr | int | float | str | tuple) or stable(value) is not None


def _kept(value: Any) -> Any:
    """A copy of the value, where one is cheap and means something later."""
    return copy.deepcopy(value) if isinstance(value, constexpr | tuple | list | dict) else value


def _same(a: Any, b: Any) -> bool:
    try:
        unwrapped = [x.value if isinstance(x, constexpr) else x for x in (a, b)]
        return type(a) is type(b) and bool(unwrapped[0] == unwrapped[1])
    except Exception:
        return False
