"""A process that compiles the functions of a fit while texts are read and the first ones are labelled.

After an installation this takes 14 s. The machine code is stored in files, where the process that fits models
finds it; later, there is nothing to compile. A thread would not do: it would hold the interpreter's lock, and
compile one function after the other.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any


@contextmanager
def compiling() -> Iterator[None]:
    """Compile in another process, unless there is only one core; it ends with the block at the latest."""
    # -P: modules of the same names in the current folder are not imported.
    command = [sys.executable, "-P", "-m", "dropglm.labelling.compiling"]
    quiet: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = None
    with suppress(OSError):
        process = subprocess.Popen(command, **quiet) if (os.cpu_count() or 1) > 1 else None
    if process is not None:  # the system keeps a process that has ended until somebody asks for its status
        threading.Thread(target=process.wait, name="compiling", daemon=True).start()
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def compile_fits() -> None:
    """Fit models to small matrices of the same types as those of a ``TextPool``."""
    import numpy as np
    from scipy.sparse import random_array

    from dropglm.base.blocks import Blocks
    from dropglm.core.design import Design
    from dropglm.labelling.pool import LabeledTexts, choose_settings, refit

    rng = np.random.default_rng(0)
    X = random_array((12, 30), density=0.3, format="csr", dtype=np.float32, rng=rng)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    pool: Any = SimpleNamespace(
        X=X,
        features=Blocks(X, rng.random((12, 3), dtype=np.float32)),
        design=Design(X, threads=1).by_columns(),
        sample=np.arange(12),
        n_jobs=1,
    )
    for classes in (2, 3):  # blends have a loop for two classes, and one for more
        labeled = LabeledTexts.of({number: str(number % classes) for number in range(2 * classes)})
        refit(pool, labeled, choose_settings(pool, labeled)[0])


if __name__ == "__main__":
    with suppress(AttributeError, OSError):
        os.nice(5)
    compile_fits()
