"""Settings for all tests and doctests: draw without a screen, close every figure, and hear Ctrl-C."""

import os
import signal
import sys

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")

# A shell lets the jobs in the background of a script ignore Ctrl-C, and their children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
