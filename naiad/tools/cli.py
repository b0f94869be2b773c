"""The command `naiad`: run a script under the drop-in, the demo, environment variables, the cache, kernels in C."""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from naiad import knobs
from naiad.tools import compile as ahead_of_time
from naiad.tools import link


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; gives the exit status."""
    parser = argparse.ArgumentParser(prog="naiad", description="A tile compiler in Python with Triton's language.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a script (or -m module) in which `import triton` means naiad")
    run.add_argument("-m", dest="module", action="store_true", help="the script is the name of a module")
    run.add_argument("script")
    run.add_argument("args", nargs=argparse.REMAINDER)
    run.set_defaults(action=_run)
    demo = commands.add_parser("demo", help="compile, check and time six kernels on this machine", add_help=False)
    demo.add_argument("args", nargs=argparse.REMAINDER)
    demo.set_defaults(action=_demo)
    commands.add_parser("env", help="every environment variable: value and meaning").set_defaults(action=_env)
    cache = commands.add_parser("cache", help="the cache of compiled kernels: info, ls, clear")
    cache.add_argument("what", choices=sorted(CACHE), nargs="?", default="info")
    cache.set_defaults(action=lambda args: CACHE[args.what]())
    ahead_of_time.add_arguments(commands.add_parser("compile", help=ahead_of_time.HELP))
    link.add_arguments(commands.add_parser("link", help=link.HELP))
    args = parser.parse_args(arguments)
    return args.action(args)


def _run(args: argparse.Namespace) -> int:
    from naiad import compat
    from naiad.tools import run

    compat.install(children=True)
    if args.module:
        run.run_module(args.script, args.args)
    elif not Path(args.script).exists():
        print(
            f"naiad run: there is no file {args.script}; for a module say `naiad run -m {args.script}`", file=sys.stderr
        )
        return 2
    else:
        run.run_script(args.script, args.args)
    return 0


def _demo(args: argparse.Namespace) -> int:
    from naiad.demo import main as demo

    return int(demo(args.args) or 0)


def _env(args: argparse.Namespace) -> int:
    """One line a variable: name, type, value (* where it is not the default), meaning."""
    for name, group in knobs.groups().items():
        print(f"{name}:")
        for field, knob in group.knob_descriptors.items():
            try:
                value = getattr(group, field)
                shown, mark = repr(value), " " if value == knob.fallback() else "*"
            except RuntimeError as error:
                shown, mark = f"({error})", " "
            print(f"  {mark} {knob.key:<38} {knob.type_name:<12} {knob.doc}\n      {shown}")
    return 0


def _entries() -> list[Path]:
    return sorted(Path(knobs.cache.dir).glob("*.naiad"), key=lambda path: path.stat().st_mtime)


def _info() -> int:
    files = _entries()
    size = sum(path.stat().st_size for path in files)
    print(f"folder   {knobs.cache.dir}\nkernels  {len(files)}\nsize     {size / 2**20:.1f} MiB")
    return 0


def _ls() -> int:
    """A line an entry: when it was written, bytes, target, name."""
    from naiad.compiler.store import decode

    for path in _entries():
        facts = path.stat()
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.st_mtime))
        try:
            metadata = decode(path.read_bytes()).metadata
            target = metadata.get("target", {})
            what = f"{target.get('backend', '-')}:{target.get('arch', '-')}  {metadata['name']}"
        except (ValueError, KeyError, json.JSONDecodeError) as error:
            what = f"damaged: {error}"
        print(f"{when}  {facts.st_size:>9}  {path.stem[:12]}  {what}")
    return 0


def _clear() -> int:
    """Deletes the entries, what killed writers left, and the folders of cache managers."""
    root, count = Path(knobs.cache.dir), 0
    for path in root.glob("*") if root.is_dir() else ():
        if path.suffix in (".naiad", ".tmp", ".obj"):
            path.unlink(missing_ok=True)
            count += 1
        elif path.is_dir() and any(path.glob("*.json")):
            shutil.rmtree(path, ignore_errors=True)
            count += 1
    print(f"{count} entries deleted from {root}")
    return 0


CACHE: dict[str, Callable[[], int]] = {"info": _info, "ls": _ls, "clear": _clear}

if __name__ == "__main__":
    sys.exit(main())
