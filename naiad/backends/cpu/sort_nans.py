"""NaN in rows of f32 and f64 that are sorted as they are: they are counted and stand as infinities meanwhile."""

from naiad.backends.cpu.kinds import Kind
from naiad.backends.cpu.writer import CpuEmitter

GROUP = 8  # vectors that are looked at between two steps of the loop


def count_nans(f: CpuEmitter, keys: Kind, row: str, n: int) -> str:
    """How many of the n elements are NaN, each of which becomes the infinity that is nearest to where it belongs."""
    [some] = f.when(some_nan(f, keys, row, n), ["i64"], lambda: [replaced(f, keys, row, n)], lambda: ["0"])
    return some


def some_nan(f: CpuEmitter, keys: Kind, row: str, n: int) -> str:
    """Whether one is: two vectors are asked at once."""
    width = max(keys.lanes, 1)
    group = min(GROUP, n // width)
    flags, bits = keys.of("i1").llvm, f"i{width}"

    def look(i: str, found: list[str]) -> list[str]:
        first = f.gep(row, i, keys.scalar)
        values = [f.load(keys.llvm, f.gep(first, str(j), keys.llvm), keys.bytes) for j in range(group)]
        each = [f.compare("uno", keys, a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
        while len(each) > 1:
            each = [f.op(f"or {flags} {a}, {b}") for a, b in zip(each[::2], each[1::2], strict=True)]
        return [f.op(f"or {bits} {found[0]}, {f.op(f'bitcast {flags} {each[0]} to {bits}')}")]

    [found] = f.loop("0", str(n), str(group * width), [(bits, "0")], look, runs=True)
    return f.op(f"icmp ne {bits} {found}, 0")


def replaced(f: CpuEmitter, keys: Kind, row: str, n: int) -> str:
    """The same row with infinities, one element at a time; how many there were."""
    one = keys.wide(0)

    def look(i: str, found: list[str]) -> list[str]:
        place = f.gep(row, i, one.scalar)
        value = f.load(one.scalar, place, one.bytes)
        nan = f.compare("uno", one, value, value)
        f.store(one.scalar, f.select(one, nan, f.number_of(float("inf"), one), value), place, one.bytes)
        return [f.op(f"add i64 {found[0]}, {f.op(f'zext i1 {nan} to i64')}")]

    return f.loop("0", str(n), "1", [("i64", "0")], look, runs=True)[0]


def put_nans(f: CpuEmitter, keys: Kind, row: str, start: str, count: str) -> None:
    """NaN from element `start` on, in the place of as many infinities."""
    one = keys.wide(0)

    def put(i: str, _: list[str]) -> None:
        place = f.gep(row, f.op(f"add i64 {start}, {i}"), one.scalar)
        f.store(one.scalar, f.number_of(float("nan"), one), place, one.bytes)

    f.loop("0", count, "1", [], put)
