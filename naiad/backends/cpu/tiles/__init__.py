"""ttir -> ttcir: tiles become loops over vectors.

A tile value is a function from an index to lanes (`evaluate.py`); it is emitted again in each loop nest that needs
it, and lives in memory only where `plan.py` says so. Ops that must happen (`store.py`, `reduce.py`, `dot.py`, ...)
get a nest each.
"""
