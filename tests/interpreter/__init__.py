"""Tests of the interpreter: kernels run as Python on numpy tiles."""
