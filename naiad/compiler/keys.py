"""The cache's key of a compilation, and the same in words for `naiad cache why`."""

import hashlib
import sys
from typing import Any

from naiad import knobs
from naiad.backends import BaseBackend
from naiad.compiler.source import ASTSource, IRSource
from naiad.compiler.version import version

__all__ = ["described_key", "get_cache_key"]


def get_cache_key(
    src: ASTSource | IRSource, backend: BaseBackend, options: Any, env_vars: dict[str, str] | None = None
) -> str:
    """The name of a compilation's result: a hash of all that it depends on. No path and no time is part of it."""
    variables = knobs.cache_invalidating_values() if env_vars is None else env_vars
    text = options.hash() if hasattr(options, "hash") else repr(options)
    parts = [version(backend.sources).key, src.hash(), backend.hash(), text, repr(sorted(variables.items()))]
    if hook := knobs.runtime.add_stages_inspection_hook:
        parts.append(repr(hook()))
    if path := getattr(options, "ir_override", None):
        parts.append(_content(path))
    if hooks := _pipeline_hooks():
        parts.append(hooks)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def described_key(src: ASTSource | IRSource, backend: BaseBackend, options: Any) -> dict[str, Any]:
    """What the key was made of, part by part, as JSON can hold it: a text, or name to text."""
    now = version(backend.sources)
    hook = knobs.runtime.add_stages_inspection_hook
    path = getattr(options, "ir_override", None)
    return {
        **src.described(),
        "options": {name: repr(value) for name, value in vars(options).items() if not name.startswith("_")},
        "environment": dict(knobs.cache_invalidating_values()),
        "target": f"{backend.target.backend}:{backend.target.arch}",
        "toolchain": f"{backend.hash()} {now.libraries}",
        "naiad": now.naiad,
        "stages hook": repr(hook()) if hook else "",
        "pipeline hooks": _pipeline_hooks(),
        "override": _content(path) if path else "",
    }


def _pipeline_hooks() -> str:
    """The names of this process's hooks of pipelines. (What NAIAD_PIPELINE names is among the variables.)"""
    pipeline = sys.modules.get("naiad.passes.pipeline")  # without an import: who has hooks has imported it
    said = pipeline.fingerprint() if pipeline else ""
    return "" if said == knobs.passes.pipeline else str(said)


def _content(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
