"""`import triton` in a process that got the sys.path of one with the drop-in: from here on it is naiad."""

import importlib
import sys

from naiad import compat

del sys.modules["triton"]
compat.install()
importlib.import_module("triton")  # the import that led here takes what stands in sys.modules at its end
