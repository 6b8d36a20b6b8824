"""Time until the first result, measured in fresh processes.

python -m benchmarks.cold_start
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

IMPORT = """
import time
import sklearn.linear_model
start = time.perf_counter()
from dropglm import LogisticRegression
print(time.perf_counter() - start)
"""

FIRST_CALL = """
import time
import numpy as np
from scipy import sparse
from dropglm import noising_penalty
X = sparse.random_array((1000, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
start = time.perf_counter()
noising_penalty(np.ones(500), X, dropout=0.5, expectation={expectation!r}, return_gradient=True)
print(time.perf_counter() - start)
"""

FIRST_TEXTS = """
import time
from dropglm import TextClassifier
texts = ["a fine film", "a dull film"] * 10
start = time.perf_counter()
TextClassifier(tune=False).fit(texts, [1, 0] * 10).predict(texts)
print(time.perf_counter() - start)
"""


def seconds(code: str, cache: str, runs: int) -> float:
    """Return the median of the number that the code prints, over processes with Numba's cache in a folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", code]
    return float(
        np.median([float(subprocess.check_output(command, env=environment, text=True)) for _ in range(runs)])
    )


def measure() -> list[tuple[str, str]]:
    """Return rows of (task, time)."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        rows.append(
            (
                "`from dropglm import LogisticRegression` after `import sklearn.linear_model`",
                seconds(IMPORT, cache, runs=5),
            )
        )
    first = {
        f"first {expectation} penalty with gradient": FIRST_CALL.format(expectation=expectation)
        for expectation in ("gaussian", "exact")
    }
    for what, code in (first | {"first fit and prediction of a TextClassifier": FIRST_TEXTS}).items():
        with tempfile.TemporaryDirectory() as cache:
            rows.append((f"{what}, including compilation", seconds(code, cache, runs=1)))
            rows.append((f"{what}, compiled code cached", seconds(code, cache, runs=5)))
    return [(what, f"{time:.2f} s") for what, time in rows]


if __name__ == "__main__":
    for what, time in measure():
        print(f"{what:<70}{time:>8}")
