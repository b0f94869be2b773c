"""Makes the body of a kernel run as Python: constructs that mean something else in a kernel become calls of `__naiad`.

Lines and columns stay those of the user's file, so that tracebacks, breakpoints and debuggers show it. Names, globals
and closures are the user's own. What the calls do stands in kernel_python.py.
"""

import ast
import copy
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from naiad.language.function import Function
from naiad.runtime.interpreter import kernel_python, place

SUPPORT = "__naiad"


def interpreted(function: Function) -> Callable[..., Any]:
    """The function's body as a Python function that takes values of the language. Made once a source."""
    cached = function.__dict__.get("_interpreted")
    if cached is None or cached[0] is not function.src:
        cached = function.__dict__["_interpreted"] = (function.src, _make(function))
    return cached[1]


def _make(function: Function) -> Callable[..., Any]:
    if not function.src:
        place.register(function.fn.__code__)
        return function.fn
    definition = copy.deepcopy(function.parse().body[0])
    assert isinstance(definition, ast.FunctionDef)
    fn = function.fn
    known = set(fn.__code__.co_freevars) | set(fn.__globals__)
    names = kernel_python.BUILTINS - known - _assigned(definition) - {a.arg for a in _parameters(definition)}
    _strip(definition)
    rewriter = Rewriter(names, _constants(definition))
    definition.body = [rewriter.visit(statement) for statement in definition.body]
    _place(definition, function)
    code = _compiled(definition, fn.__code__.co_freevars, function.file_name)
    place.register(code)
    cells = {**dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)), SUPPORT: CellType(kernel_python)}
    made = FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, tuple(cells[n] for n in code.co_freevars))
    made.__kwdefaults__ = fn.__kwdefaults__
    return made


def _parameters(definition: ast.FunctionDef) -> list[ast.arg]:
    a = definition.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]


def _strip(definition: ast.FunctionDef) -> None:
    """Takes off what is evaluated where the function is defined; the defaults come from the original function."""
    definition.decorator_list, definition.returns = [], None
    for parameter in _parameters(definition):
        parameter.annotation = None
    nothing = ast.Constant(None)
    definition.args.defaults = [nothing for _ in definition.args.defaults]
    definition.args.kw_defaults = [d and nothing for d in definition.args.kw_defaults]


def _place(definition: ast.FunctionDef, function: Function) -> None:
    """Gives new nodes a place, and all nodes that of the user's file."""
    ast.fix_missing_locations(definition)
    ast.increment_lineno(definition, function.def_line_number - 1)
    first = next((line for line in function.raw_src if line.lstrip().startswith(("def ", "async def "))), "")
    indent = len(first) - len(first.lstrip())
    for node in ast.walk(definition):
        if isinstance(node, ast.expr | ast.stmt):
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent


def _compiled(definition: ast.FunctionDef, free: Sequence[str], file: str) -> CodeType:
    """The code of the function, compiled inside of another that has its free variables."""
    arguments = ast.arguments([], [ast.arg(name) for name in (*free, SUPPORT)], None, [], [], None, [])
    own_name: list[ast.stmt] = [] if definition.name in free else [ast.Global([definition.name])]
    outer = ast.FunctionDef("__outer", arguments, [*own_name, definition], [], None)
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, definition)], []))
    whole = compile(module, file, "exec")
    (inner,) = (c for c in whole.co_consts if isinstance(c, CodeType))
    return next(c for c in inner.co_consts if isinstance(c, CodeType) and c.co_name == definition.name)


_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)


def _assigned(node: ast.AST) -> set[str]:
    """The names that statements below `node` assign, but in functions inside of it."""
    found = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            found.add(child.id)
        if not isinstance(child, _SCOPES):
            found |= _assigned(child)
    return found


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    """A call of the support, at the place of its first argument."""
    function = ast.copy_location(ast.Attribute(_load(SUPPORT), name, ast.Load()), arguments[0])
    return ast.copy_location(ast.Call(function, list(arguments), []), arguments[0])


def _named(name: str, value: ast.expr) -> ast.expr:
    """(name := value)"""
    return ast.copy_location(ast.NamedExpr(ast.copy_location(ast.Name(name, ast.Store()), value), value), value)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


class Rewriter(ast.NodeTransformer):
    """`builtins`: names that stand for Python's functions in this kernel; `constants`: those annotated constexpr."""

    def __init__(self, builtins: frozenset[str] | set[str], constants: set[str]) -> None:
        self.builtins, self.constants = builtins, constants
        self._temporaries = 0
        self._inside = 0
        """How many comprehensions and lambdas are around: there a temporary would be a name of theirs."""

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"{SUPPORT}_{self._temporaries}"

    # Statements

    def visit_Assign(self, node: ast.Assign) -> Any:
        """x = v -> x = as_variable(v): a number becomes a tensor, unless the name is annotated tl.constexpr."""
        self.generic_visit(node)
        node.value = self._held(node.targets[0], node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """x += v -> x = x + v"""
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        before = ast.copy_location(_load(node.target.id), node.target)
        total = ast.copy_location(ast.BinOp(before, node.op, self.visit(node.value)), node)
        return ast.copy_location(ast.Assign([node.target], self._held(node.target, total)), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        node.value = self._held(node.target, self.visit(node.value))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """x: tl.constexpr = v -> the same, a constexpr."""
        if node.value is not None:
            node.value = self._held(node.target, self.visit(node.value))
        return node

    def _held(self, target: ast.expr, value: ast.expr) -> ast.expr:
        if isinstance(target, ast.Name):
            return _call("constant" if target.id in self.constants else "as_variable", value)
        names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        return value if names & self.constants else _call("as_variable", value)

    def visit_If(self, node: ast.If) -> Any:
        """if c: ... -> one number decides."""
        self.generic_visit(node)
        node.test = _call("truth", node.test)
        return node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = _call("iterated", node.iter)
        return node

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        node.test = _call("truth", node.test)
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        message = ast.Lambda(ast.arguments([], [], None, [], [], None, []), node.msg or ast.Constant(""))
        return ast.copy_location(ast.Expr(_call("assert_", self.visit(node.test), self.visit(message))), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node

    # Expressions

    def visit_Call(self, node: ast.Call) -> Any:
        """range(n) -> __naiad.range_(n), f(x) -> __naiad.callee(f)(x)"""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self.builtins:
            node.func = ast.copy_location(ast.Attribute(_load(SUPPORT), f"{node.func.id}_", ast.Load()), node.func)
        elif node.args or node.keywords:  # what takes no arguments (breakpoint) is called from the kernel itself
            node.func = _call("callee", node.func)
        return node

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        self.generic_visit(node)
        return _call("tuple_", node) if isinstance(node.ctx, ast.Load) else node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """An index stays Python's tuple."""
        node.value = self.visit(node.value)
        index: Any = self.generic_visit(node.slice) if isinstance(node.slice, ast.Tuple) else self.visit(node.slice)
        node.slice = index
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return _call("not_", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        word = "and" if isinstance(node.op, ast.And) else "or"
        result = self.visit(node.values[0])
        for value in node.values[1:]:
            result = self._join(word, result, self.visit(value))
        return result

    def _join(self, word: str, a: ast.expr, b: ast.expr) -> ast.expr:
        """a and b -> (t if ends_and(t := a) else and_(t, b)): `b` is not evaluated where `a` decides."""
        if self._inside:
            return _call(f"{word}_", a, b)
        name = self._temporary()
        decided = _call(f"ends_{word}", _named(name, a))
        both = _call(f"{word}_", ast.copy_location(_load(name), b), b)
        return ast.copy_location(ast.IfExp(decided, ast.copy_location(_load(name), a), both), a)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """a < b < c -> a < (t := b) and t < c."""
        self.generic_visit(node)
        left, result = node.left, None
        for i, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            following: ast.expr = right
            if i + 1 < len(node.ops) and not self._inside:
                name = self._temporary()
                right, following = _named(name, right), ast.copy_location(_load(name), right)
            one = ast.copy_location(_comparison(left, op, right), node)
            result = one if result is None else self._join("and", result, one)
            left = following
        return result

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """x if c else y -> a tensor, not a number, where `c` is one."""
        self.generic_visit(node)
        if self._inside:
            return node
        name = self._temporary()
        test = _call("truth", _named(name, node.test))
        return _call("chosen", ast.copy_location(ast.IfExp(test, node.body, node.orelse), node), _load(name))

    def _comprehension(self, node: Any) -> Any:
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1
        return node

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = _comprehension


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
    if isinstance(op, ast.Is | ast.IsNot):
        same = _call("is_", left, right)
        return same if isinstance(op, ast.Is) else ast.UnaryOp(ast.Not(), same)
    if isinstance(op, ast.In | ast.NotIn):
        found = _call("in_", left, right)
        return found if isinstance(op, ast.In) else ast.UnaryOp(ast.Not(), found)
    return ast.Compare(left, [op], [right])


def _is_constexpr(annotation: ast.expr) -> bool:
    return ast.unparse(annotation).strip("'\"").split(".")[-1] == "constexpr"


def _constants(node: ast.AST) -> set[str]:
    """The names below `node` that are annotated with tl.constexpr."""
    return {
        n.target.id
        for n in ast.walk(node)
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and _is_constexpr(n.annotation)
    }
