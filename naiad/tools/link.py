"""`naiad link`, `python -m naiad.tools.link`: one function in C of the kernels that `naiad compile` wrote.

The command line, the names of the files and of the functions in them are those of Triton's tools/link.
"""

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from naiad.aot.errors import LinkerError

__all__ = ["LinkerError", "add_arguments", "link_kernels", "main", "run"]

HELP = "write the function that chooses among kernels compiled ahead of time"
DESCRIPTION = """
Writes OUT.h and OUT.c: a function that takes all arguments, and calls the kernel that was compiled for such. Kernels
that differ in constants or in warps are algorithms, which the last argument chooses by number; KERNEL_default takes
the first.

    naiad link add.*.h -o add
"""


def add_arguments(parser: ArgumentParser) -> None:
    """The description, the options, and `run` as what to do."""
    parser.description, parser.formatter_class = DESCRIPTION, RawDescriptionHelpFormatter
    parser.add_argument("headers", nargs="+", type=Path, help="headers that `naiad compile` wrote")
    parser.add_argument("--out", "-o", type=Path, required=True, help="what the names of files start with")
    parser.add_argument("--prefix", default="", help="what the names of the functions start with")
    parser.add_argument("--shared", action="store_true",
                        help="for the CPU, also build a shared library (.so) of it and all kernels")  # fmt: skip
    parser.set_defaults(action=run)


def link_kernels(headers: Sequence[Path], out: Path, prefix: str = "", shared: bool = False) -> list[Path]:
    """Writes the dispatcher; gives its files."""
    from naiad.aot.linker import link, read_variants

    texts = [path.read_text() for path in headers]
    files = link(texts, prefix).write(out)
    if shared:
        from naiad.aot.kernel import OBJECT_SUFFIX
        from naiad.aot.library import shared_library

        if any(variant.backend != "cpu" for text in texts for variant in read_variants(text)):
            raise LinkerError("--shared builds libraries for the CPU only")
        parts = [path.with_suffix(suffix) for path in headers for suffix in (".c", OBJECT_SUFFIX)]
        files.append(shared_library([files[1], *parts], out.with_suffix(".so")))
    return files


def run(namespace: Namespace) -> int:
    """The command: prints the files that it wrote, or what is wrong."""
    from naiad.errors import TritonError

    try:
        files = link_kernels(namespace.headers, namespace.out, namespace.prefix, namespace.shared)
    except (TritonError, OSError) as error:
        print(f"naiad link: {error}", file=sys.stderr)
        return 1
    print(*files, sep="\n")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="naiad link")
    add_arguments(parser)
    return run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
