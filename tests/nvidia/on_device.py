"""What is run on a machine with a GPU, in one go: `OUT=folder python -m tests.nvidia.on_device [only-substring]`.

Runs the GPU tests and the side-by-side benchmark, each case in a process of its own with a time limit, and writes
`$OUT/tests.txt`, `$OUT/bench.jsonl` and `$OUT/table.txt`. BENCH names the folder of the benchmark (default
shared/bench), SECONDS_LEFT the time that all may take."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

OUT = Path(os.environ.get("OUT", "out"))
BENCH = Path(os.environ.get("BENCH", "shared/bench"))
END = time.monotonic() + float(os.environ.get("SECONDS_LEFT", "450"))
FILES = ("tests/nvidia/test_gpu.py", "tests/nvidia/test_gpu_more.py", "tests/nvidia/test_gpu_launch.py")
HOOK = "import naiad.compat; naiad.compat.install()"
ROWS = [
    "vector_add",
    "softmax",
    "layernorm",
    "cumsum",
    "transpose",
    "dropout",
    "sort",
    "matmul_f16_4096",
    "matmul_f16_8192",
    "matmul_f16_odd",
    "matmul_bf16_8192",
    "matmul_f32_4096",
    "matmul_f8_4096",
    "flash_fwd_d64_full",
    "flash_fwd_d64_causal",
    "flash_fwd_d128",
    "launch",
    "matmul_tma",
]


def left(most: float) -> float:
    """The seconds that a step may take."""
    return max(1.0, min(most, END - time.monotonic()))


def run(command: list[str], limit: float, **environment: str) -> tuple[int, str]:
    """(exit status, output); 124 where it took too long."""
    path = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=left(limit), env=environment, check=False
        )
    except subprocess.TimeoutExpired as error:
        return 124, (error.stdout or b"").decode() if isinstance(error.stdout, bytes) else error.stdout or ""
    return done.returncode, done.stdout + done.stderr


def tests(only: str) -> None:
    """The GPU tests: all in one process, and where that dies or takes too long, each function in its own."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "gpu", "-rf"]
    code, text = run([*command, "-k", only or "test", *FILES], 170)
    (OUT / "tests.txt").write_text(text)
    print(text[-3000:], flush=True)
    if code in (0, 1) and "illegal memory access" not in text and "unspecified launch failure" not in text:
        return
    lines = []
    for name in collected():
        if only in name and END - time.monotonic() > 200:
            code, text = run([*command, "-x", name], 60)
            last = text.strip().splitlines()[-1] if text.strip() else "nothing printed"
            lines.append(f"{'ok  ' if code == 0 else 'FAIL'} {name}: {last}")
            if code:
                (OUT / (name.split("::")[-1] + ".log")).write_text(text[-6000:])
            print(lines[-1], flush=True)
    (OUT / "tests_one_by_one.txt").write_text("\n".join(lines) + "\n")


def collected() -> list[str]:
    """The functions of the GPU tests."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-o",
        "addopts=",
        "-q",
        "--collect-only",
        "-m",
        "gpu",
        *FILES,
    ]
    _, text = run(command, 60)
    found = [line.split("[")[0] for line in text.splitlines() if "::" in line]
    return list(dict.fromkeys(found))


def bench(only: str) -> None:
    """Rows of the benchmark: naiad's in a process each, then Triton's in one, so that none is lost with another."""
    rows = []
    for name in ROWS:
        if only in name:
            late = [{"label": "naiad", "name": name, "error": "not run: no time was left"}]
            rows += measured("naiad", HOOK, name, 45) if END - time.monotonic() > 130 else late
    if only in "launch_cost":
        for label, hook in (("naiad", HOOK), ("triton", "")):
            rows += measured(label, hook, "launch_cost", 45, Path("tests/nvidia/launch_cost.py"))
    rows += measured("triton", "", only, END - time.monotonic() - 5)
    (OUT / "table.txt").write_text(table(rows))
    print(table(rows), flush=True)


def measured(label: str, hook: str, name: str, limit: float, script: Path = BENCH / "gpu.py") -> list[dict]:
    """The JSON lines of a run of the benchmark; a line with the error where there are none."""
    command = [sys.executable, str(script), label, name]
    code, text = run(command, limit, IMPL_HOOK=hook)
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    found = found or [{"label": label, "name": name, "error": f"exit {code}: {text.strip()[-300:]}"}]
    with (OUT / "bench.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in found)
    return found


def table(rows: list[dict]) -> str:
    """A line per row of the benchmark: both implementations and the ratio."""
    names = dict.fromkeys(r["name"] for r in rows)
    lines = [f"{'':32} {'naiad':>12} {'triton':>12} {'ratio':>7}  error"]
    for name in names:
        found = {r["label"]: r for r in rows if r["name"] == name}
        times = [found.get(label, {}).get("ms") or found.get(label, {}).get("us") for label in ("naiad", "triton")]
        ratio = f"{times[1] / times[0]:7.2f}" if all(times) else "      -"
        shown = [f"{t:12.4f}" if t else "           -" for t in times]
        mine = found.get("naiad", {})
        lines.append(f"{name:32} {shown[0]} {shown[1]} {ratio}  {mine.get('error', mine.get('err', ''))}"[:160])
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    tests(wanted)
    bench(wanted)
