"""A PTX interpreter in numpy: runs kernels, thread blocks one after the other, on machines without a GPU.

    memory = Memory(); x = memory.put(array); launch(ptx, (grid,), [x, n], shared_bytes, memory); memory.get(x)

It checks what a GPU would not: accesses out of bounds or not aligned, threads that miss a barrier, shared memory that
is
read or overwritten without a barrier after another warp wrote it, and copies that are used before the wait for them.
"""

from .machine import EmulationError, Memory, launch

__all__ = ["EmulationError", "Memory", "launch"]
