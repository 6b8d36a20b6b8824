import numpy as np
import pytest
from hypothesis import settings

# No deadline: the first call of a kernel compiles it. Derandomised: a red test stays red.
settings.register_profile("dropglm", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("dropglm")


@pytest.fixture
def rng():
    return np.random.default_rng(20131)
