"""How a native launcher runs a kernel on the CPU: on this thread if it is small, else on the pool without the GIL."""

import enum

from naiad.backends.launch.call_code import OWN_WORDS


class Word(enum.IntEnum):
    """The CPU's words of the record."""

    KERNEL = OWN_WORDS
    PROGRAMS = OWN_WORDS + 1
    GRAIN = OWN_WORDS + 2  # 0: run here and keep the GIL


DECLARATIONS = """
declare void @naiad_pool_run(ptr, i64, i64, ptr)
"""

RUN = """
run:
{kernel_word: KERNEL}
{programs: PROGRAMS}
{grain: GRAIN}
  %kernel = inttoptr i64 %kernel_word to ptr
  %status = alloca i64
  store i64 0, ptr %status
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
"""
