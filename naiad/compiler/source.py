"""What is compiled: a @jit function with the types and constants of one call, or a file of IR."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from naiad.backends.base import GPUTarget, Language
from naiad.backends.constants import stable
from naiad.backends.signature import passed


class SpecializationProxy(NamedTuple):
    """What `@jit(repr=...)` is told of a specialisation."""

    constants: dict[str, Any]
    signature: dict[str, Any]


class ASTSource:
    """A function, the types of its parameters, and what is known about the arguments.

    signature: name to type (`*fp32`, `i32`, `constexpr`, a tuple of types), in any order.
    constexprs: path to value; a path is a parameter's name or `(index,)`, or `(index, i, ...)` within a tuple. A path
    whose type is not `constexpr` is an argument folded as a value: it keeps its type, and has no slot in the launch.
    attrs: path to attributes of the argument, `{(0,): [["tt.divisibility", 16]]}`.
    """

    def __init__(
        self,
        fn: Any,
        signature: Mapping[str, Any],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Mapping[tuple[int, ...], list[list[Any]]] | None = None,
    ) -> None:
        for name in signature:
            if not isinstance(name, str):
                raise TypeError("Signature keys must be string")
        self.fn = fn
        self.language = Language.TRITON
        self.ext = "ttir"
        self.name: str = fn.__name__
        self.signature = {name: signature[name] for name in fn.arg_names if name in signature}
        if unknown := signature.keys() - self.signature.keys():
            raise TypeError(f"{self.name} has no parameter {sorted(unknown)[0]!r}; it takes {', '.join(fn.arg_names)}")
        self.constants = {
            (fn.arg_names.index(path),) if isinstance(path, str) else tuple(path): value
            for path, value in (constexprs or {}).items()
        }
        for i, parameter in enumerate(fn.params):  # one that says constexpr is one, whatever its type here
            if (i,) in self.constants and parameter.is_constexpr:
                self.signature[parameter.name] = "constexpr"
        self.attrs = dict(attrs or {})

    def hash(self) -> str:
        """A hash of the function with all that it calls and reads, and of all that was said of the arguments."""
        constants = [(path, stable(value)) for path, value in sorted(self.constants.items())]
        attrs = sorted(self.attrs.items())
        parts = [self.fn.cache_key, repr(attrs), repr(list(self.signature.items())), repr(constants)]
        if getattr(self.fn, "_repr", None) is not None:
            parts.append(self.shown_name)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def shown_name(self) -> str:
        """The function's name, or what `@jit(repr=...)` says of this specialisation."""
        if getattr(self.fn, "_repr", None) is None:
            return self.name
        constants = {self.fn.arg_names[path[0]]: value for path, value in self.constants.items() if len(path) == 1}
        name = self.fn.repr(SpecializationProxy(constants, self.signature))
        if not isinstance(name, str):
            raise TypeError(f"{self.name}: @jit(repr=...) gave {name!r}; it gives the name of a specialisation, a str")
        return name

    def described(self) -> dict[str, Any]:
        """What `hash` is of, part by part, for people: a text, or name to text."""
        names = self.fn.arg_names
        attrs = {_path_name(names, path): repr(value) for path, value in sorted(self.attrs.items())}
        constants = {_path_name(names, path): str(stable(value)) for path, value in sorted(self.constants.items())}
        signature = {name: repr(type_) for name, type_ in self.signature.items()}
        return {**self.fn.described(), "signature": signature, "constants": constants, "attributes": attrs}

    @property
    def is_stable(self) -> bool:
        """Whether `hash` means the same in another process: a constant whose text is an address is not kept on disk."""
        return all(stable(value) is not None for value in self.constants.values())

    def make_ir(
        self, target: GPUTarget, options: Any, codegen_fns: Any = None, module_map: Any = None, context: Any = None
    ) -> Any:
        """The function as a module of ttir. The rest is Triton's: with a context (of MLIR), its view of the module."""
        from naiad.compiler.code_generator import ast_to_ttir

        module = ast_to_ttir(self.fn, self, options)
        return module if context is None else context.view(module)

    def parse_options(self) -> dict[str, Any]:
        return {}


class IRSource:
    """IR in a file, whose ending says of which stage it is."""

    is_stable = True
    constants: dict[tuple[int, ...], Any] = {}

    def __init__(self, path: str, context: Any = None, backend: Any = None) -> None:
        self.path = path
        self.ext = path.rpartition(".")[2]
        self.language = Language.TRITON
        with open(path) as file:
            self.src = file.read()
        found = re.search(
            r"tt\.func\s+(?:public\s+)?@(\w+)\s*\(|\.entry\s+(\w+)\s*\(|define\s+(?:ptx_kernel\s+)?void\s+@(\w+)\(",
            self.src,
        )
        if found is None:
            raise ValueError(f"{path} has no kernel (tt.func, .entry or define)")
        self.name = next(filter(None, found.groups()))
        self.signature = self._signature()

    def _signature(self) -> dict[Any, str]:
        """The types of the arguments, by index, read from the first tt.func, or from the entry of PTX."""
        if self.ext == "ptx":
            entry = re.search(r"\.entry\s+\w+\s*\((.*?)\)", self.src, re.DOTALL)
            words = re.findall(r"\.param\s+\.([a-z])(\d+)(\s+\.ptr)?", entry.group(1) if entry else "")
            return {
                i: "*i8" if ptr else f"{'fp' if kind == 'f' else 'i'}{bits}"
                for i, (kind, bits, ptr) in enumerate(words)
            }
        head = re.search(r"tt\.func[^(]*\((.*?)\)\s*(?:attributes|->|\{)", self.src, re.DOTALL)
        types = re.findall(r"%\w+\s*:\s*(!tt\.ptr<\w+|\w+)", head.group(1)) if head else []
        names = {"f16": "fp16", "f32": "fp32", "f64": "fp64"}
        found = {}
        for i, text in enumerate(types):
            element = text.removeprefix("!tt.ptr<")
            found[i] = ("*" if element != text else "") + names.get(element, element)
        return found

    def hash(self) -> str:
        return hashlib.sha256(f"{self.ext}\0{self.src}".encode()).hexdigest()

    def described(self) -> dict[str, Any]:
        signature = {str(name): repr(type_) for name, type_ in self.signature.items()}
        return {"source": self.src, "signature": signature}

    def make_ir(
        self, target: GPUTarget, options: Any, codegen_fns: Any = None, module_map: Any = None, context: Any = None
    ) -> Any:
        """The module in the file. The rest as in ASTSource."""
        from naiad.backends import find

        module = find(target).parse(self.ext, self.src.encode())
        return module if context is None else context.view(module)

    def parse_options(self) -> dict[str, Any]:
        """Options that the text itself says."""
        found = {}
        for name in ("num-warps", "num-ctas"):
            if match := re.search(rf'"ttg\.{name}" = (\d+)', self.src):
                found[name.replace("-", "_")] = int(match.group(1))
        return found


def argument_names(src: ASTSource | IRSource) -> list[str]:
    """A name for each argument of the tt.func, in order: `x`, `pair.0`; the parts of a descriptor all have its name.

    In a file of IR, where arguments have no names, it is their index.
    """
    names = [str(name) for name in src.signature]
    found = []
    for (first, *steps), _ in passed(src):
        parts = takewhile(lambda step: isinstance(step, int), steps)  # into tuples, not into a descriptor
        found.append(".".join([names[int(first)], *map(str, parts)]))
    return found


def _path_name(names: Sequence[str], path: tuple[int, ...]) -> str:
    """The argument that a path means: `x`, or `x[1]` within a tuple."""
    return names[path[0]] + "".join(f"[{i}]" for i in path[1:])
