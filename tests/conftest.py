"""Every run of the tests has a cache of kernels of its own: what other runs and checkouts left does not change it.

Laws are checked however slow the machine is just then.
"""

import atexit
import os
import shutil
import tempfile

from hypothesis import HealthCheck, settings

settings.register_profile("naiad", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("naiad")

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers share that of the process that started them
    folder = tempfile.mkdtemp(prefix="naiad-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["TRITON_CACHE_DIR"] = folder
