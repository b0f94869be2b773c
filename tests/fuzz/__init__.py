"""Random kernels, interpreter against CPU: a fixed slice of what `python -m naiad.tools.fuzz` does."""
