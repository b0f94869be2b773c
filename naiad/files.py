"""Files that are whole or not there, though many processes write them, and any may be killed or find the disk full."""

import contextlib
import os

__all__ = ["LEFTOVER", "write_whole"]

LEFTOVER = ".tmp"
"""How the names of files end that were being written, and whose writer was killed."""


def write_whole(path: str, data: bytes, lasting: bool = False) -> None:
    """Writes the file aside and renames it: a reader sees all of it or what was there before. Makes its folder.

    lasting: waits for the disk, so that the file is whole after a power cut too. OSError where the disk refuses; then
    nothing of it stays.
    """
    aside = f"{path}.{os.getpid()}.{os.urandom(4).hex()}{LEFTOVER}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(aside, "xb") as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(aside)
        raise
