"""Random small kernels that run in the interpreter and compiled on the CPU, and must give the same.

python -m naiad.tools.fuzz --seconds 600 --seed 1        # prints each failing kernel, shortened
python -m naiad.tools.fuzz --only 4711 --drop 3,5        # that kernel again

A kernel is made from its seed alone (generator.py); integers must agree bit for bit, floats within the bound that the
generator carries along with each value (values.py); compare.py runs it, minimise.py shortens it.
"""
