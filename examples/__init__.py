"""Kernels as Triton users write them. Each file runs alone: `python examples/softmax.py`."""
