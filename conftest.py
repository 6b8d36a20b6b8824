"""Settings for all tests and doctests: no screen, no cache of embeddings, no open figures, and Ctrl-C."""

import os
import signal
import sys

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ["DROPGLM_EMBEDDING_CACHE"] = "0"  # tests of the cache set their own folder

# A shell lets the jobs in the background of a script ignore Ctrl-C, and their children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
