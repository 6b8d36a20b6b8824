"""Without the extra, one sentence says what to install."""

import subprocess
import sys

import pytest

# Numba has modules of the same names, which numba-cuda replaces by its own.
HIDDEN = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if "numba_cuda" not in type(one).__module__.lower()
                    and "NumbaCuda" not in type(one).__name__ and "numba_cuda" not in repr(one)]
sys.modules["numba_cuda"] = None
import numpy as np
from dropglm import LinearRegression, LogisticRegression, LogisticRegressionCV, PoissonRegressor
for model in (LinearRegression, LogisticRegression, LogisticRegressionCV, PoissonRegressor):
    try:
        model(device="cuda").fit(np.eye(4), [0, 1, 0, 1])
    except ImportError as error:
        print(error)
"""


@pytest.mark.filterwarnings("default")
def test_every_estimator_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, timeout=120)
    sentence = "device=\"cuda\" needs numba_cuda; install it with: pip install 'dropglm[cuda]'."
    assert done.stdout.splitlines() == [sentence] * 4, done.stderr
