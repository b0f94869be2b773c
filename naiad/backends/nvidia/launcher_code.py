"""How a native launcher runs a kernel on a GPU: the driver is asked, without the GIL, on torch's current stream or on
the one that the launcher was made for.

A thread whose context is not that of the kernel takes the Python path, which knows what to do.
"""

import enum

from naiad.backends.launch.call_code import OWN_WORDS


class Word(enum.IntEnum):
    """The GPU's words of the record."""

    FUNCTION = OWN_WORDS
    CONTEXT = OWN_WORDS + 1
    STREAM = OWN_WORDS + 2  # the callable that gives the current stream of the device; 0: the launcher has its own,
    DEVICE = OWN_WORDS + 3  # which is this word. Else this is the device, an int object
    ATTRIBUTES_AT = OWN_WORDS + 4  # bytes from the record's start: the attributes of the launch
    CONFIG_AT = OWN_WORDS + 5  # CUlaunchConfig, without stream and attributes


DECLARATIONS = """
declare i32 @cuCtxGetCurrent(ptr)
declare i32 @cuLaunchKernelEx(ptr, ptr, ptr, ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyErr_Occurred()
"""

# CUlaunchConfig: sizes of the grid and of a block, bytes of shared memory (7 i32); at 32 the stream, at 40 the
# attributes, at 48 their number (i32).
RUN = """
run:
{context: CONTEXT}
  %cu_error = call i32 @cuCtxGetCurrent(ptr %pointer)
  %current = load i64, ptr %pointer
  %same_context = icmp eq i64 %current, %context
  br i1 %same_context, label %ready, label %miss
ready:
  %parameters = alloca ptr, i64 %count
  br label %next_parameter
next_parameter:
  %p = phi i64 [ 0, %ready ], [ %p1, %parameter ]
  %more_parameters = icmp slt i64 %p, %count
  br i1 %more_parameters, label %parameter, label %ask
parameter:
  %p_slot = getelementptr i64, ptr %slots, i64 %p
  %p_at = getelementptr ptr, ptr %parameters, i64 %p
  store ptr %p_slot, ptr %p_at
  %p1 = add i64 %p, 1
  br label %next_parameter
ask:
{stream_word: STREAM}
{device_word: DEVICE}
  %asked = inttoptr i64 %stream_word to ptr
  %device = inttoptr i64 %device_word to ptr
  %has_own = icmp eq i64 %stream_word, 0
  br i1 %has_own, label %launch, label %look_up
look_up:
  %stream_object = call ptr @PyObject_CallOneArg(ptr %asked, ptr %device)
  %no_stream = icmp eq ptr %stream_object, null
  br i1 %no_stream, label %error, label %answered
answered:
  %current_stream = call ptr @PyLong_AsVoidPtr(ptr %stream_object)
  call void @Py_DecRef(ptr %stream_object)
  %maybe = icmp eq ptr %current_stream, null
  br i1 %maybe, label %was_int, label %launch
was_int:
  %exception = call ptr @PyErr_Occurred()
  %was_none = icmp eq ptr %exception, null
  br i1 %was_none, label %launch, label %error
launch:
  %stream = phi ptr [ %device, %ask ], [ %current_stream, %answered ], [ null, %was_int ]
{attributes_at: ATTRIBUTES_AT}
{function_word: FUNCTION}
  %attributes = getelementptr i8, ptr %record, i64 %attributes_at
  %function = inttoptr i64 %function_word to ptr
  %config = alloca [7 x i64]
  %config_from = getelementptr i64, ptr %record, i64 CONFIG_AT
  %config_words = load [7 x i64], ptr %config_from
  store [7 x i64] %config_words, ptr %config
  %config_stream = getelementptr i8, ptr %config, i64 32
  store ptr %stream, ptr %config_stream
  %config_attributes = getelementptr i8, ptr %config, i64 40
  store ptr %attributes, ptr %config_attributes
  %thread = call ptr @PyEval_SaveThread()
  %result = call i32 @cuLaunchKernelEx(ptr %config, ptr %function, ptr %parameters, ptr null)
  call void @PyEval_RestoreThread(ptr %thread)
  %code = zext i32 %result to i64
  %good = icmp eq i32 %result, 0
  br i1 %good, label %done, label %failed
"""
