PYTHON ?= .venv/bin/python

help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

check:  ## linters and types
	$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check . && $(PYTHON) -m mypy

test:  ## all quick tests
	$(PYTHON) -m pytest -n 2

slow:  ## the slow tests
	$(PYTHON) -m pytest -n 2 -m slow

fuzz:  ## ten minutes of random kernels, interpreter against CPU, and ten against NVIDIA code on the emulator
	$(PYTHON) -m naiad.tools.fuzz --seconds 600
	$(PYTHON) -m tests.fuzz.emulated --seconds 600

bench:  ## the CPU benchmarks, side by side with torch
	$(PYTHON) benchmarks/cpu.py

.PHONY: help check test slow fuzz bench
