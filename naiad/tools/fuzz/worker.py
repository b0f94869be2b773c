"""A process that checks kernels, so that one that crashes or hangs is a finding and not the end of the run."""

import json
import select
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from naiad.tools.fuzz.compare import Machine, Outcome, check
from naiad.tools.fuzz.generator import generate

SECONDS = 120.0
"""How long one kernel may take."""


class Worker:
    """Checks one kernel at a time in another process, which is started again where it ended."""

    def __init__(self, machine: Machine, seconds: float = SECONDS) -> None:
        self.machine, self.seconds = machine, seconds
        self._process: subprocess.Popen[str] | None = None

    def check(self, seed: int, size: int, dropped: Iterable[int] = ()) -> Outcome:
        """The outcome of the kernel without the statements `dropped`; "crash" and "hang" are kinds of it too."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([seed, size, sorted(dropped)]) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], self.seconds)[0]:
            self.close()
            return Outcome("hang", f"no answer in {self.seconds:.0f} s")
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self._process = None
            return Outcome("crash", f"the process ended with code {code}")
        return Outcome(*json.loads(line))

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None:
            command = [sys.executable, "-m", self.machine.module, "--worker"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self._process


def serve(questions: Any, answers: Any, machine: Machine) -> None:
    """The other side: a kernel a line in, an outcome a line out."""
    for line in questions:
        seed, size, dropped = json.loads(line)
        outcome = check(generate(seed, size), frozenset(dropped), machine)
        answers.write(json.dumps([outcome.kind, outcome.text]) + "\n")
        answers.flush()
