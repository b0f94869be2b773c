"""What code for a GPU says of its kernel: name, parameters, threads. Of code that a user put in the place of ours.

PTX says it as text, a cubin in sections of its ELF file, an attribute a record.
Source: the output of `cuobjdump --dump-elf`, which names the records; LLVM text says it at its `define`.
"""

import re
import struct
from dataclasses import dataclass

__all__ = ["Entry", "entry_of"]


@dataclass(frozen=True)
class Entry:
    """A kernel. sizes: the bytes of each parameter; threads: those of a block, 0 where the code does not say."""

    name: str
    sizes: tuple[int, ...]
    threads: int = 0


def entry_of(stage: str, code: str | bytes) -> Entry | None:
    """The first kernel of a stage's code: llir, ptx, cubin, or PTX in the cubin's place. None where it has none."""
    if isinstance(code, bytes) and code.startswith(b"\x7fELF"):
        return _of_elf(code)
    text = code.decode(errors="replace") if isinstance(code, bytes) else code
    return _of_llvm(text) if stage == "llir" else _of_ptx(text)


def _of_ptx(text: str) -> Entry | None:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    head = re.search(r"\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?([^{]*)\{", text)
    if head is None:
        return None
    name, parameters, directives = head.groups()
    found = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)[^,\[]*(?:\[(\d+)\])?", parameters or "")
    threads = re.search(r"\.(?:req|max)ntid\s+(\d+)", directives)
    sizes = tuple(int(bits) // 8 * int(count or 1) for bits, count in found)
    return Entry(name, sizes, int(threads.group(1)) if threads else 0)


BYTES = {"i1": 1, "i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}


def _of_llvm(text: str) -> Entry | None:
    head = re.search(r"^define\s+ptx_kernel[^@]*@([\w.$]+)\((.*)\)[^()]*\{", text, re.MULTILINE)
    if head is None:
        return None
    types = [part.split()[0] for part in re.sub(r"\([^)]*\)|\[[^]]*\]", "", head.group(2)).split(",") if part.strip()]
    threads = re.search(r'"nvvm\.(?:req|max)ntid"="(\d+)', text)
    return Entry(head.group(1), tuple(BYTES.get(t, 8) for t in types), int(threads.group(1)) if threads else 0)


INFO = b".nv.info."
PARAMETER, BLOCK = 0x17, 0x10
"""Records: EIATTR_KPARAM_INFO (index, ordinal, offset, and the size above bit 18), EIATTR_REQNTID (x, y, z)."""


def _of_elf(code: bytes) -> Entry | None:
    sections = struct.unpack_from("<Q", code, 0x28)[0]
    each, count, names_at = struct.unpack_from("<HHH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", code, sections + i * each) for i in range(count)]
    names = headers[names_at][4]
    for name, _, _, _, start, size in headers:
        at = names + name
        word = code[at : code.index(b"\0", at)]
        if word.startswith(INFO):
            return _of_records(word[len(INFO) :].decode(), code[start : start + size])
    return None


def _of_records(name: str, data: bytes) -> Entry:
    """Records: how they are written, which one it is, and two bytes: its value, or (4) the size of what follows."""
    sizes: dict[int, int] = {}
    threads = at = 0
    while at + 4 <= len(data):
        form, which, value = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == 4 and which == PARAMETER:
            _, ordinal, _, packed = struct.unpack_from("<IHHI", data, at)
            sizes[ordinal] = packed >> 18
        elif form == 4 and which == BLOCK:
            x, y, z = struct.unpack_from("<III", data, at)
            threads = x * y * z
        at += value if form == 4 else 0
    return Entry(name, tuple(sizes[i] for i in sorted(sizes)), threads)
