"""Which arguments a kernel may write: of kernels as the front end leaves them, and after the passes."""

from typing import NamedTuple

import pytest
from xdsl.dialects.builtin import ModuleOp

import naiad
import naiad.language as tl
from naiad.analysis.writes import written_arguments
from naiad.compiler.compiler import ASTSource, argument_names, compile
from naiad.ir.text import parse
from naiad.passes.ttir import POINTERS


@naiad.jit
def plain(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@naiad.jit
def atomics(count, lock, x, unused):
    tl.atomic_add(count + tl.arange(0, 4), tl.load(x + tl.arange(0, 4)))
    tl.atomic_cas(lock, 0, 1)


@naiad.jit
def carried(x, a, b, n):
    pa, pb, px = a, b, x
    for _ in range(n):
        tl.store(pa, tl.load(px))
        pa, pb, px = pb, pa + 1, px + 1


@naiad.jit
def waiting(a, b, x, n):
    p = a
    while tl.load(x) < n:
        tl.store(p, 1.0)
        p = b
        x += 1


@naiad.jit
def chosen(a, b, c, x, n):
    if n > 3:
        p = a
    else:
        p = b
    tl.store(tl.where(tl.arange(0, 4) < n, p + tl.arange(0, 4), c + tl.arange(0, 4)), tl.load(x))


@naiad.jit(noinline=True)
def moved(p, q):
    tl.store(q, 2.0)
    return p + 1


@naiad.jit
def calling(a, b, x):
    tl.store(moved(a, b), tl.load(x))


@naiad.jit
def blocks(a, b, x):
    p = tl.make_block_ptr(a, (8, 8), (8, 1), (0, 0), (4, 4), (1, 0))
    q = tl.make_tensor_descriptor(b, [8, 8], [8, 1], [4, 4])
    r = tl.make_tensor_descriptor(x, [8, 8], [8, 1], [4, 4])
    for _ in range(2):
        tl.store(p, r.load([0, 0]))
        p = tl.advance(p, (4, 0))
    q.atomic_add([4, 4], r.load([4, 4]))


@naiad.jit
def integers(a, b, x):
    p = (a.to(tl.int64) + 8 * tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(p, tl.load(x))
    tl.store(b.to(tl.pointer_type(tl.float32), bitcast=True), 1.0)


@naiad.jit
def from_memory(table, x):
    tl.store(tl.load(table).to(tl.pointer_type(tl.float32)), tl.load(x))


@naiad.jit
def from_number(a, address):
    tl.store((address + tl.program_id(0)).to(tl.pointer_type(tl.float32)), 1.0)


@naiad.jit
def assembly(a, x, b):
    tl.inline_asm_elementwise("mov $0, 0", "=r,r", [a + tl.arange(0, 4)], tl.int32, is_pure=False, pack=1)
    y = tl.inline_asm_elementwise("mov $0, 0", "=r,r", [x + tl.arange(0, 4)], tl.int32, is_pure=True, pack=1)
    tl.store(b + tl.arange(0, 4), y)


F, I = "*fp32", "i32"
KERNELS = {
    plain: ([F, F, I], ["out"]),
    atomics: (["*i32", "*i32", "*i32", F], ["count", "lock"]),
    carried: ([F, F, F, I], ["a", "b"]),
    waiting: ([F, F, F, I], ["a", "b"]),
    chosen: ([F, F, F, F, I], ["a", "b", "c"]),
    calling: ([F, F, F], ["a", "b"]),
    blocks: ([F, F, F], ["a", "b"]),
    integers: ([F, "*i32", F], ["a", "b"]),
    from_memory: (["*i64", F], None),
    from_number: ([F, "i64"], None),
    assembly: ([F, F, "*i32"], ["a", "b"]),
}


def names(src: ASTSource, module: ModuleOp) -> list[str] | None:
    written, all_names = written_arguments(module), argument_names(src)
    return None if written is None else [all_names[i] for i in written]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_kernels(kernel: naiad.JITFunction) -> None:
    types, want = KERNELS[kernel]
    src = ASTSource(kernel, dict(zip(kernel.arg_names, types, strict=True)))
    target = naiad.runtime.driver.active.get_current_target()
    module = src.make_ir(target, naiad.backends.find(target).parse_options({}))
    assert names(src, module) == want
    assert names(src, POINTERS.run(module)) == want


class Pair(NamedTuple):
    first: object
    second: object


@naiad.jit
def described(pair, one, desc, source, n):
    desc.store([0, 0], source.load([0, 0]) + tl.load(pair.first) + one)
    tl.store(pair.second, n)


def test_names_of_tuples_descriptors_and_folded_arguments(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kind = "tensordesc<fp32[8, 8]>"
    signature = {"pair": Pair(F, "*i32"), "one": "i32", "desc": kind, "source": kind, "n": "i32"}
    src = ASTSource(described, signature, {(1,): 1})
    assert argument_names(src) == ["pair.0", "pair.1", *["desc"] * 5, *["source"] * 5, "n"]
    for _ in range(2):  # compiled, and from the cache
        assert compile(src).metadata.writes == ["desc", "pair.1"]


def test_what_the_user_wrote(tmp_path, monkeypatch) -> None:
    """A file of ttir is looked at, and its arguments have no names; of a later stage nothing is known."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    kernel = compile(ASTSource(plain, {"x": F, "out": F, "n": I}))
    for stage, want in (("ttir", ["1"]), ("ttcir", None)):
        path = tmp_path / f"k.{stage}"
        path.write_text(kernel.asm[stage])
        assert compile(str(path)).metadata.writes == want


def test_memory_that_a_pointer_was_put_into() -> None:
    module = parse("""
      tt.func public @k(%a: !tt.ptr<f32>, %table: !tt.ptr<!tt.ptr<f32>>, %v: f32) {
        tt.store %table, %a : !tt.ptr<!tt.ptr<f32>>
        tt.return
      }""")
    assert written_arguments(module) == (1,)
