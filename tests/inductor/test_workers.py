"""Inductor's compile workers, which are processes of their own, compile through naiad too."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parent.parent.parent)
PROGRAM = """
    import naiad.compat

    if __name__ == "__main__":
        naiad.compat.install()
        import torch
        from torch._inductor import config
        from torch._inductor.async_compile import AsyncCompile

        from naiad import knobs

        here = []
        knobs.compilation.listener = lambda **facts: here.append(facts)
        config.cpu_backend, config.compile_threads = "triton", 2
        AsyncCompile.wait_pool_ready()
        assert AsyncCompile.use_process_pool()
        f = torch.compile(lambda x, y: (x.softmax(-1) + y, (x * y).sum(0)), dynamic=False)
        x = torch.randn(40, 90)
        for got, expected in zip(f(x, x), (x.softmax(-1) + x, (x * x).sum(0))):
            torch.testing.assert_close(got, expected)
        print("compiled here:", len(here), flush=True)
        import os

        os._exit(0)  # torch takes seconds to end in order
"""


@pytest.mark.slow
def test_compile_workers(tmp_path):
    pytest.importorskip("torch", reason="torch.compile is what is tested")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(PROGRAM))
    folders = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"), "TRITON_CACHE_DIR": str(tmp_path / "kernels")}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env={**os.environ, **folders, "PYTHONPATH": ROOT}
    )
    assert done.stdout.split() == ["compiled", "here:", "0"], done.stderr[-3000:]
