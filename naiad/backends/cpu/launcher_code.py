"""The native launcher as LLVM text: a CPython function that checks a call against a record and runs the kernel.

One function serves every signature: its `self` is a bytes object, the record, made by `launcher.py` for one kernel,
grid and form of call. The record says what each argument must be, an entry of GUARD_WORDS words for each: kind, slot,
and what the kind needs. If all match, the arguments are in their slots and the kernel runs, on this thread if it is
small, else on the pool without the GIL. If one does not, the record's `fallback` is called with the same arguments.

No address of a Python object is in the text; what it names is bound when it is loaded.
"""

import enum

HEADER_WORDS, GUARD_WORDS = 12, 6
METHOD_FLAGS = 0x82  # METH_FASTCALL | METH_KEYWORDS
NAMES = ("naiad_method", "naiad_enabled", "naiad_torch")


class Header(enum.IntEnum):
    """Words at the record's start."""

    KERNEL = 0
    PROGRAMS = 1
    GRAIN = 2  # 0: run here and keep the GIL
    POSITIONAL = 3
    KEYWORDS = 4
    SLOTS = 5
    HANDLE = 6  # the object that the launch returns
    FALLBACK = 7
    FAILED = 8  # called with the status word when it is not 0; raises
    NAMES_AT = 9  # bytes from the record's start: names of the keywords,
    SLOTS_AT = 10  # and the slots as they are before arguments are filled in


class Guard(enum.IntEnum):
    """What an argument must be; the words that follow kind and slot."""

    SAME = 0  # this object
    SAME_INT = 1  # this object, or an int of this value (object, value)
    SAME_FLOAT = 2  # a float of these bits (bits)
    SAME_STR = 3  # this object, or an equal str (object)
    INT = 4  # an int in a range (low, high, class)
    FLOAT32 = 5  # any float, rounded to float32
    FLOAT64 = 6  # any float
    BOOL = 7  # True or False
    NUMPY = 8  # an array of (type, dtype, class)
    TORCH = 9  # a CPU tensor of (type, number of the dtype, class)


class Class(enum.IntEnum):
    """Which values of an int or an address were compiled for."""

    ANY = 0
    BY_16 = 1
    NOT_BY_16 = 2  # nor 1
    NOT_1 = 3


DECLARATIONS = """
@naiad_enabled = global i64 1                       ; 0: every call goes to its fallback
@naiad_torch = global [4 x i64] zeroinitializer     ; where a Tensor's at::Tensor is; getters: device type, dtype, data
@name = internal constant [7 x i8] c"launch\\00"
@naiad_method = global { ptr, ptr, i32, ptr } { ptr @name, ptr @launch, i32 METHOD_FLAGS, ptr null }
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@PyUnicode_Type = external global i8
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
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
declare void @naiad_pool_run(ptr, i64, i64, ptr)
"""

# {word: NAME} loads a word of the record; the other names are LLVM's.
CALL_FORM = """
define internal ptr @launch(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {
entry:
  %record = getelementptr i8, ptr %self, i64 RECORD_OFFSET
  %status = alloca i64
  %overflow = alloca i32
  %pointer = alloca i64
{count: SLOTS}
  %slots = alloca i64, i64 %count, align 16
  store i64 0, ptr %status
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
  br i1 %more, label %guard, label %run
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
  %object = load ptr, ptr %w2
  %identical = icmp eq ptr %a, %object
  switch i64 %kind, label %miss [ CASES ]
store:
  %value = phi i64 [ %int, %int_class ], [ %single, %float32 ], [ %double, %float64 ], [ 1, %bool ], [ 0, %not_true ], [ %address, %address_class ]
  %slot = load i64, ptr %slot_at
  %filled = getelementptr i64, ptr %slots, i64 %slot
  store i64 %value, ptr %filled
  br label %passed
passed:
  %i1 = add i64 %i, 1
  br label %next
"""  # noqa: E501

CONSTANTS = """
SAME:
  br i1 %identical, label %passed, label %miss
SAME_INT:
  br i1 %identical, label %passed, label %same_int_type
same_int_type:
  %si = icmp eq ptr %type, @PyLong_Type
  br i1 %si, label %same_int_value, label %miss
same_int_value:
  %siv = call i64 @PyLong_AsLongLongAndOverflow(ptr %a, ptr %overflow)
  %sio = load i32, ptr %overflow
  %siw = load i64, ptr %w3
  %si1 = icmp eq i64 %siv, %siw
  %si2 = icmp eq i32 %sio, 0
  %si3 = and i1 %si1, %si2
  br i1 %si3, label %passed, label %miss
SAME_FLOAT:
  %sf = icmp eq ptr %type, @PyFloat_Type
  br i1 %sf, label %same_float_bits, label %miss
same_float_bits:
  %sfv = call double @PyFloat_AsDouble(ptr %a)
  %sfb = bitcast double %sfv to i64
  %sfw = load i64, ptr %w2
  %sf1 = icmp eq i64 %sfb, %sfw
  br i1 %sf1, label %passed, label %miss
SAME_STR:
  br i1 %identical, label %passed, label %same_str_type
same_str_type:
  %ss = icmp eq ptr %type, @PyUnicode_Type
  br i1 %ss, label %same_str_text, label %miss
same_str_text:
  %ssc = call i32 @PyUnicode_Compare(ptr %a, ptr %object)
  %ss1 = icmp eq i32 %ssc, 0
  br i1 %ss1, label %passed, label %miss
"""

NUMBERS = """
INT:
  %is_int = icmp eq ptr %type, @PyLong_Type
  br i1 %is_int, label %int_value, label %miss
int_value:
  %int = call i64 @PyLong_AsLongLongAndOverflow(ptr %a, ptr %overflow)
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  %low = load i64, ptr %w2
  %high = load i64, ptr %w3
  %above = icmp sge i64 %int, %low
  %below = icmp sle i64 %int, %high
  %in1 = and i1 %above, %below
  %in2 = and i1 %in1, %fits
  br i1 %in2, label %int_class, label %miss
int_class:
  %ic = load i64, ptr %w4
  %i_low = and i64 %int, 15
  %i_16 = icmp eq i64 %i_low, 0
  %i_1 = icmp eq i64 %int, 1
  %want_16 = icmp eq i64 %ic, BY_16
  %want_not_16 = icmp eq i64 %ic, NOT_BY_16
  %want_not_1 = icmp eq i64 %ic, NOT_1
  %not_16 = xor i1 %i_16, true
  %bad1 = and i1 %want_16, %not_16
  %odd = or i1 %i_16, %i_1
  %bad2 = and i1 %want_not_16, %odd
  %bad3 = and i1 %want_not_1, %i_1
  %bad12 = or i1 %bad1, %bad2
  %bad = or i1 %bad12, %bad3
  br i1 %bad, label %miss, label %store
FLOAT32:
  %is_f32 = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_f32, label %float32, label %miss
float32:
  %f32d = call double @PyFloat_AsDouble(ptr %a)
  %f32 = fptrunc double %f32d to float
  %f32b = bitcast float %f32 to i32
  %single = zext i32 %f32b to i64
  br label %store
FLOAT64:
  %is_f64 = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_f64, label %float64, label %miss
float64:
  %f64 = call double @PyFloat_AsDouble(ptr %a)
  %double = bitcast double %f64 to i64
  br label %store
BOOL:
  br label %bool
bool:
  %is_true = icmp eq ptr %a, @_Py_TrueStruct
  br i1 %is_true, label %store, label %not_true
not_true:
  %is_false = icmp eq ptr %a, @_Py_FalseStruct
  br i1 %is_false, label %store, label %miss
"""

# numpy's array: data at 16, dtype at 56 (its C interface, unchanged since 1.7 and in 2.x).
# torch's tensor: its C interface is asked (torch_tensor.py); each of its functions gives 0 or an error.
ARRAYS = """
NUMPY:
  %np_data_at = getelementptr i8, ptr %a, i64 16
  %np_dtype_at = getelementptr i8, ptr %a, i64 56
  %is_np = icmp eq ptr %type, %object
  br i1 %is_np, label %np_dtype, label %miss
np_dtype:
  %np_d = load ptr, ptr %np_dtype_at
  %np_w = load ptr, ptr %w3
  %np_same = icmp eq ptr %np_d, %np_w
  br i1 %np_same, label %np_data, label %miss
np_data:
  %np_address = load i64, ptr %np_data_at
  br label %address_class
TORCH:
  %is_t = icmp eq ptr %type, %object
  br i1 %is_t, label %t_owned, label %miss
t_owned:                                ; the flag before it says whether the tensor is in the object or elsewhere
  %t_offset = load i64, ptr @naiad_torch
  %t_at = getelementptr i8, ptr %a, i64 %t_offset
  %t_flag_at = getelementptr i8, ptr %a, i64 16
  %t_flag = load i8, ptr %t_flag_at
  %t_in_place = icmp eq i64 %t_offset, 16
  %t_not_borrowed = icmp eq i8 %t_flag, 0
  %t_fine = or i1 %t_in_place, %t_not_borrowed
  br i1 %t_fine, label %t_device, label %miss
t_device:
  %t1 = getelementptr ptr, ptr @naiad_torch, i64 1
  %t_get1 = load ptr, ptr %t1
  %t_error1 = call i32 %t_get1(ptr %t_at, ptr %overflow)
  %t_where = load i32, ptr %overflow
  %t_bad1 = or i32 %t_error1, %t_where
  %t_on_cpu = icmp eq i32 %t_bad1, 0
  br i1 %t_on_cpu, label %t_dtype, label %miss
t_dtype:
  %t2 = getelementptr ptr, ptr @naiad_torch, i64 2
  %t_get2 = load ptr, ptr %t2
  %t_error2 = call i32 %t_get2(ptr %t_at, ptr %overflow)
  %t_kind = load i32, ptr %overflow
  %t_wanted = load i32, ptr %w3
  %t_other = xor i32 %t_kind, %t_wanted
  %t_bad2 = or i32 %t_error2, %t_other
  %t_same = icmp eq i32 %t_bad2, 0
  br i1 %t_same, label %t_data, label %miss
t_data:
  %t3 = getelementptr ptr, ptr @naiad_torch, i64 3
  %t_get3 = load ptr, ptr %t3
  %t_error3 = call i32 %t_get3(ptr %t_at, ptr %pointer)
  %t_value = load i64, ptr %pointer
  %t_good = icmp eq i32 %t_error3, 0
  br i1 %t_good, label %address_class, label %miss
address_class:
  %address = phi i64 [ %np_address, %np_data ], [ %t_value, %t_data ]
  %ac = load i64, ptr %w4
  %a_low = and i64 %address, 15
  %a_16 = icmp eq i64 %a_low, 0
  %a_want = icmp eq i64 %ac, BY_16
  %a_want_not = icmp eq i64 %ac, NOT_BY_16
  %a_not = xor i1 %a_16, true
  %a_bad1 = and i1 %a_want, %a_not
  %a_bad2 = and i1 %a_want_not, %a_16
  %a_bad = or i1 %a_bad1, %a_bad2
  br i1 %a_bad, label %miss, label %store
"""

RUN = """
run:
{kernel_word: KERNEL}
{programs: PROGRAMS}
{grain: GRAIN}
{handle_word: HANDLE}
  %kernel = inttoptr i64 %kernel_word to ptr
  %handle = inttoptr i64 %handle_word to ptr
  %status_slot = getelementptr i64, ptr %slots, i64 3
  store ptr %status, ptr %status_slot
  %some = icmp sgt i64 %programs, 0
  br i1 %some, label %where, label %done
where:
  %small = icmp eq i64 %grain, 0
  br i1 %small, label %here, label %pooled
here:
  call void %kernel(i64 0, i64 %programs, ptr %slots)
  br label %ran
pooled:
  %thread = call ptr @PyEval_SaveThread()
  call void @naiad_pool_run(ptr %kernel, i64 %programs, i64 %grain, ptr %slots)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
ran:
  %code = load i64, ptr %status
  %good = icmp eq i64 %code, 0
  br i1 %good, label %done, label %failed
done:
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
  %answer = call ptr @PyObject_Vectorcall(ptr %fallback, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}
"""


def launcher_text(record_offset: int) -> str:
    """The launcher; `record_offset` is where a bytes object's data begins, in bytes from its address."""
    text = DECLARATIONS + CALL_FORM + CONSTANTS + NUMBERS + ARRAYS + RUN
    for word in Header:
        before, marker, after = text.partition(f": {word.name}}}")
        if marker:
            before, _, register = before.rpartition("{")
            at = f"  %{register}_at_ = getelementptr i64, ptr %record, i64 {word.value}"
            text = f"{before}{at}\n  %{register} = load i64, ptr %{register}_at_{after}"
    cases = " ".join(f"i64 {kind.value}, label %{kind.name}" for kind in Guard)
    numbers = {"METHOD_FLAGS": METHOD_FLAGS, "HEADER_WORDS": HEADER_WORDS, "GUARD_WORDS": GUARD_WORDS}
    text = text.replace("CASES", cases).replace("RECORD_OFFSET", str(record_offset))
    for name in ("NOT_BY_16", "BY_16", "NOT_1"):
        text = text.replace(name, str(Class[name].value))
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    return text
