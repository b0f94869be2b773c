"""Whether kernels are being compiled ahead: the AsyncCompileMode that is active here, or None."""

from contextvars import ContextVar
from typing import Any

active_mode: ContextVar[Any] = ContextVar("naiad_async_compile_mode", default=None)
