"""`naiad compile`, `python -m naiad.tools.compile`: a kernel in a file of Python, ahead of time, as C.

The command line, the names of the files and of the functions in them are those of Triton's tools/compile.
"""

import importlib.util
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CompileArgs", "add_arguments", "compile_kernel", "main", "run"]

HELP = "compile a kernel ahead of time to C that needs no Python"
DESCRIPTION = """
Compiles the kernel NAME of the file PATH, which is run, for one signature, and writes a launcher in C:

    naiad compile kernels.py -n add -s "*fp32:16, *fp32:16, *fp32:16, i32, 1024" -g "(n + 1023) / 1024, 1, 1" -t cuda:90

writes add.HASH_SUFFIX.h and .c, with the machine code in it; for the CPU (-t cpu) the code is add.HASH_SUFFIX.kernel.o.
`naiad link` makes one function of several specialisations.
"""


@dataclass
class CompileArgs:
    """The command line."""

    path: str | Path = ""
    kernel_name: str = ""
    signature: str = ""
    grid: str = ""
    target: str | None = None
    num_warps: int = 1
    num_stages: int = 3
    num_ctas: int = 1
    out_name: str | None = None
    out_path: Path | None = None
    cpu: str | None = None
    shared: bool = False
    debug: bool = False


def add_arguments(parser: ArgumentParser) -> None:
    """The description, the options, and `run` as what to do."""
    parser.description, parser.formatter_class = DESCRIPTION, RawDescriptionHelpFormatter
    add = parser.add_argument
    add("path", help="a file of Python with the kernel; it is run")
    add("--kernel-name", "-n", required=True, metavar="NAME", help="the kernel")
    add("--signature", "-s", required=True,
        help='what each parameter is: a type, with :16 where every argument will be divisible by 16 and :1 where it '
        'will be 1, or the value of a constexpr: "*fp32:16, i32, 1024"')  # fmt: skip
    add("--grid", "-g", required=True, help='three expressions in C, of arguments and constants: "(n + 15) / 16, 1, 1"')
    add("--target", "-t", help="cuda:ARCH[:32], such as cuda:90, or cpu[:CPU]; default: what launches here run on")
    add("--cpu", help="the CPU to compile for: native (default: all that this one has), generic, x86-64-v3, ...")
    add("--num-warps", "-w", type=int, default=1, help="warps of a program (default 1)")
    add("--num-stages", "-ns", type=int, default=3, help="stages of pipelined loops (default 3)")
    add("--num-ctas", type=int, default=1, help="blocks of a cluster (default 1)")
    add("--out-name", "-on", help="what the names of functions start with (default: the kernel's name)")
    add("--out-path", "-o", type=Path, help="what the names of files start with (default: the functions' name)")
    add("--shared", action="store_true", help="for the CPU, also build a shared library (.so) with the C compiler")
    add("--debug", action="store_true", help="check device_assert and integer overflow")
    parser.set_defaults(action=run)


def compile_kernel(args: CompileArgs) -> tuple[str, list[Path]]:
    """Compiles, and writes the files: (the launcher's name in C, the files)."""
    from naiad.aot.errors import AotError
    from naiad.aot.kernel import compile, kernel_of, parse_target

    out_name = args.out_name or args.kernel_name
    out_path = args.out_path or Path(out_name)
    target = parse_target(target_text(args))
    if args.shared and target.backend != "cpu":
        raise AotError("--shared builds libraries for the CPU only", found=f"the target {target.backend}")
    kernel = kernel_of(load_kernel(Path(args.path), args.kernel_name))
    made = compile(kernel, args.signature, args.grid, target=target, out_name=out_name, num_warps=args.num_warps,
                   num_stages=args.num_stages, num_ctas=args.num_ctas, debug=args.debug)  # fmt: skip
    files = made.write(out_path)
    if args.shared:
        from naiad.aot.library import shared_library

        files.append(shared_library(files, out_path.with_suffix(f".{made.tag}.so")))
    if made.kind == "ptx":
        print("there is no ptxas: the launcher holds PTX, which the driver compiles when it is loaded", file=sys.stderr)
    return made.name, files


def target_text(args: CompileArgs) -> str | None:
    """--target and --cpu as one text."""
    from naiad.aot.errors import AotError

    if args.cpu is None:
        return args.target
    if args.target not in (None, "cpu"):
        raise AotError(f"--cpu {args.cpu} does not go with the target {args.target}", expected="--target cpu")
    return f"cpu:{args.cpu}"


def load_kernel(path: Path, name: str) -> Any:
    """Runs a file in which `import triton` means naiad, and gives what it calls `name`."""
    from naiad import compat
    from naiad.aot.errors import AotError

    if not path.is_file():
        raise AotError(f"there is no file {path}")
    compat.install()
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise AotError(f"{path} is no file of Python", expected="a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        kernels = [n for n, value in vars(module).items() if hasattr(value, "arg_names") and not n.startswith("_")]
        raise AotError(f"{path} has no kernel {name!r}", found=", ".join(kernels) or "no kernel")
    return getattr(module, name)


def run(namespace: Namespace) -> int:
    """The command: prints the files that it wrote, or what is wrong."""
    from naiad.errors import TritonError

    keywords = {name: value for name, value in vars(namespace).items() if name in CompileArgs.__dataclass_fields__}
    try:
        _, files = compile_kernel(CompileArgs(**keywords))
    except (TritonError, OSError) as error:
        print(f"naiad compile: {error}", file=sys.stderr)
        return 1
    print(*files, sep="\n")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="naiad compile")
    add_arguments(parser)
    return run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
