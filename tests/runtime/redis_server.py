"""A redis server for tests, on loopback."""

import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest


class RedisServer:
    """A redis-server process that keeps nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        self.start()

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                   "--dir", str(self.folder)]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"redis-server does not listen on port {self.port}")

    def client(self) -> Any:
        import redis

        return redis.Redis(port=self.port, socket_timeout=5)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def redis_server(folder: Path) -> RedisServer:
    """A running server; the test is skipped where the program or the package is missing."""
    pytest.importorskip("redis", reason="needs the package redis (pip install redis)")
    if shutil.which("redis-server") is None:
        pytest.skip("needs the program redis-server (apt-get install redis-server)")
    return RedisServer(folder)


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
