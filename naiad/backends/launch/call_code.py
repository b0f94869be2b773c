"""A native launcher as LLVM text: a CPython function that checks a call against a record and runs the kernel.

One function serves every signature: its `self` is a bytes object, the record, made by `record.py` for one kernel, grid
and form of call. The record says what each argument must be, an entry of GUARD_WORDS words for each: kind, slot, and
what the kind needs. If all match, the arguments are in their slots and the backend's text runs the kernel. If one does
not, or if a global that the kernel reads is another object now, the record's `fallback` is called with the same
arguments.

The backend's text begins with the block `run` (it finds the slots in %slots, their number in %count), and goes to
%done, to %failed after it has put a number other than 0 into %code, to %error with an exception set, or to %miss.

No address of a Python object is in the text; what it names is bound when it is loaded.
"""

import enum
from collections.abc import Iterable

from naiad.backends.launch.guard_code import ARRAYS, CONSTANTS, NUMBERS, Class, Guard

HEADER_WORDS, GUARD_WORDS, GLOBAL_WORDS = 22, 6, 3
METHOD_FLAGS = 0x82  # METH_FASTCALL | METH_KEYWORDS
NAMES = ("naiad_method", "naiad_enabled", "naiad_torch")


class Header(enum.IntEnum):
    """Words at the record's start; the backend's own ones follow."""

    POSITIONAL = 0
    KEYWORDS = 1
    SLOTS = 2
    HANDLE = 3  # the object that the launch returns
    FALLBACK = 4
    FAILED = 5  # called with %code, which is not 0; raises
    NAMES_AT = 6  # bytes from the record's start: names of the keywords,
    SLOTS_AT = 7  # and the slots as they are before arguments are filled in
    GLOBALS = 8  # how many globals the kernel was compiled with
    GLOBALS_AT = 9  # bytes from the record's start: the dict, the name and the value of each


OWN_WORDS = 10
"""The first of the backend's own words."""

DECLARATIONS = """
@naiad_enabled = global i64 1                       ; 0: every call goes to its fallback
@naiad_torch = global [5 x i64] zeroinitializer     ; where a Tensor's at::Tensor is; torch_tensor.GETTERS
@name = internal constant [7 x i8] c"launch\\00"
@naiad_method = global { ptr, ptr, i32, ptr } { ptr @name, ptr @launch, i32 METHOD_FLAGS, ptr null }
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@PyUnicode_Type = external global i8
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
declare ptr @PyDict_GetItem(ptr, ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare double @PyFloat_AsDouble(ptr)
declare i32 @PyUnicode_Compare(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
"""

# {word: NAME} loads a word of the record; the other names are LLVM's.
CALL_FORM = """
define internal ptr @launch(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {
entry:
  %record = getelementptr i8, ptr %self, i64 RECORD_OFFSET
  %overflow = alloca i32
  %pointer = alloca i64
{count: SLOTS}
  %slots = alloca i64, i64 %count, align 16
  %enabled = load volatile i64, ptr @naiad_enabled
  %on = icmp ne i64 %enabled, 0
  br i1 %on, label %positional, label %miss
positional:
{wanted: POSITIONAL}
  %same_count = icmp eq i64 %nargs, %wanted
  br i1 %same_count, label %by_name, label %miss
by_name:
{keywords: KEYWORDS}
  %none = icmp eq ptr %kwnames, null
  br i1 %none, label %named, label %measure
measure:
  %size = call i64 @PyTuple_Size(ptr %kwnames)
  br label %named
named:
  %given = phi i64 [ 0, %by_name ], [ %size, %measure ]
  %same_size = icmp eq i64 %given, %keywords
  br i1 %same_size, label %names, label %miss
names:
{names_at: NAMES_AT}
  %expected = getelementptr i8, ptr %record, i64 %names_at
  br label %next_name
next_name:
  %k = phi i64 [ 0, %names ], [ %k1, %same_name ]
  %more_names = icmp slt i64 %k, %keywords
  br i1 %more_names, label %name, label %copy
name:
  %name_slot = getelementptr ptr, ptr %expected, i64 %k
  %name_wanted = load ptr, ptr %name_slot
  %name_given = call ptr @PyTuple_GetItem(ptr %kwnames, i64 %k)
  %is_name = icmp eq ptr %name_wanted, %name_given
  br i1 %is_name, label %same_name, label %miss
same_name:
  %k1 = add i64 %k, 1
  br label %next_name
copy:
{slots_at: SLOTS_AT}
  %template = getelementptr i8, ptr %record, i64 %slots_at
  br label %copy_slot
copy_slot:
  %c = phi i64 [ 0, %copy ], [ %c1, %copy_slot ]
  %from = getelementptr i64, ptr %template, i64 %c
  %to = getelementptr i64, ptr %slots, i64 %c
  %word = load i64, ptr %from
  store i64 %word, ptr %to
  %c1 = add i64 %c, 1
  %more_slots = icmp slt i64 %c1, %count
  br i1 %more_slots, label %copy_slot, label %check
check:
  %total = add i64 %wanted, %keywords
  %guards = getelementptr i64, ptr %record, i64 HEADER_WORDS
  br label %next
next:
  %i = phi i64 [ 0, %check ], [ %i1, %passed ]
  %more = icmp slt i64 %i, %total
  br i1 %more, label %guard, label %globals
guard:
  %first = mul i64 %i, GUARD_WORDS
  %g = getelementptr i64, ptr %guards, i64 %first
  %argument_at = getelementptr ptr, ptr %args, i64 %i
  %a = load ptr, ptr %argument_at
  %type_at = getelementptr i8, ptr %a, i64 8
  %type = load ptr, ptr %type_at
  %kind = load i64, ptr %g
  %slot_at = getelementptr i64, ptr %g, i64 1
  %w2 = getelementptr i64, ptr %g, i64 2
  %w3 = getelementptr i64, ptr %g, i64 3
  %w4 = getelementptr i64, ptr %g, i64 4
  %w5 = getelementptr i64, ptr %g, i64 5
  %object = load ptr, ptr %w2
  %identical = icmp eq ptr %a, %object
  switch i64 %kind, label %miss [ CASES ]
store:
  %value = phi i64 [ %int, %int_class ], [ %single, %float32 ], [ %double, %float64 ], [ 1, %bool ], [ 0, %not_true ], [ %address, %address_bits ]
  %slot = load i64, ptr %slot_at
  %filled = getelementptr i64, ptr %slots, i64 %slot
  store i64 %value, ptr %filled
  br label %passed
passed:
  %i1 = add i64 %i, 1
  br label %next
"""  # noqa: E501

GLOBALS = """
globals:
{global_count: GLOBALS}
{globals_at: GLOBALS_AT}
  %first_global = getelementptr i8, ptr %record, i64 %globals_at
  br label %next_global
next_global:
  %q = phi i64 [ 0, %globals ], [ %q1, %same_global ]
  %more_globals = icmp slt i64 %q, %global_count
  br i1 %more_globals, label %global, label %run
global:
  %q_word = mul i64 %q, GLOBAL_WORDS
  %scope_at = getelementptr ptr, ptr %first_global, i64 %q_word
  %global_name_at = getelementptr ptr, ptr %scope_at, i64 1
  %global_value_at = getelementptr ptr, ptr %scope_at, i64 2
  %scope = load ptr, ptr %scope_at
  %global_name = load ptr, ptr %global_name_at
  %global_value = load ptr, ptr %global_value_at
  %global_now = call ptr @PyDict_GetItem(ptr %scope, ptr %global_name)
  %is_global = icmp eq ptr %global_now, %global_value
  br i1 %is_global, label %same_global, label %miss
same_global:
  %q1 = add i64 %q, 1
  br label %next_global
"""

END = """
done:
{handle_word: HANDLE}
  %handle = inttoptr i64 %handle_word to ptr
  call void @Py_IncRef(ptr %handle)
  ret ptr %handle
failed:
{failed_word: FAILED}
  %raise = inttoptr i64 %failed_word to ptr
  %number = call ptr @PyLong_FromLongLong(i64 %code)
  %n_null = icmp eq ptr %number, null
  br i1 %n_null, label %error, label %say
say:
  %said = call ptr @PyObject_CallOneArg(ptr %raise, ptr %number)
  call void @Py_DecRef(ptr %number)
  ret ptr %said
error:
  ret ptr null
miss:
{fallback_word: FALLBACK}
  %fallback = inttoptr i64 %fallback_word to ptr
  call void @Py_IncRef(ptr %fallback)  ; the call may give this launcher another one
  %answer = call ptr @PyObject_Vectorcall(ptr %fallback, ptr %args, i64 %nargs, ptr %kwnames)
  call void @Py_DecRef(ptr %fallback)
  ret ptr %answer
}
"""


def launcher_text(declarations: str, run: str, words: Iterable[enum.IntEnum], record_offset: int) -> str:
    """The launcher of a backend that has these words of its own in the record and runs kernels by the text `run`.

    `record_offset` is where a bytes object's data begins, in bytes from its address.
    """
    text = DECLARATIONS + declarations + CALL_FORM + CONSTANTS + NUMBERS + ARRAYS + GLOBALS + run + END
    for word in (*Header, *words):
        before, marker, after = text.partition(f": {word.name}}}")
        if marker:
            before, _, register = before.rpartition("{")
            at = f"  %{register}_at_ = getelementptr i64, ptr %record, i64 {word.value}"
            text = f"{before}{at}\n  %{register} = load i64, ptr %{register}_at_{after}"
    cases = " ".join(f"i64 {kind.value}, label %{kind.name}" for kind in Guard)
    numbers = {"METHOD_FLAGS": METHOD_FLAGS, "HEADER_WORDS": HEADER_WORDS, "GUARD_WORDS": GUARD_WORDS,
               "GLOBAL_WORDS": GLOBAL_WORDS}  # fmt: skip
    text = text.replace("CASES", cases).replace("RECORD_OFFSET", str(record_offset))
    for name in ("NOT_BY_16", "BY_16", "NOT_1"):
        text = text.replace(name, str(Class[name].value))
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    return text
