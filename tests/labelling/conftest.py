"""A pool of synthetic texts, with true labels."""

import pytest

from dropglm.labelling import TextPool
from tests.labelling.texts import topic_texts


@pytest.fixture(scope="session")
def topics():
    """A pool and the topics of its texts."""
    texts, truth = topic_texts()
    return TextPool(texts), truth
