"""Reads torch's sources, without importing torch: what they import from triton and which names of it they use."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

PLACES = ("_inductor", "_dynamo", "_library", "_higher_order_ops/triton_kernel_wrap.py", "utils/_triton.py")
# What a file calls modules of triton, where it gets them by way of torch (triton_compat) or writes code that does.
KNOWN = {"tl": "triton.language", "tl_math": "triton.language.math", "libdevice": "triton.language.extra.libdevice",
         "triton": "triton"}  # fmt: skip
EMITTED = re.compile(r"(?<![\w.%/\"-])(tl|tl_math|libdevice|triton)\.([a-z_]\w*(?:\.[a-z_]\w*)*)\b(?!\.py)")
Use = tuple[str, str]
"""A name of triton's, and the place that uses it: `triton.a.b` a chain of attributes, `triton.a:b` an import."""


def torch_root() -> Path:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def torch_files() -> Iterator[Path]:
    """The files that may have to do with triton."""
    for place in PLACES:
        path = torch_root() / place
        files = [path] if path.suffix else sorted([*path.rglob("*.py"), *path.rglob("*.jinja")])
        yield from (file for file in files if re.search(r"\b(triton|tl)\b", file.read_text()))


def settings() -> set[str]:
    """Inductor's own settings of the group `triton`, which look like names of triton's: triton.cudagraphs."""
    tree = ast.parse((torch_root() / "_inductor/config.py").read_text())
    group = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "triton")
    nodes = [node.target for node in group.body if isinstance(node, ast.AnnAssign)]
    nodes += [target for node in group.body if isinstance(node, ast.Assign) for target in node.targets]
    return {f"triton.{ast.unparse(node)}" for node in nodes}


def uses() -> Iterator[Use]:
    """Every use in torch's sources, and in the code that they write."""
    ignored = settings()
    for file in torch_files():
        text = file.read_text()
        if file.suffix == ".jinja":
            yield from emitted(text, file.name)
            continue
        tree = ast.parse(text)
        nodes = list(ast.walk(tree))
        yield from imported(nodes, file.name)
        yield from attributes(nodes, file.name)
        if "_inductor" in file.parts:
            yield from (use for use in in_strings(nodes, file.name) if use[0] not in ignored)


def imported(nodes: list[ast.AST], file: str) -> Iterator[Use]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "triton" and not node.level:
            yield from ((f"{node.module}:{name.name}", f"{file}:{node.lineno}") for name in node.names)
        elif isinstance(node, ast.Import):
            found = [name.name for name in node.names if name.name.split(".")[0] == "triton"]
            yield from ((f"{name}:", f"{file}:{node.lineno}") for name in found)


def attributes(nodes: list[ast.AST], file: str) -> Iterator[Use]:
    """`triton.runtime.driver.active`, `tl.constexpr`: chains that start at a module of triton."""
    bound = modules_of(nodes)
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if not isinstance(node, ast.Attribute) or id(node) in inner:
            continue
        head, *rest = ast.unparse(node).split(".")
        if head in bound and all(map(str.isidentifier, rest)):
            yield ".".join([bound[head], *rest]), f"{file}:{node.lineno}"


def modules_of(nodes: list[ast.AST]) -> dict[str, str]:
    """The names that mean a module of triton in a file."""
    bound = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "triton":
                    bound[name.asname or "triton"] = name.name if name.asname else "triton"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").endswith(("triton_compat", "triton_helpers")):
            bound |= {n.asname or n.name: KNOWN[n.name] for n in node.names if n.name in KNOWN}
    return bound


def in_strings(nodes: list[ast.AST], file: str) -> Iterator[Use]:
    """Names in the code that Inductor writes: in string constants and f-strings."""
    documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield from emitted(node.value, f"{file}:{node.lineno}")


def emitted(text: str, place: str) -> Iterator[Use]:
    for head, rest in EMITTED.findall(text):
        yield f"{KNOWN[head]}.{rest}", place
