"""Stand-ins for tensors: MockTensor has a dtype and no memory, TensorWrapper another dtype for the same memory."""

import sys
from typing import Any


class MockTensor:
    """A tensor for `kernel.warmup(MockTensor(torch.float32), ...)`: aligned, of any device."""

    @staticmethod
    def wrap_dtype(argument: Any) -> Any:
        """A MockTensor where the argument is a dtype of torch or numpy, else the argument."""
        kind = type(argument)
        if kind.__name__ == "dtype" and kind.__module__ == "torch":
            return MockTensor(argument)
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return argument
        is_scalar_type = isinstance(argument, type) and issubclass(argument, numpy.generic)
        is_dtype = is_scalar_type or isinstance(argument, numpy.dtype)
        return MockTensor(numpy.dtype(argument)) if is_dtype else argument

    def __init__(self, dtype: Any, shape: Any = None) -> None:
        self.dtype = dtype
        self.shape = [1] if shape is None else shape

    def stride(self) -> tuple[int, ...]:
        """The strides of a contiguous tensor of this shape, in elements."""
        strides = [1]
        for size in self.shape[:0:-1]:
            strides.append(strides[-1] * size)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr() -> int:
        return 0

    @staticmethod
    def ptr_range() -> int:
        return 0


class TensorWrapper:
    """The memory of `base` under another dtype of triton.language: what torch has no dtype for."""

    def __init__(self, base: Any, dtype: Any) -> None:
        self.dtype = dtype
        self.base = base
        self.data = base.data
        self.device = base.device
        self.shape = base.shape

    @property
    def is_cpu(self) -> bool:
        return getattr(self.base, "is_cpu", True)

    def data_ptr(self) -> int:
        return self.base.data_ptr()

    def stride(self, *dimension: int) -> Any:
        return self.base.stride(*dimension)

    def element_size(self) -> int:
        return self.base.element_size()

    def cpu(self) -> "TensorWrapper":
        return TensorWrapper(self.base.cpu(), self.dtype)

    def copy_(self, other: "TensorWrapper") -> None:
        self.base.copy_(other.base)

    def clone(self) -> "TensorWrapper":
        return TensorWrapper(self.base.clone(), self.dtype)

    def to(self, device: Any) -> "TensorWrapper":
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes: Any) -> "TensorWrapper":
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """`tensor` with its memory read as `dtype`; its own dtype takes the wrapper off again."""
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"Cannot reinterpret a {type(tensor)}.")
