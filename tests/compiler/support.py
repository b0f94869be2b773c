"""How the tests of the front end compile: a kernel with a signature to checked ttir, as a module or as text."""

from typing import Any

import pytest

import naiad as triton
from naiad.backends import GPUTarget, find
from naiad.compiler.code_generator import ast_to_ttir
from naiad.compiler.source import ASTSource
from naiad.errors import CompilationError
from naiad.ir.check import check
from naiad.ir.text import print_module

OPTIONS = find(GPUTarget("cpu", "any", 1)).parse_options({"debug": True})


def compiled(kernel: Any, *types: Any, options: Any = OPTIONS, attrs: Any = None, **constants: Any) -> Any:
    """The module of `kernel`; `types` are of the parameters that have no constant, in their order."""
    given = iter(types)
    signature = {name: "constexpr" if name in constants else next(given) for name in kernel.arg_names}
    module = ast_to_ttir(kernel, ASTSource(kernel, signature, constants, attrs), options)
    check(module, "ttir")
    return module


def text(kernel: Any, *types: Any, **constants: Any) -> str:
    """The text of `kernel`, all functions."""
    return print_module(compiled(kernel, *types, **constants))


def body(kernel: Any, *types: Any, **constants: Any) -> str:
    """The text of the kernel's own function."""
    return text(kernel, *types, **constants).split("tt.func private")[0]


def mistake(kernel: Any, *types: Any, **constants: Any) -> CompilationError:
    """The error that compiling `kernel` raises."""
    with pytest.raises(triton.CompilationError) as caught:
        compiled(kernel, *types, **constants)
    return caught.value


def triton_accepts(source: str, tmp_path: Any) -> None:
    """Triton's own parser and verifier take the text."""
    libtriton = pytest.importorskip("triton._C.libtriton", reason="Triton, the peer, is not installed")
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    file = tmp_path / "kernel.ttir"
    file.write_text(source)
    libtriton.ir.parse_mlir_module(str(file), context)
