"""The command `python -m naiad.tools.fuzz`: see the package."""

import argparse
import sys
import time
from collections import Counter

from naiad.tools.fuzz.compare import CPU, Machine
from naiad.tools.fuzz.generator import generate
from naiad.tools.fuzz.minimise import minimise
from naiad.tools.fuzz.worker import Worker, serve

FINE = "ok"


def main(arguments: list[str] | None = None, machine: Machine = CPU) -> int:
    """Exit status 1 where a kernel failed."""
    options = _parser(machine).parse_args(arguments)
    if options.worker:
        serve(sys.stdin, sys.stdout, machine)
        return 0
    worker = Worker(machine)
    try:
        if options.only is not None:
            return _one(worker, options.only, options.size, [int(n) for n in options.drop.split(",") if n])
        return _many(worker, options.seconds, options.seed, options.size)
    finally:
        worker.close()


def _parser(machine: Machine) -> argparse.ArgumentParser:
    says = f"Random kernels: interpreter against {machine.name}."
    parser = argparse.ArgumentParser(f"python -m {machine.module}", description=says)
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on (60)")
    parser.add_argument(
        "--seed", type=int, default=0, help="the first kernel's seed; the next have the next numbers (0)"
    )
    parser.add_argument("--size", type=int, default=20, help="about how many statements a kernel has (20)")
    parser.add_argument("--only", type=int, metavar="SEED", help="checks and prints this kernel only")
    parser.add_argument("--drop", default="", metavar="N,N", help="with --only: leaves these statements out")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser


def _one(worker: Worker, seed: int, size: int, dropped: list[int]) -> int:
    outcome = worker.check(seed, size, dropped)
    print(generate(seed, size).source(dropped))
    print(f"# {outcome.kind} {outcome.text}")
    return int(outcome.kind != FINE)


def _many(worker: Worker, seconds: float, seed: int, size: int) -> int:
    kinds: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        outcome = worker.check(seed, size)
        kinds[outcome.kind] += 1
        if outcome.kind != FINE:
            _report(worker, seed, size, outcome.kind)
        seed += 1
    print(f"{kinds.total()} kernels: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}; next seed {seed}")
    return int(kinds.total() != kinds[FINE])


def _report(worker: Worker, seed: int, size: int, kind: str) -> None:
    """Prints the failing kernel, shortened."""
    program = generate(seed, size)
    dropped = minimise(program, kind, lambda numbers: worker.check(seed, size, numbers))
    outcome = worker.check(seed, size, dropped)
    print(f"# seed {seed}: {outcome.kind} {outcome.text}")
    print(
        f"# python -m {worker.machine.module} --size {size} --only {seed} --drop {','.join(map(str, sorted(dropped)))}"
    )
    print(program.source(dropped), flush=True)


if __name__ == "__main__":
    sys.exit(main())
