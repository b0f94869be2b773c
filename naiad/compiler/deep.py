"""Room for deep recursion: a long chain of operations on tiles, an unrolled sum, is walked from its end to its start.

Python's limit is there for mistakes, and the stack of a thread is not much larger: such a walk gets its own thread.
"""

import contextvars
import sys
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["deeply"]
STACK = 256 << 20
"""Bytes of stack; memory is taken as far as it is used."""
FRAMES = 100_000
_turn = threading.Lock()


def deeply(function: Callable[[], Any]) -> Any:
    """What `function` gives, run where it may recurse deeply. Its exceptions come out as they are."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(body,), name="naiad-deep")
    with _turn:
        limit, size = sys.getrecursionlimit(), threading.stack_size(STACK)
        try:
            sys.setrecursionlimit(FRAMES)
            thread.start()
            threading.stack_size(size)
            thread.join()
        finally:  # no thread can be started, or Ctrl-C
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
