"""The warning about classes whose names differ only in case or in blanks."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm import TextClassifier
from dropglm.text.similar_classes import MOST_LISTED, similar_classes, warn_similar_classes

NAMES = st.lists(st.sampled_from(["a", "A", " a", "a b", "A  B ", "b", "B", "ß", "SS", 1, "1"]), unique=True)


@given(NAMES)
def test_groups_are_the_labels_with_the_same_letters_and_words(labels):
    def same(one, other):
        return [word.casefold() for word in one.split()] == [word.casefold() for word in other.split()]

    names = [label for label in labels if isinstance(label, str)]
    found = similar_classes(labels)
    for one in names:
        group = [other for other in names if same(one, other)]
        assert (group in found) == (len(group) > 1)
    assert sum(map(len, found)) <= len(names)


def test_fit_warns_with_names_and_counts():
    texts, y = ["good film", "bad film", "good", "bad"], ["Spam", "ham", "spam ", "ham"]
    expected = (
        "Some classes differ only in case or in blanks: 'Spam' (1 text) and 'spam ' (1 text). "
        "If they mean the same, give them the same name."
    )
    for labels in (y, np.array(y), np.array(y, object)):
        with pytest.warns(UserWarning, match="differ only") as caught:
            TextClassifier(tune=False, min_df=1).fit(texts, labels)
        assert [str(one.message) for one in caught] == [expected]
        assert caught[0].filename == __file__


def test_many_groups_are_cut_short():
    labels = [case(f"class {k}") for k in range(MOST_LISTED + 2) for case in (str.upper, str.lower)]
    with pytest.warns(UserWarning, match="'class 4'; and 2 more groups. If"):
        warn_similar_classes(dict.fromkeys(labels))


def test_other_labels_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_similar_classes({"a": 1, "b": 2, "a b": None, 1: 3, 2.5: 1})
