"""The launcher's checks of single arguments, as LLVM text: a block for each kind of guard, named like the kind.

A block finds the argument in %a and its class in %type, the guard's words at %w2 to %w5, the first of these as an
object in %object, and whether that is the argument in %identical. It goes to %passed, to %store with a value for the
slot, or to %miss.
"""

import enum


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
    NUMPY = 8  # an array of (type, dtype, class, flags that it has)
    TORCH = 9  # a tensor of (type, number of the dtype, class, device: its type, its index in the high half or -1)


class Class(enum.IntEnum):
    """Which values of an int or an address were compiled for."""

    ANY = 0
    BY_16 = 1
    NOT_BY_16 = 2  # nor 1
    NOT_1 = 3


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

# numpy's array: data at 16, dtype at 56, flags at 64 (its C interface, unchanged since 1.7 and in 2.x).
NUMPY = """
NUMPY:
  %np_data_at = getelementptr i8, ptr %a, i64 16
  %np_dtype_at = getelementptr i8, ptr %a, i64 56
  %np_flags_at = getelementptr i8, ptr %a, i64 64
  %is_np = icmp eq ptr %type, %object
  br i1 %is_np, label %np_dtype, label %miss
np_dtype:
  %np_d = load ptr, ptr %np_dtype_at
  %np_w = load ptr, ptr %w3
  %np_same = icmp eq ptr %np_d, %np_w
  br i1 %np_same, label %np_flags, label %miss
np_flags:
  %np_f = load i32, ptr %np_flags_at
  %np_wanted = load i32, ptr %w5
  %np_has = and i32 %np_f, %np_wanted
  %np_all = icmp eq i32 %np_has, %np_wanted
  br i1 %np_all, label %np_data, label %miss
np_data:
  %np_address = load i64, ptr %np_data_at
  br label %address_class
"""

DEVICE_TYPE, DTYPE, DATA, DEVICE_INDEX = range(1, 5)
"""Where @naiad_torch has torch_tensor.GETTERS."""


def asked(getter: int, answer: str = "i32", place: str = "%overflow") -> str:
    """Lines that ask torch's C interface (torch_tensor.py) about the tensor at %t_at.

    %t_said and the getter's number is what it says, if %t_error and the number is 0.
    """
    return f"""\
  %t_getter{getter} = getelementptr ptr, ptr @naiad_torch, i64 {getter}
  %t_get{getter} = load ptr, ptr %t_getter{getter}
  %t_error{getter} = call i32 %t_get{getter}(ptr %t_at, ptr {place})
  %t_said{getter} = load {answer}, ptr {place}
"""


def compared(getter: int, wanted: str, then: str) -> str:
    """Lines that ask, and go on to `then` where the answer is what the register `wanted` holds."""
    return f"""\
{asked(getter)}\
  %t_apart{getter} = xor i32 %t_said{getter}, {wanted}
  %t_bad{getter} = or i32 %t_error{getter}, %t_apart{getter}
  %t_good{getter} = icmp eq i32 %t_bad{getter}, 0
  br i1 %t_good{getter}, label {then}, label %miss
"""


TORCH = f"""
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
  %t_device_wanted = load i32, ptr %w5
{compared(DEVICE_TYPE, "%t_device_wanted", "%t_which")}\
t_which:
  %t_index_at = getelementptr i32, ptr %w5, i64 1
  %t_index_wanted = load i32, ptr %t_index_at
  %t_any = icmp eq i32 %t_index_wanted, -1
  br i1 %t_any, label %t_dtype, label %t_index
t_index:
{compared(DEVICE_INDEX, "%t_index_wanted", "%t_dtype")}\
t_dtype:
  %t_dtype_wanted = load i32, ptr %w3
{compared(DTYPE, "%t_dtype_wanted", "%t_data")}\
t_data:
{asked(DATA, "i64", "%pointer")}\
  %t_sound = icmp eq i32 %t_error{DATA}, 0
  br i1 %t_sound, label %address_class, label %miss
"""

ADDRESS = f"""
address_class:
  %address = phi i64 [ %np_address, %np_data ], [ %t_said{DATA}, %t_data ]
  %null = icmp eq i64 %address, 0         ; of an empty tensor, or of one without memory: Python finds out
  br i1 %null, label %miss, label %address_bits
address_bits:
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

ARRAYS = NUMPY + TORCH + ADDRESS
