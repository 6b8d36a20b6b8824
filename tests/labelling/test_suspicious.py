"""Labels that were exchanged are found."""

import pytest

from dropglm.labelling import suspicious


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
