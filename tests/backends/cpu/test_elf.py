"""The ELF loader: code, constants, data, calls into libraries; damaged and unsupported objects are exceptions."""

import contextlib
import ctypes
import gc
import math
import random
import struct
from pathlib import Path

import pytest

from naiad.backends.cpu import elf, host, loader
from naiad.backends.cpu.symbols import LoadError, process_symbol
from naiad.backends.cpu.system import elf_machine
from naiad.backends.cpu.toolchain import Machine, object_code

pytestmark = pytest.mark.skipif(elf_machine() == 0, reason="ELF code runs on Linux only")
HERE = Machine.of(host.host())

TEXT = """
@count = global i64 0, align 64
@hidden = internal global [1000 x i64] zeroinitializer, align 64
@start = global i64 7
@chain = constant ptr @start
@table = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5], align 64
@_Py_NoneStruct = external global i8
declare double @cos(double)
declare i64 @strlen(ptr)
@text = internal constant [6 x i8] c"hello\\00"

define i64 @bump(i64 %n) {
  %old = load i64, ptr @count
  %new = add i64 %old, %n
  store i64 %new, ptr @count
  %slot = getelementptr i64, ptr @hidden, i64 %n
  store i64 %new, ptr %slot
  %back = load i64, ptr %slot
  ret i64 %back
}
define double @lookup(i64 %i) {
  %p = getelementptr double, ptr @table, i64 %i
  %v = load double, ptr %p
  ret double %v
}
define double @cosine(double %x) {
  %y = call double @cos(double %x)
  ret double %y
}
define ptr @none() { ret ptr @_Py_NoneStruct }
define ptr @function() { ret ptr @strlen }
define i64 @length() {
  %n = call i64 @strlen(ptr @text)
  ret i64 %n
}
define i64 @started() {
  %p = load volatile ptr, ptr @chain
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @choose(i64 %x) {
  switch i64 %x, label %d [ i64 0, label %a
    i64 1, label %b
    i64 2, label %c
    i64 3, label %e
    i64 4, label %f ]
a:
  %r0 = call i64 @bump(i64 0)
  ret i64 %r0
b:
  ret i64 11
c:
  %r2 = call i64 @length()
  ret i64 %r2
e:
  ret i64 13
f:
  %r4 = call i64 @started()
  ret i64 %r4
d:
  ret i64 -1
}
"""


@pytest.fixture(scope="module")
def obj():
    return object_code(TEXT, HERE)


def function(image, name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(image.address(name))


def exercise(image):
    i64, double = ctypes.c_int64, ctypes.c_double
    assert [function(image, "lookup", double, i64)(i) for i in range(4)] == [1.5, 2.5, 3.5, 4.5]
    assert function(image, "bump", i64, i64)(5) == 5 and function(image, "bump", i64, i64)(6) == 11
    assert function(image, "cosine", double, double)(1.0) == math.cos(1.0)
    assert function(image, "none", ctypes.c_void_p)() == id(None)
    assert function(image, "function", ctypes.c_void_p)() == process_symbol("strlen")
    assert [function(image, "choose", i64, i64)(i) for i in range(6)] == [11, 11, 5, 13, 7, -1]


def test_code_constants_data_and_libraries(obj):
    exercise(elf.load(obj))


def test_llvm_loads_the_same(obj):
    exercise(loader.load_with_llvm(obj, ["lookup", "bump", "cosine", "none", "function", "choose"]))


def test_variables_are_visible_and_private_to_an_image(obj):
    first, second = elf.load(obj), elf.load(obj)
    function(first, "bump", ctypes.c_int64, ctypes.c_int64)(3)
    assert ctypes.c_int64.from_address(first.address("count")).value == 3
    assert ctypes.c_int64.from_address(second.address("count")).value == 0
    assert first.address("count") % 64 == 0


def test_pages_have_the_protection_they_need(obj):
    image = elf.load(obj)

    def rights(address):
        for line in Path("/proc/self/maps").read_text().splitlines():
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            if low <= address < high:
                return line.split()[1]

    assert rights(image.address("bump")) == "r-xp"
    assert rights(image.address("count")) == "rw-p"
    assert rights(image.address("chain")) == "r--p"


def test_memory_is_given_back(obj):
    kept = elf.load(obj)
    for _ in range(200):
        elf.load(obj)
    gc.collect()
    mappings = Path("/proc/self/maps").read_text().count("\n")
    for _ in range(200):
        elf.load(obj)
    gc.collect()
    assert abs(Path("/proc/self/maps").read_text().count("\n") - mappings) < 20
    exercise(kept)


def test_undefined_symbols_are_named():
    text = (
        "declare void @no_such_function_here()\ndefine void @f() {\n  call void @no_such_function_here()\n  ret void\n}"
    )
    with pytest.raises(LoadError, match="undefined symbol 'no_such_function_here'"):
        elf.load(object_code(text, HERE))
    with pytest.raises(LoadError, match=r"defines no 'g'"):
        loader.load(object_code("define void @f() {\n  ret void\n}", HERE), ["g"])


def test_a_weak_symbol_may_be_missing():
    text = "@nowhere_at_all = extern_weak global i8\ndefine ptr @f() {\n  ret ptr @nowhere_at_all\n}"
    image = elf.load(object_code(text, HERE))
    assert function(image, "f", ctypes.c_void_p)() is None


def test_thread_local_variables_are_refused():
    text = "@t = thread_local global i64 3\ndefine i64 @f() {\n  %v = load i64, ptr @t\n  ret i64 %v\n}"
    with pytest.raises(LoadError, match="thread-local"):
        elf.load(object_code(text, HERE))


def test_constructors_are_refused():
    text = """
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]
define internal void @f() {
  ret void
}
"""
    with pytest.raises(LoadError, match="constructors"):
        elf.load(object_code(text, HERE))


def test_damaged_objects_are_errors_never_crashes(obj):
    for size in range(0, len(obj), 97):
        with pytest.raises(LoadError):
            elf.load(obj[:size])
    generator = random.Random(0)
    for _ in range(300):
        at, damaged = generator.randrange(len(obj)), bytearray(obj)
        damaged[at] ^= 1 << generator.randrange(8)
        with contextlib.suppress(LoadError):
            elf.load(bytes(damaged))


def test_other_machines_are_refused(obj):
    foreign = "aarch64" if HERE.triple.startswith("x86_64") else "haswell"
    with pytest.raises(LoadError, match="machine"):
        elf.load(object_code(TEXT, Machine.of(host.profile(foreign))))


def test_aarch64_objects_link():
    """Nothing runs: the branch of the patched code must reach its stub, which holds the library's address."""
    obj = object_code(TEXT, Machine.of(host.profile("aarch64")))
    image = elf.load(obj, machine=183)
    start = image.address("cosine")
    for index, word in enumerate(struct.unpack("<4I", ctypes.string_at(start, 16))):
        if word >> 26 in (0b000101, 0b100101):
            stub = start + 4 * index + ((word & 0x3FFFFFF) << 2)
            assert ctypes.c_uint64.from_address(stub + 8).value == process_symbol("cos")
            break
    else:
        pytest.fail("no branch in cosine")
    assert image.address("count") % 64 == 0 and "lookup" in image.symbols


def test_low_memory_relocations(obj):
    """Code that holds 32-bit addresses (not what naiad emits) is loaded below 2 GB."""
    import llvmlite.binding as llvm

    if not HERE.triple.startswith("x86_64"):
        pytest.skip("x86-64 relocations")
    machine = llvm.Target.from_triple(HERE.triple).create_target_machine(reloc="static", codemodel="small")
    text = "@v = dso_local global i64 42\ndefine dso_local ptr @f() {\n  ret ptr @v\n}\n"
    text += "define dso_local i64 @g(i64 %i) {\n  %p = getelementptr [4 x i64], ptr @v, i64 0, i64 %i\n"
    text += "  %x = load i64, ptr %p\n  ret i64 %x\n}\n"
    image = elf.load(machine.emit_object(llvm.parse_assembly(f'target triple = "{HERE.triple}"\n{text}')))
    assert image.address("v") < 2**31
    assert function(image, "f", ctypes.c_void_p)() == image.address("v")
    assert function(image, "g", ctypes.c_int64, ctypes.c_int64)(0) == 42
