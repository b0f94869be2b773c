"""Every run of the tests has a cache of kernels of its own: what other runs and checkouts left does not change it."""

import atexit
import os
import shutil
import tempfile

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers share that of the process that started them
    folder = tempfile.mkdtemp(prefix="naiad-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["TRITON_CACHE_DIR"] = folder
