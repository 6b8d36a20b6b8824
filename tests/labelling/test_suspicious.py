"""Labels that were exchanged are found."""

import pytest

from dropglm.labelling import LabellingSession, suspicious
from dropglm.labelling.panels import none_suspicious, suspects
from dropglm.labelling.pool import look_for_suspicious


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
    assert look_for_suspicious(topics[0], labels) == ([], False)


@pytest.mark.parametrize(
    ("period", "sentence"),
    [
        (1, "No label looks wrong to the model, whose accuracy is not known yet."),
        (2, "The model is not good enough yet to tell wrong labels from right ones."),
    ],
)
def test_an_empty_list_says_whether_the_model_could_tell(tmp_path, period, sentence):
    """Every second label is exchanged, so that nothing can be learnt, or none."""
    texts = [f"{word} {word} item{k}" for k in range(20) for word in ("lovely", "dull")]
    labels = {k: "ab"[(k + k // 2 % period) % 2] for k in range(40)}
    with LabellingSession(texts, tmp_path / "a.labels.jsonl", labels=labels) as session:
        assert session.wait(120)
        session.look_for_suspects()
        assert session.wait(120)
        assert suspects(session) == []
        assert none_suspicious(session) == sentence
