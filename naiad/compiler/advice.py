"""What to say beside a reason: what was expected and what to do, by the construct or by the text of the message."""

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from naiad.compiler.values import describe
from naiad.errors import Explanation
from naiad.language.tensor import tensor

if TYPE_CHECKING:
    from naiad.compiler.generator import Generator

__all__ = ["for_message", "for_node", "found_in"]

NODES: dict[type[ast.AST], tuple[str, str]] = {
    ast.FunctionDef: (
        "nested function definition is not supported.",
        "define the function at the level of the module, decorate it with @triton.jit and call it",
    ),
    ast.Lambda: ("unsupported AST node type: Lambda", "define a @triton.jit function at the level of the module"),
    ast.ClassDef: ("unsupported AST node type: ClassDef", "define the class outside, with @triton.aggregate"),
    ast.Try: ("unsupported AST node type: Try", "a kernel has no exceptions; use tl.device_assert"),
    ast.Raise: ("unsupported AST node type: Raise", "use tl.static_assert or tl.device_assert"),
    ast.With: ("unsupported AST node type: With", "a kernel has no context managers; write the calls out"),
    ast.SetComp: ("unsupported AST node type: SetComp", "use a tuple"),
    ast.Set: ("unsupported AST node type: Set", "use a tuple"),
    ast.Dict: ("unsupported AST node type: Dict", "use a tuple, a named tuple or @triton.aggregate"),
    ast.DictComp: ("unsupported AST node type: DictComp", "use a tuple"),
    ast.GeneratorExp: ("unsupported AST node type: GeneratorExp", "use a list comprehension over a tuple"),
    ast.Break: ("unsupported AST node type: Break", "put the condition into a `while`, or guard the rest with `if`"),
    ast.Continue: ("unsupported AST node type: Continue", "guard the rest of the loop's body with `if`"),
    ast.Global: ("unsupported AST node type: Global", "pass the value as an argument"),
    ast.Nonlocal: ("unsupported AST node type: Nonlocal", "pass the value as an argument"),
    ast.Import: ("unsupported AST node type: Import", "import at the level of the module"),
    ast.ImportFrom: ("unsupported AST node type: ImportFrom", "import at the level of the module"),
    ast.Delete: ("unsupported AST node type: Delete", "names need not be deleted in a kernel"),
    ast.Yield: ("unsupported AST node type: Yield", "a kernel is not a generator; return a tuple"),
    ast.Await: ("unsupported AST node type: Await", "a kernel cannot wait"),
    ast.Match: ("unsupported AST node type: Match", "use if and elif"),
}


WORDS = {
    ast.FunctionDef: "a `def` in a kernel", ast.ClassDef: "a `class` in a kernel", ast.Raise: "a `raise`",
    ast.Try: "a `try`", ast.With: "a `with`", ast.Lambda: "a `lambda`", ast.SetComp: "a set comprehension",
    ast.Set: "a set", ast.Dict: "a dict", ast.DictComp: "a dict comprehension", ast.GeneratorExp: "a generator",
    ast.Break: "a `break`", ast.Continue: "a `continue`", ast.Global: "a `global`", ast.Nonlocal: "a `nonlocal`",
    ast.Import: "an `import`", ast.ImportFrom: "an `import`", ast.Delete: "a `del`", ast.Yield: "a `yield`",
    ast.Await: "an `await`", ast.Match: "a `match`", ast.Return: "a `return`",
}  # fmt: skip


def for_node(node: ast.AST) -> tuple[str, Explanation]:
    """The reason for refusing a construct that kernels do not have, and its explanation."""
    name = type(node).__name__
    reason, todo = NODES.get(type(node), (f"unsupported AST node type: {name}", "write it with what the language has"))
    return reason, Explanation("a statement or expression that kernels have", WORDS.get(type(node), name), todo)


@dataclass(frozen=True)
class Hint:
    pattern: re.Pattern[str]
    expected: str
    advice: str


def _hint(pattern: str, expected: str, advice: str) -> Hint:
    return Hint(re.compile(pattern), expected, advice)


INT = "pass an int: n // 2 instead of n / 2, or triton.cdiv"
HINTS = (
    _hint(
        r"must be of type tl\.constexpr|arguments must be .*constexpr|must be known when the kernel is compiled",
        "a value known when the kernel is compiled (constexpr)",
        "make it a parameter `NAME: tl.constexpr`; for a runtime size use a constexpr block and mask what lies outside",
    ),
    _hint(
        r"^Shape element \d+ must have type|cannot be interpreted as an integer",
        "an int known when the kernel is compiled",
        INT,
    ),
    _hint(r"^arange must fit in int32", "bounds from 0 to 2**31 - 1", "make them smaller, and add an offset in int64"),
    _hint(r"power of 2|power of two", "a power of two", "round up with triton.next_power_of_2 and mask the rest"),
    _hint(
        r"[Cc]annot broadcast|incompatible dimensions|Cannot make_shape_compatible|shape.*mismatch|rank mismatch",
        "shapes that are equal, or 1, in each dimension",
        "bring both to one shape, for example with x[:, None] or tl.broadcast_to",
    ),
    _hint(
        r"Unsupported ptr type|pointer type|expected.*pointer|not a pointer",
        "a pointer, or a tile of pointers",
        "pass the tensor itself, and add offsets to its pointer: tl.load(ptr + offsets)",
    ),
    _hint(r"[Mm]ask", "a mask of int1 of the pointer's shape", "compare offsets of the same shape: offsets < n"),
    _hint(
        r"^cannot convert None of type",
        "a tile or a number",
        "test it first: `if x is not None:` is decided when the kernel is compiled",
    ),
    _hint(r"^cannot convert .* of type .* to tensor", "a tile, a number or a bool", "pass one of these"),
    _hint(r"^dtype must be a type of triton\.language", "such as tl.float32", "pass the language's own dtype"),
    _hint(r"different signedness", "operands of one signedness", "cast one of them: x.to(tl.int32)"),
    _hint(r"invalid operands of type", "operands of fitting types", "cast one of them with .to(dtype)"),
    _hint(r"Cannot bitcast|bitcast", "types of the same width", "cast by value: x.to(dtype)"),
    _hint(r"missing .*required|unexpected keyword|takes .*argument|multiple values", "", "compare with the signature"),
)
_NONE = Explanation()


def for_message(message: str) -> Explanation:
    """What was expected and what to do, where the message is one that is known."""
    for hint in HINTS:
        if hint.pattern.search(message):
            return Explanation(expected=hint.expected, advice=hint.advice)
    return _NONE


def found_in(g: "Generator", node: ast.AST | None) -> str:
    """The values that an expression was given, in words: `x = int32, y = fp32[64]`. Nothing is evaluated anew."""
    if isinstance(node, ast.Call) and g.called is not None and g.called[0] is node:
        return _arguments(*g.called)
    return ", ".join(f"{text} = {_words(value)}" for text, value in _operands(g, node))


def _arguments(node: ast.Call, arguments: list[Any], keywords: dict[str, Any]) -> str:
    """What a call was given: the text of each argument and its value."""
    texts = [ast.unparse(a) for a in node.args]
    if len(texts) != len(arguments):  # there was a starred one
        texts = [f"argument {i}" for i in range(len(arguments))]
    pairs = [*zip(texts, arguments, strict=True), *keywords.items()]
    return ", ".join(
        f"{text[:40]} = {_words(value)}" for text, value in pairs if text != str(getattr(value, "value", ""))
    )


_MISSING = object()


def _operands(g: "Generator", node: ast.AST | None) -> list[tuple[str, Any]]:
    nodes: list[ast.AST] = []
    if isinstance(node, ast.Call):
        nodes = [*node.args, *(k.value for k in node.keywords)]
    elif isinstance(node, ast.BinOp):
        nodes = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        nodes = [node.left, *node.comparators]
    elif isinstance(node, ast.UnaryOp):
        nodes = [node.operand]
    elif isinstance(node, ast.Subscript | ast.Attribute):
        nodes = [node.value]
    found: list[tuple[str, Any]] = []
    for each in nodes:
        for leaf in ast.walk(each):
            if isinstance(leaf, ast.Name) and leaf.id not in dict(found):
                value = g.scope.get(leaf.id, _MISSING)
                if value is not _MISSING and hasattr(value, "type"):
                    found.append((leaf.id, value))
    return found


def _words(value: Any) -> str:
    words = describe(value)
    is_scalar = isinstance(value, tensor) and not value.type.is_block()
    return f"{words} (known only at run time)" if is_scalar and not value.dtype.is_ptr() else words
