"""Loads a relocatable ELF object (x86-64, aarch64) into this process in pure Python, in about 0.1 ms.

Reads the bytes that the toolchain emitted (position independent, small code model), leaves code that can be called. The
sections go into one mapping of three parts, each with its own protection: code and stubs (read, execute), constants and
the table of addresses (read), data (read, write). An undefined symbol is looked up in the process and the C libraries;
a call to one goes through a stub, since the library may be further away than 2 GB.

Source: System V ABI, generic part, chapter 4.
"""

import ctypes
import functools
import mmap
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import NamedTuple

from naiad.backends.cpu import elf_aarch64, elf_x86_64
from naiad.backends.cpu.symbols import LoadError, process_symbol
from naiad.backends.cpu.system import elf_machine

SYMTAB, RELA, NOBITS, UNWIND = 2, 4, 8, 0x70000001
CONSTRUCTORS = (14, 15, 16)  # .init_array, .fini_array, .preinit_array
WRITE, ALLOC, EXECUTE, TLS = 1, 2, 4, 0x400
UNDEFINED, RESERVED, ABSOLUTE, COMMON = 0, 0xFF00, 0xFFF1, 0xFFF2
WEAK, THREAD_LOCAL_SYMBOL, INDIRECT_FUNCTION = 2, 6, 10
MACHINES: dict[int, ModuleType] = {62: elf_x86_64, 183: elf_aarch64}
MAP_32BIT = 0x40
CODE, CONSTANTS, DATA = range(3)
READ_EXECUTE, READ = mmap.PROT_READ | mmap.PROT_EXEC, mmap.PROT_READ


class Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


class Relocation(NamedTuple):
    section: int  # that is patched
    offset: int  # in it
    kind: int
    symbol: int
    addend: int


@dataclass(frozen=True)
class Image:
    """Loaded code: the addresses of its global symbols. The memory lives as long as this value."""

    symbols: dict[str, int]
    memory: object = field(repr=False, compare=False)

    def address(self, name: str) -> int:
        """The address of the global symbol `name`. LoadError if the object defines none of that name."""
        if name not in self.symbols:
            raise LoadError(f"the object defines no {name!r}; it defines {', '.join(self.symbols) or 'nothing'}")
        return self.symbols[name]


def load(obj: bytes, resolve: Callable[[str], int] = process_symbol, machine: int | None = None) -> Image:
    """The object's code, ready to be called. `resolve` gives the address of an undefined symbol of a name.

    `machine` is the e_machine that the object must have, this process's by default. Raises LoadError.
    """
    try:
        link = Link(obj, resolve)
        if link.machine != (elf_machine() if machine is None else machine):
            raise LoadError(f"the object is for ELF machine {link.machine}, not for this process")
        return link.run()
    except (struct.error, IndexError, ValueError, OverflowError, OSError) as error:
        raise LoadError(f"damaged object of {len(obj)} bytes: {error}") from error


class Link:
    """One object on its way into memory: its sections are placed, filled, relocated, protected."""

    def __init__(self, obj: bytes, resolve: Callable[[str], int]):
        if obj[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", obj, 16)[0] != 1:
            raise LoadError("not a relocatable 64-bit little-endian ELF object")
        (self.machine,) = struct.unpack_from("<H", obj, 18)
        if self.machine not in MACHINES:
            raise LoadError(f"no relocations are known for ELF machine {self.machine}")
        self.obj, self.resolve, self.arch = obj, resolve, MACHINES[self.machine]
        (start,) = struct.unpack_from("<Q", obj, 40)
        _, count = struct.unpack_from("<HH", obj, 58)
        rows = struct.iter_unpack("<IIQQQQIIQQ", self.piece(start, 64 * count))
        self.sections = [Section._make(row) for row in rows]
        (strings,) = struct.unpack_from("<H", obj, 62)
        titles = self.sections[strings]
        self.titles = self.piece(titles.offset, titles.size)
        self.symbols, self.names = self.symbol_table()
        self.place: dict[int, int] = {}  # section -> its offset in memory
        self.slots: dict[int, int] = {}  # symbol -> offset of its address in the table
        self.stubs: dict[int, int] = {}  # symbol -> offset of its stub
        self.common: dict[int, int] = {}  # symbol without a section -> offset of its data
        self.resolved: dict[int, int] = {}

    def piece(self, start: int, size: int) -> bytes:
        data = self.obj[start : start + size]
        if len(data) != size:
            raise LoadError(f"damaged object: {size} bytes at {start} are beyond its end")
        return data

    def symbol_table(self) -> tuple[list[Symbol], bytes]:
        """The symbols and the zero-terminated names that they index."""
        for section in self.sections:
            if section.kind == SYMTAB:
                rows = struct.iter_unpack("<IBBHQQ", self.piece(section.offset, section.size))
                names = self.sections[section.link]
                return [Symbol._make(row) for row in rows], self.piece(names.offset, names.size)
        return [], b""

    def title(self, section: Section) -> str:
        return self.titles[section.name : self.titles.index(b"\0", section.name)].decode(errors="replace")

    def name(self, symbol: Symbol) -> str:
        return self.names[symbol.name : self.names.index(b"\0", symbol.name)].decode(errors="replace")

    def run(self) -> Image:
        relocations = self.relocations()
        code, constants, size = self.lay_out(relocations)
        low = MAP_32BIT if any(r.kind in self.arch.LOW_MEMORY for r in relocations) else 0
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | low
        self.memory = mmap.mmap(-1, size, flags, mmap.PROT_READ | mmap.PROT_WRITE)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.fill(relocations)
        protect(self.base, code, READ_EXECUTE)
        protect(self.base + code, constants - code, READ)
        if self.machine == 183 and elf_machine() == 183:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(process_symbol("__clear_cache"))(
                self.base, self.base + code
            )
        place, base = self.place, self.base
        defined = [s for s in self.symbols if s.info >> 4 and s.section in place]
        return Image({self.name(s): base + place[s.section] + s.value for s in defined}, self.memory)

    def relocations(self) -> list[Relocation]:
        """The relocations of the sections that are loaded. LoadError for what is not supported."""
        found = []
        for section in self.sections:
            if section.kind in CONSTRUCTORS or self.title(section).startswith((".ctors", ".dtors")):
                raise LoadError("the object has constructors or destructors, which are not run")
            if section.flags & TLS:
                raise LoadError("the object has thread-local data, which is not supported")
            if section.kind == RELA and is_loaded(self.sections[section.info]):
                for offset, info, addend in struct.iter_unpack("<QQq", self.piece(section.offset, section.size)):
                    found.append(Relocation(section.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
        if any(r.kind in self.arch.THREAD_LOCAL for r in found):
            raise LoadError("the object uses thread-local variables, which are not supported")
        return found

    def lay_out(self, relocations: list[Relocation]) -> tuple[int, int, int]:
        """Places sections, stubs and the table; gives where code, constants and data end, each a multiple of a page."""
        at = self.pack(0, CODE)
        at = -(-at // 16) * 16
        for r in relocations:
            if r.kind in self.arch.STUB and self.symbols[r.symbol].section == UNDEFINED and r.symbol not in self.stubs:
                self.stubs[r.symbol] = at
                at += self.arch.STUB_BYTES
        code = whole_pages(at)
        at = self.pack(code, CONSTANTS)
        at = -(-at // 8) * 8
        for r in relocations:
            if r.kind in self.arch.GOT and r.symbol not in self.slots:
                self.slots[r.symbol] = at
                at += 8
        constants = whole_pages(at)
        at = self.pack(constants, DATA)
        for index, symbol in enumerate(self.symbols):
            if symbol.section == COMMON:  # its value is its alignment
                self.common[index] = -(-at // max(symbol.value, 1)) * max(symbol.value, 1)
                at = self.common[index] + symbol.size
        return code, constants, max(whole_pages(at), mmap.PAGESIZE)

    def part(self, section: Section) -> int:
        """Which part of memory the section goes to. Constants with relocations are flagged as data, and are not."""
        if section.flags & EXECUTE:
            return CODE
        return DATA if section.flags & WRITE and not self.title(section).startswith(".data.rel.ro") else CONSTANTS

    def pack(self, at: int, part: int) -> int:
        """Places the loaded sections of `part` from `at` on; gives where they end."""
        for index, section in enumerate(self.sections):
            if is_loaded(section) and self.part(section) == part:
                align = max(section.align, 1)
                self.place[index] = -(-at // align) * align
                at = self.place[index] + section.size
        return at

    def fill(self, relocations: list[Relocation]) -> None:
        """Copies the sections, writes stubs and table, patches what the relocations say."""
        memory, base = self.memory, self.base
        for index, at in self.place.items():
            section = self.sections[index]
            if section.kind != NOBITS:
                memory[at : at + section.size] = self.piece(section.offset, section.size)
        for index, at in self.stubs.items():
            memory[at : at + self.arch.STUB_BYTES] = self.arch.stub(self.value(index))
        for index, at in self.slots.items():
            struct.pack_into("<Q", memory, at, self.value(index))
        patch, got = self.arch.patch, self.arch.GOT
        for r in relocations:
            if r.offset + 4 > self.sections[r.section].size:
                raise LoadError(f"damaged object: a relocation at {r.offset} is outside its section")
            at = self.place[r.section] + r.offset
            if r.kind in got:
                target = base + self.slots[r.symbol]
            elif r.kind in self.arch.STUB and r.symbol in self.stubs:
                target = base + self.stubs[r.symbol]
            else:
                target = self.value(r.symbol)
            patch(memory, at, r.kind, target + r.addend, base + at)

    def value(self, index: int) -> int:
        """The address of the symbol: in this object, or in the process."""
        if index not in self.resolved:
            self.resolved[index] = self.find(self.symbols[index], index)
        return self.resolved[index]

    def find(self, symbol: Symbol, index: int) -> int:
        if symbol.info & 15 in (THREAD_LOCAL_SYMBOL, INDIRECT_FUNCTION):
            raise LoadError(f"symbol {self.name(symbol)!r} is thread-local or chosen at load, which is not supported")
        if symbol.section in self.place:
            return self.base + self.place[symbol.section] + symbol.value
        if symbol.section == ABSOLUTE:
            return symbol.value
        if symbol.section == COMMON:
            return self.base + self.common[index]
        if symbol.section != UNDEFINED:
            raise LoadError(f"symbol {self.name(symbol)!r} is in section {symbol.section}, which is not loaded")
        try:
            return self.resolve(self.name(symbol))
        except LoadError:
            if symbol.info >> 4 == WEAK:
                return 0
            raise


def is_loaded(section: Section) -> bool:
    """Whether the section takes memory; tables for unwinding are left out, nothing here is unwound."""
    return bool(section.flags & ALLOC) and section.size > 0 and section.kind not in (RELA, UNWIND)


def whole_pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


@functools.cache
def system_mprotect() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return function


def protect(address: int, size: int, protection: int) -> None:
    if size and system_mprotect()(address, size, protection):
        raise LoadError(f"the system does not let this process make code executable: {os.strerror(ctypes.get_errno())}")
