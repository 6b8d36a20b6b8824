"""A pool with very few labels, classes of one text, and classes that are added or renamed."""

import numpy as np
import pytest

from dropglm.labelling import TextPool, choose_texts

NOUNS = ("film", "song", "cast", "plot", "book", "play", "tale", "show", "opera", "novel")


@pytest.fixture(scope="module")
def pool():
    return TextPool([f"a {word} {noun}" for noun in NOUNS for word in ("lovely", "dull", "long")])


@pytest.mark.parametrize("labels", [{}, {0: "good"}, {0: "good", 3: "good"}], ids=["none", "one", "two"])
def test_with_fewer_than_two_classes_nothing_is_learnt(pool, labels):
    model = pool.fit(labels)
    assert not model.is_trained
    assert model.probabilities.shape == (len(pool), len(set(labels.values())))
    assert (model.probabilities == 1.0).all()
    assert model.words_behind(0) == []
    assert not any(model.words_of_classes().values())
    chosen = choose_texts(model.probabilities, pool.latent, labels, size=5)
    assert len(set(chosen)) == 5
    assert not set(chosen) & set(labels)


def test_two_labels_are_enough_for_a_model(pool):
    model = pool.fit({0: "good", 1: "bad"})
    assert model.classes == ["bad", "good"]
    np.testing.assert_allclose(model.probabilities.sum(axis=1), 1.0)
    assert (model.probabilities[::3, 1] > model.probabilities[1::3, 1]).all()


def test_a_class_may_be_added_with_one_text_and_renamed(pool):
    first = pool.fit({0: "good", 1: "bad"})
    second = pool.fit({0: "good", 1: "bad", 2: "slow"}, first)
    assert second.classes == ["bad", "good", "slow"]
    renamed = pool.fit({0: "good", 1: "awful", 2: "slow"}, second)
    assert renamed.classes == ["awful", "good", "slow"]
    np.testing.assert_allclose(renamed.probabilities, second.probabilities, atol=1e-3)


def test_a_label_of_a_text_that_does_not_exist_is_refused(pool):
    with pytest.raises(ValueError, match="numbered 0 to 29"):
        pool.fit({30: "good"})
