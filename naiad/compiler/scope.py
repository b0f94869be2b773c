"""What names mean at one place of a function: a plain dict from name to value; some values say why there is none."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Scope", "Unavailable", "assigned_names"]

Scope: TypeAlias = dict[str, Any]
"""Values of the language, and Python objects (functions, modules, dtypes) as they are."""


@dataclass(frozen=True)
class Unavailable:
    """Stands in a scope for a name that has no value here; reading it is the mistake, not defining it."""

    reason: str
    advice: str = ""
    expected: str = ""
    found: str = ""


def assigned_names(node: ast.AST) -> frozenset[str]:
    """The names that the statements below `node` may assign; a comprehension's own names are not among them."""
    found: frozenset[str] | None = getattr(node, "_naiad_assigned", None)
    if found is None:
        found = frozenset(_stores(node))
        node._naiad_assigned = found  # type: ignore[attr-defined]  # the tree is kept with its function
    return found


def _stores(node: ast.AST) -> Iterator[str]:
    own: set[str] = set()
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
        own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from (name for name in _stores(child) if name not in own)
