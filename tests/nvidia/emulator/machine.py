"""Memory, threads and control flow of the PTX interpreter."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

PREDICATE = re.compile(r"^@(!?)(%p\d+)\s+(.*)$")


class EmulationError(Exception):
    """The kernel did what it must not do."""


class Memory:
    """Global memory: arrays with unmapped space between them."""

    def __init__(self) -> None:
        self.bytes = np.zeros(4096, np.uint8)
        self.mapped = np.zeros(4096, bool)
        self.arrays: dict[int, tuple[int, np.dtype, tuple[int, ...]]] = {}

    def put(self, array: np.ndarray) -> int:
        """Copies an array in; its address, 256-byte aligned."""
        start = -(-len(self.bytes) // 256) * 256 + 256
        size = array.nbytes
        grown, mapped = np.zeros(start + size + 512, np.uint8), np.zeros(start + size + 512, bool)
        grown[: len(self.bytes)], mapped[: len(self.mapped)] = self.bytes, self.mapped
        grown[start : start + size] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        mapped[start : start + size] = True
        self.bytes, self.mapped = grown, mapped
        self.arrays[start] = size, array.dtype, array.shape
        return start

    def locate(self, addresses: np.ndarray) -> np.ndarray:
        """Where addresses lie in `bytes`."""
        return addresses

    def get(self, address: int) -> np.ndarray:
        size, dtype, shape = self.arrays[address]
        return self.bytes[address : address + size].view(dtype).reshape(shape).copy()


@dataclass
class Races:
    """Which warps touched each byte of shared memory since the last barrier, a bit for each."""

    written: np.ndarray
    read: np.ndarray

    @classmethod
    def of(cls, size: int) -> "Races":
        return cls(np.zeros(size, np.uint64), np.zeros(size, np.uint64))

    def clear(self) -> None:
        self.written.fill(0)
        self.read.fill(0)

    def on_read(self, places: np.ndarray, warps: np.ndarray) -> None:
        """A warp may read what it wrote itself, also where others have written the same value."""
        mine = np.broadcast_to(np.uint64(1) << warps.astype(np.uint64)[:, None], places.shape)
        writers = self.written[places]
        if np.any((writers != 0) & (writers & mine == 0)):
            raise EmulationError("shared memory is read without a barrier after another warp wrote it")
        np.bitwise_or.at(self.read, places, mine)

    def on_write(self, places: np.ndarray, warps: np.ndarray, same: np.ndarray) -> None:
        """same: where the value that is written is there already."""
        mine = np.broadcast_to(np.uint64(1) << warps.astype(np.uint64)[:, None], places.shape)
        if np.any((self.read[places] & ~mine != 0) & ~same):
            raise EmulationError("shared memory is overwritten without a barrier after another warp read it")
        if np.any((self.written[places] & ~mine != 0) & ~same):
            raise EmulationError("two warps write one place in shared memory without a barrier between them")
        np.bitwise_or.at(self.written, places, mine)


@dataclass
class Block:
    """The blocks of one cluster: registers of all their threads, their shared memory one after the other, the copies
    under way.
    """

    threads: int
    position: tuple[int, int, int]
    grid: tuple[int, int, int]
    memory: Memory
    parameters: dict[str, int | np.generic]
    shared: np.ndarray
    races: Races
    ctas: int = 1
    tables: dict[str, int] = field(default_factory=dict)
    registers: dict[str, np.ndarray] = field(default_factory=dict)
    pending: list = field(default_factory=list)
    groups: list[list] = field(default_factory=list)

    products: list[list] = field(default_factory=lambda: [[]])

    @property
    def rank(self) -> np.ndarray:
        """The block of each thread, within the cluster."""
        return np.arange(self.threads) // (self.threads // self.ctas)

    @property
    def shared_size(self) -> int:
        """The bytes of one block's shared memory."""
        return len(self.shared) // self.ctas

    def finish_products(self, keep: int) -> None:
        """Ends products of warpgroups until `keep` groups are under way; the last list is of those not committed."""
        while len(self.products) - 1 > keep:
            for product in self.products.pop(0):
                product()

    def finish_copies(self, keep: int) -> None:
        """Lets copies land until `keep` groups are under way."""
        while len(self.groups) > keep:
            for copy in self.groups.pop(0):
                copy()


@dataclass(frozen=True)
class Instruction:
    """`@p opcode operands;`"""

    opcode: str
    operands: tuple[str, ...]
    predicate: str | None
    negated: bool
    text: str


@dataclass(frozen=True)
class Program:
    """A kernel: its parameters in order, instructions, and where labels are."""

    parameters: list[tuple[str, str]]
    code: list[Instruction]
    labels: dict[str, int]
    threads: int
    tables: dict[str, bytes]
    """What the module holds in global memory, by name."""


def split_operands(text: str) -> tuple[str, ...]:
    """Operands separated by commas that are not within brackets."""
    out, depth, piece = [], 0, ""
    for c in text:
        depth += (c in "{[(") - (c in "}])")
        if c == "," and depth == 0:
            out.append(piece.strip())
            piece = ""
        else:
            piece += c
    return (*out, piece.strip()) if piece.strip() else tuple(out)


def parse(ptx: str) -> Program:
    """The one kernel of a PTX module."""
    head = re.search(r"\.visible \.entry (\S+)\((.*?)\)(.*?)\n\{\n(.*?)\n\}", ptx, re.S)
    if head is None:
        raise EmulationError("no kernel in the PTX")
    _, parameters, directives, body = head.groups()
    threads = int(re.search(r"\.reqntid (\d+)", directives).group(1))
    found = [
        (m.group(2), m.group(1))
        for m in re.finditer(r"\.param \.(\w+).*? (\w+)(?:,|$)", parameters.replace("\n", ",\n"))
    ]
    code, labels = [], {}
    for statement in re.sub(r"//[^\n]*", "", body).replace("{\n", "\n").split("\n"):
        for piece in statement.split(";"):
            piece = piece.strip()
            piece = "" if piece in ("{", "}") else piece.removeprefix("{ ")
            while m := re.match(r"^(\$?\w+):\s*(.*)$", piece):
                labels[m.group(1)] = len(code)
                piece = m.group(2)
            if not piece or piece.startswith("."):
                continue
            negated, predicate = False, None
            if m := PREDICATE.match(piece):
                negated, predicate, piece = m.group(1) == "!", m.group(2), m.group(3)
            opcode, _, rest = piece.partition(" ")
            opcode, _, extra = opcode.partition("\t")
            code.append(Instruction(opcode, split_operands(extra + " " + rest), predicate, negated, piece))
    return Program(found, code, labels, threads, {m.group(1): table(m) for m in TABLE.finditer(ptx)})


TABLE = re.compile(r"\.global \.align \d+ \.b8 ([\w$]+)\[(\d+)\] = \{(.*?)\};", re.S)


def table(found: re.Match[str]) -> bytes:
    """The bytes of a constant of the module; those that are not written are zero."""
    return bytes(int(n) for n in found.group(3).split(",")).ljust(int(found.group(2)), b"\0")


def launch(ptx: str, grid: Sequence[int], arguments: Sequence[int | np.generic], shared: int, memory: Memory,
           ctas: int = 1) -> None:  # fmt: skip
    """Runs a kernel on every block of a grid, or on every cluster of so many blocks."""
    from . import ops

    program = parse(ptx)
    if len(program.parameters) != len(arguments):
        raise EmulationError(f"the kernel takes {len(program.parameters)} arguments, got {len(arguments)}")
    parameters = {name: value for (name, _), value in zip(program.parameters, arguments, strict=True)}
    tables = {name: memory.put(np.frombuffer(data, np.uint8)) for name, data in program.tables.items()}
    size = tuple((*grid, 1, 1)[:3])
    for z in range(size[2]):
        for y in range(size[1]):
            for x in range(size[0]):
                garbage = np.random.default_rng(0).integers(0, 256, shared * ctas, np.uint8)
                threads, races = program.threads * ctas, Races.of(shared * ctas)
                block = Block(threads, (x, y, z), size, memory, parameters, garbage, races, ctas, tables)
                run(program, block, ops.execute)


def run(program: Program, block: Block, execute) -> None:
    """Runs the threads of a block; of threads that have parted, those furthest behind go first.

    Threads at a barrier wait there until all that have not ended do.
    """
    pc = np.zeros(block.threads, np.int64)
    waiting = np.zeros(block.threads, bool)
    end = len(program.code)
    while True:
        running = ~waiting & (pc < end)
        if not running.any():
            if not waiting.any():
                block.finish_copies(0)
                return
            release(block, pc, waiting)
            continue
        here = int(pc[running].min())
        active = running & (pc == here)
        instruction = program.code[here]
        chosen = active
        if instruction.predicate is not None:
            flag = block.registers[instruction.predicate]
            chosen = active & (~flag if instruction.negated else flag)
        pc[active] += 1
        if instruction.opcode.startswith("bra"):
            pc[chosen] = program.labels[instruction.operands[0]]
        elif instruction.opcode in ("ret", "exit"):
            pc[chosen] = end
        elif instruction.opcode.startswith("trap"):
            raise EmulationError("the kernel trapped")
        elif instruction.opcode.startswith("barrier.cluster.arrive"):
            continue
        elif instruction.opcode.startswith(("bar.sync", "barrier.sync", "barrier.cluster.wait")):
            if block.ctas > 1 and "cluster" not in instruction.opcode:
                raise EmulationError("a barrier of one block in a cluster")
            waiting |= chosen
        elif chosen.any():
            try:
                execute(block, instruction, chosen)
            except EmulationError as error:
                raise EmulationError(f"{error}: {instruction.text}") from None


def release(block: Block, pc: np.ndarray, waiting: np.ndarray) -> None:
    """Lets the threads at a barrier go on; all of them must be at the same one."""
    if len(set(pc[waiting].tolist())) > 1:
        raise EmulationError("threads wait at different barriers")
    waiting[:] = False
    block.races.clear()
