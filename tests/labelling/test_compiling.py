"""Everything that a fit needs is compiled beforehand, and nothing of that delays labelling."""

import time

from dropglm.labelling.compiling import compiling
from tests.cli.command import run_process

FIT = """
import gc, sys
from numba.core.dispatcher import Dispatcher
from dropglm.labelling.compiling import compile_fits
from dropglm.labelling import TextPool
from tests.labelling.texts import topic_texts

def versions():
    return sum(len(one.signatures) for one in gc.get_objects() if isinstance(one, Dispatcher))

texts, truth = topic_texts()
pool = TextPool(texts, n_jobs=1)
assert len(pool.features.blocks) == 2
compile_fits()
before = versions()
for n, classes in ((2, 2), (6, 2), (9, 3), (40, 3)):
    pool.fit({k: str(k % classes) for k in range(n)}).words_of_classes()
assert before == versions() > 20, (before, versions())
"""


def test_fits_compile_nothing_that_was_not_compiled_before(tmp_path):
    done = run_process(cwd=".", wrapper=("-c", FIT))
    assert done.returncode == 0, done.stderr.decode()


def test_the_process_ends_with_the_block():
    begin = time.perf_counter()
    with compiling():
        pass
    assert time.perf_counter() - begin < 5.0
