"""Where in a kernel's source the interpreter is: from the stack, or from an error's traceback."""

import linecache
import sys
from types import CodeType, FrameType, TracebackType

_codes: set[CodeType] = set()


def register(code: CodeType) -> None:
    """Makes `code` known as that of an interpreted function."""
    _codes.add(code)


def is_interpreted(code: CodeType) -> bool:
    return code in _codes


def current() -> str:
    """The innermost line of interpreted code that is being run: `file:line: in function`, and the line."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not is_interpreted(frame.f_code):
        frame = frame.f_back
    return _text(frame, frame.f_lineno) if frame else ""


def of(error: BaseException) -> str:
    """The innermost line of interpreted code that `error` went through."""
    found = ""
    step: TracebackType | None = error.__traceback__
    while step is not None:
        if is_interpreted(step.tb_frame.f_code):
            found = _text(step.tb_frame, step.tb_lineno)
        step = step.tb_next
    return found


def _text(frame: FrameType, line: int) -> str:
    file = frame.f_code.co_filename
    return f"{file}:{line}: in {frame.f_code.co_name}\n    {linecache.getline(file, line).strip()}"
