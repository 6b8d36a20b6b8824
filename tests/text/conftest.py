import numpy as np
import pytest

from dropglm import TextClassifier
from tests.text.synthetic import random_text


@pytest.fixture
def corpus(rng):
    y = np.array(["good", "bad"] * 40)
    return (
        [random_text(label, rng) for label in y],
        y,
        [random_text(label, rng) for label in ["good", "bad"] * 30],
    )


@pytest.fixture
def few(rng):
    """Sixteen texts with labels, and sixty without."""
    y = np.array(["good", "bad"] * 8)
    return [random_text(label, rng) for label in y], y, [random_text(c, rng) for c in ("good", "bad") * 30]


@pytest.fixture
def fitted(corpus):
    texts, y, more = corpus
    return TextClassifier(tune=False, l2=0.3, tol=1e-4).fit(texts, y, X_unlabeled=more)
