"""The process that compiles, one for all tests of a session: importing Inductor takes longer than most cases."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).parent.parent.parent


class Worker:
    """Runs cases by name; is started again after one that ended it."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "worker.txt"
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
            "TRITON_CACHE_DIR": str(folder / "kernels"),
        }
        self.process: subprocess.Popen[str] | None = None

    def run(self, name: str) -> dict[str, Any]:
        """What the worker says of a case."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        start = self.log.stat().st_size
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        if line := process.stdout.readline():
            return dict(json.loads(line), log=self.log.read_text()[start:])
        status = process.wait()
        return {"ok": False, "error": f"the worker ended with status {status}: {self.log.read_text()[start:][-3000:]}"}

    def _running(self) -> "subprocess.Popen[str]":
        if self.process is None or self.process.poll() is not None:
            log: IO[str] = self.log.open("a")
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.inductor.worker"],
                **dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log),
                **dict(text=True, cwd=ROOT, env=self.environment),
            )
        return self.process

    def stop(self) -> None:
        if self.process is not None:
            self.process.communicate(timeout=60)


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    pytest.importorskip("torch", reason="torch.compile is what is tested")
    found = Worker(tmp_path_factory.mktemp("inductor"))
    yield found
    found.stop()
