"""The machine code of a cubin as text, by NVIDIA's cuobjdump (TRITON_CUOBJDUMP_PATH)."""

import functools
import subprocess
import tempfile

from naiad import knobs


def path_to_cuobjdump() -> tuple[str, str]:
    tool = knobs.nvidia.cuobjdump
    return tool.path, tool.version


@functools.lru_cache
def get_sass(cubin: bytes, fun: str | None = None) -> str:
    """The SASS of a cubin, of one function or all."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return extract(file.name, fun)


def extract(file_path: str, fun: str | None = None) -> str:
    """The SASS of a cubin in a file."""
    command = [path_to_cuobjdump()[0], "-sass", *(["-fun", fun] if fun else []), file_path]
    return subprocess.check_output(command).decode()
