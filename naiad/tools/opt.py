"""naiad-opt: passes on the text of a module.

naiad-opt k.ttir -p 'tt-combine,cse'            one pass after the other; `pass{option=value}` sets a field
naiad-opt k.ttir -p ttir                        a whole pipeline: ttir, ttir-pointers
naiad-opt - --print-between --timing -p licm    reads stdin, prints the module after each pass, and the milliseconds
naiad-opt --list
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, TextIO

from xdsl.context import Context
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import ParseError

from naiad.ir.check import LEGAL, IRError, check
from naiad.ir.text import parse, print_module
from naiad.passes.common.canonicalize import Canonicalize
from naiad.passes.common.cse import CommonSubexpressions
from naiad.passes.common.dce import DeadCode
from naiad.passes.common.fold import Fold
from naiad.passes.common.inline import Inline
from naiad.passes.common.licm import HoistInvariants
from naiad.passes.common.unroll import Unroll
from naiad.passes.pipeline import Pipeline
from naiad.passes.ttir import POINTERS, TTIR
from naiad.passes.ttir.broadcast import ReorderBroadcast
from naiad.passes.ttir.combine import Combine
from naiad.passes.ttir.descriptors import RewriteDescriptors
from naiad.passes.ttir.scaled_dot import DecomposeScaledDot
from naiad.passes.ttir.uniform_carries import UniformCarries

__all__ = ["main", "passes_of"]

PASSES: tuple[type[ModulePass], ...] = (
    Inline, DeadCode, Combine, Canonicalize, Fold, ReorderBroadcast, CommonSubexpressions, HoistInvariants, Unroll,
    RewriteDescriptors, DecomposeScaledDot, UniformCarries)  # fmt: skip
PIPELINES: dict[str, Pipeline] = {p.name: p for p in (TTIR, POINTERS)}
BY_NAME: dict[str, type[ModulePass]] = {p.name: p for p in PASSES}


def passes_of(spec: str) -> list[ModulePass]:
    """The passes that a list of names asks for. Raises ValueError for a name or an option that there is not."""
    found: list[ModulePass] = []
    for name, options in _items(spec):
        if name in PIPELINES and not options:
            found += PIPELINES[name].passes
        elif name in BY_NAME:
            found.append(_made(BY_NAME[name], options))
        else:
            raise ValueError(f"no pass {name!r}; there are {', '.join(sorted([*BY_NAME, *PIPELINES]))}")
    return found


def _items(spec: str) -> Iterator[tuple[str, str]]:
    """`a,b{x=1,y=2}` as ("a", ""), ("b", "x=1,y=2")."""
    depth, start = 0, 0
    for n, letter in enumerate(f"{spec},"):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and not depth:
            name, _, options = spec[start:n].strip().partition("{")
            if name:
                yield name.strip(), options.removesuffix("}")
            start = n + 1


def _made(kind: type[ModulePass], options: str) -> ModulePass:
    types = {f.name: f.type for f in fields(kind)}
    given: dict[str, Any] = {}
    for item in filter(None, options.split(",")):
        key, _, value = item.partition("=")
        name = key.strip().replace("-", "_")
        if name not in types:
            raise ValueError(f"pass {kind.name} has no option {key.strip()!r}")
        given[name] = _value(types[name], value.strip())
    return kind(**given)


def _value(type_: Any, text: str) -> Any:
    readers: dict[Any, Callable[[str], Any]] = {bool: lambda t: t in ("true", "1", ""), int: int, str: str}
    return readers.get({"bool": bool, "int": int, "str": str}.get(type_, type_), str)(text)


def main(arguments: Sequence[str] | None = None, out: TextIO = sys.stdout, err: TextIO = sys.stderr) -> int:
    """The command; gives its exit status."""
    options = _parser().parse_args(arguments)
    if options.list:
        out.writelines(f"{p.name:24s} {(p.__doc__ or '').strip().splitlines()[0]}\n" for p in PASSES)
        out.writelines(f"{name:24s} {', '.join(p.names)}\n" for name, p in PIPELINES.items())
        return 0
    try:
        _run(options, out, err)
    except (OSError, ValueError, IRError, ParseError, RuntimeError) as error:
        err.write(f"naiad-opt: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("naiad-opt", description="Runs passes on the text of a module.")
    parser.add_argument("file", nargs="?", default="-", help="a file with ttir or ttgir; - is stdin")
    parser.add_argument("-p", "--passes", default="", help="names of passes or pipelines, with commas")
    parser.add_argument("--stage", default="", choices=["", *LEGAL], help="check what is legal at this stage")
    parser.add_argument("--print-between", action="store_true", help="print the module after each pass")
    parser.add_argument("--timing", action="store_true", help="milliseconds of each pass, on stderr")
    parser.add_argument("--locations", action="store_true", help="print locations")
    parser.add_argument("--no-check", action="store_true", help="do not check the module after each pass")
    parser.add_argument("--list", action="store_true", help="list passes and pipelines")
    return parser


def _run(options: argparse.Namespace, out: TextIO, err: TextIO) -> None:
    text = sys.stdin.read() if options.file == "-" else open(options.file).read()  # noqa: SIM115
    module, passes = parse(text), passes_of(options.passes)
    if not options.no_check:
        check(module, options.stage)
    for p in passes:
        start = time.perf_counter()
        p.apply(Context(), module)
        if options.timing:
            err.write(f"{p.name:24s} {(time.perf_counter() - start) * 1e3:8.2f} ms\n")
        if options.print_between:
            out.write(f"// after {p.name}\n{print_module(module, options.locations)}")
        if not options.no_check:
            check(module, options.stage)
    if not options.print_between:
        out.write(print_module(module, options.locations))


if __name__ == "__main__":
    sys.exit(main())
