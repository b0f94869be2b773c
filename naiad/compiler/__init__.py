"""The compiler: Python source to ttir, and compile(). Its parts are imported when they are needed."""

from naiad.compiler.compiler import (
    ASTSource,
    CompiledKernel,
    IRSource,
    LazyDict,
    compile,
    get_cache_key,
    make_backend,
)
from naiad.errors import CompilationError

__all__ = [
    "ASTSource",
    "CompilationError",
    "CompiledKernel",
    "IRSource",
    "LazyDict",
    "compile",
    "get_cache_key",
    "make_backend",
]
