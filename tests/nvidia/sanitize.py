"""compute-sanitizer on the examples, on a machine with a GPU: `python -m tests.nvidia.sanitize [seconds]`.

Runs each example under memcheck and racecheck, at sizes that no tile divides, each in a process of its own; prints
one line for each and exits with 1 where something was found. `python -m tests.nvidia.sanitize --only NAME` is what
such a process does: the example on the GPU, compared with float64.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from examples import dropout, flash_attention, layer_norm, matmul, softmax, vector_add

TOOLS = ("memcheck", "racecheck")
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+)|RACECHECK SUMMARY: (\d+)")


def _gpu(*shape: int, dtype: str = "float32") -> Any:
    import torch

    return torch.randn(*shape, device="cuda").to(getattr(torch, dtype))


def _vector_add() -> tuple[Any, Any]:
    x, y = _gpu(10_007), _gpu(10_007)
    return vector_add.add(x, y, x * float("nan")), x.double() + y.double()


def _softmax() -> tuple[Any, Any]:
    x = _gpu(13, 781)
    return softmax.softmax(x, x * float("nan")), x.double().softmax(1)


def _layer_norm() -> tuple[Any, Any]:
    import torch

    x, weight, bias = _gpu(13, 781), _gpu(781), _gpu(781)
    want = torch.nn.functional.layer_norm(x.double(), (781,), weight.double(), bias.double(), 1e-5)
    return layer_norm.layer_norm(x, weight, bias, x * float("nan"), 1e-5), want


def _matmul(dtype: str = "float32") -> tuple[Any, Any]:
    a, b = _gpu(300, 200, dtype=dtype), _gpu(200, 170, dtype=dtype)
    return matmul.matmul(a, b, _gpu(300, 170, dtype=dtype) * float("nan")), a.double() @ b.double()


def _attention(dtype: str = "float32") -> tuple[Any, Any]:
    q, k, v = (_gpu(2, 200, 64, dtype=dtype) for _ in range(3))
    want = (q.double() @ k.double().mT * 0.125).softmax(-1) @ v.double()
    return flash_attention.attention(q, k, v, q * float("nan"), 0.125), want


def _dropout() -> tuple[Any, Any]:
    import torch

    x = _gpu(10_007)
    want = torch.from_numpy(dropout.reference(x.cpu().numpy(), 0.25, 123)).cuda()
    return dropout.dropout(x, x * float("nan"), 0.25, 123), want


CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "vector_add": _vector_add,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "matmul": _matmul,
    "matmul_f16": lambda: _matmul("float16"),
    "flash_attention": _attention,
    "flash_attention_f16": lambda: _attention("float16"),
    "dropout": _dropout,
}


def only(name: str) -> None:
    """Runs one example and compares it."""
    got, want = CASES[name]()
    error = float((got.double() - want).norm() / want.norm())
    assert error < 2e-3, f"{name}: relative error {error}"
    print(f"{name}: right")


def sanitized(tool: str, name: str, limit: float) -> tuple[bool, str]:
    """Whether `tool` found nothing in the example, and a line that says what it said."""
    command = ["compute-sanitizer", "--tool", tool, sys.executable, "-m", "tests.nvidia.sanitize", "--only", name]
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return False, f"{tool:10} {name:20} took more than {limit:.0f} s"
    found = SUMMARY.search(done.stdout)
    clean = done.returncode == 0 and found is not None and set(found.groups()) <= {"0", None}
    said = found.group(0) if found else (done.stdout + done.stderr)[-300:]
    right = "right" if f"{name}: right" in done.stdout else "WRONG"
    return clean and right == "right", f"{tool:10} {name:20} {right}  {said}"


def main(limit: float) -> int:
    pairs = [(tool, name) for tool in TOOLS for name in CASES]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda pair: sanitized(*pair, limit), pairs))
    print("\n".join(line for _, line in results))
    return 0 if all(clean for clean, _ in results) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--only"]:
        only(sys.argv[2])
    else:
        sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else 120.0))
