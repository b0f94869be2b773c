"""The command `naiad`: run a script under the drop-in, the demo, environment variables, the cache, kernels in C."""

import argparse
import os
import sys
from collections.abc import Sequence

from naiad.environment import SettingError
from naiad.tools import cache, env, link
from naiad.tools import compile as ahead_of_time


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
    env.add_arguments(commands.add_parser("env", help="every environment variable: value, default and meaning"))
    words = "the cache of compiled kernels: info, ls, why, clear, prune, export, import"
    cache.add_commands(commands.add_parser("cache", help=words))
    ahead_of_time.add_arguments(commands.add_parser("compile", help=ahead_of_time.HELP))
    link.add_arguments(commands.add_parser("link", help=link.HELP))
    args = parser.parse_args(arguments)
    if args.command == "run":  # a program sees to its own output
        return args.action(args)
    try:
        status: int = args.action(args)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads it has seen enough, as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except (OSError, SettingError) as error:  # a file that cannot be read or written, a variable that means nothing
        print(f"naiad {args.command}: {error}", file=sys.stderr)
        return 1
    return status


def _run(args: argparse.Namespace) -> int:
    from naiad import compat
    from naiad.tools import run

    compat.install(children=True)
    if missing := run.missing(args.script, args.module):
        print(f"naiad run: {missing}", file=sys.stderr)
        return 2
    (run.run_module if args.module else run.run_script)(args.script, args.args)
    return 0


def _demo(args: argparse.Namespace) -> int:
    from naiad.demo import main as demo

    return int(demo(args.args) or 0)


if __name__ == "__main__":
    sys.exit(main())
