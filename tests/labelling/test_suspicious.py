"""Labels that were exchanged are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm.labelling import suspicious
from dropglm.labelling.suspicious import probabilities_right


def test_exchanged_labels_are_listed_first(topics):
    pool, truth = topics
    labels = {i: str(truth[i]) for i in range(120)}
    wrong = [3, 40, 77, 101]
    for i in wrong:
        labels[i] = "food" if truth[i] != "food" else "music"
    found = suspicious(pool, labels)
    assert set(wrong) <= {one.row for one in found[:6]}
    for one in found:
        assert one.text == pool.texts[one.row]
        assert one.label == labels[one.row] != one.predicted
    assert suspicious(pool, labels, k=2) == found[:2]


@pytest.mark.parametrize("labels", [{}, {0: "a"}, {0: "a", 1: "a"}, {0: "a", 1: "b"}], ids=len)
def test_too_few_labels_say_nothing(topics, labels):
    assert suspicious(topics[0], labels) == []


@given(share=st.floats(0.01, 0.33), own=st.floats(0.0, 1.0), K=st.integers(2, 6))
def test_weights_follow_bayes_rule(share, own, K):
    """P(right | label) by enumerating the true class, with wrong labels spread evenly."""
    p = np.full((1, K), (1.0 - own) / (K - 1))
    p[0, 0] = own
    likelihood = np.full(K, share / (K - 1))
    likelihood[0] = 1.0 - share
    expected = (p[0] * likelihood)[0] / (p[0] * likelihood).sum()
    assert probabilities_right(p, np.array([0]), share)[0] == pytest.approx(expected, abs=1e-12)


def test_texts_that_were_never_held_out_count_as_right():
    assert probabilities_right(np.full((1, 3), np.nan), np.array([1]), 0.1)[0] == 1.0
