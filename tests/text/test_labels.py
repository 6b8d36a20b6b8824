"""Hints at classes whose names look alike or mark missing labels."""

import ast
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm import TextClassifier
from dropglm.text.labels import (
    MOST_LISTED,
    class_hints,
    quoted,
    similar_classes,
    warn_about_classes,
)

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
        "Some classes differ only in case or whitespace, or look alike: 'Spam' (1 text) and 'spam ' (1 text)."
        " If they mean the same, give them the same name."
    )
    for labels in (y, np.array(y), np.array(y, object)):
        with pytest.warns(UserWarning, match="differ only") as caught:
            TextClassifier(tune=False, min_df=1).fit(texts, labels)
        assert [str(one.message) for one in caught] == [expected]
        assert caught[0].filename == __file__


def test_many_groups_are_cut_short():
    labels = [case(f"class {k}") for k in range(MOST_LISTED + 2) for case in (str.upper, str.lower)]
    with pytest.warns(UserWarning, match="'class 4'; and 2 more groups. If"):
        warn_about_classes(dict.fromkeys(labels))


def test_other_labels_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_classes({"a": 1, "b": 2, "a b": None, 1: 3, 2.5: 1})
        warn_about_classes({-1: 5, 1: 5})  # a usual pair of classes
        warn_about_classes(dict.fromkeys(["-2", "-1", "0", "1", "2"]))  # a scale
        warn_about_classes(dict.fromkeys(["banana", "nancy", "no", "other", "-x"]))


INVISIBLE = ["\u200b", "\u200c", "\u200d", "\ufeff", "\xad", "\u2060"]


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("sound", "sound ", "'sound' and 'sound '"),
        ("caf\u00e9", "cafe\u0301", "'café' and 'cafe\\u0301'"),
        ("CAF\u00c9", "cafe\u0301", "'CAFÉ' and 'cafe\\u0301'"),
        ("a b", "a\xa0b", "'a b' and 'a\\xa0b'"),
        *(("sound", f"so{one}und", f"'sound' and 'so{ascii(one)[1:-1]}und'") for one in INVISIBLE),
    ],
)
def test_names_that_look_alike_are_printed_so_that_they_differ(one, other, shown):
    (hint,) = class_hints(dict.fromkeys([one, other, "noise"]))
    assert f"look alike: {shown}. If they mean the same" in hint


@given(st.text())
def test_visible_names_have_no_invisible_characters_and_can_be_read_back(name):
    shown = quoted(name)
    assert shown.isprintable()
    assert ast.literal_eval(shown) == name


MARKS = ["NA", "nan", "N/A", "null", "None", "-", "?", "\u200b", "<NA>", "unlabeled", "-1", -1, -1.0]


@pytest.mark.parametrize("mark", MARKS, ids=ascii)
def test_marks_of_missing_labels_get_a_hint(mark):
    (hint,) = class_hints({"a": 2, "b": 2, mark: 1} if isinstance(mark, str) else {0: 2, 1: 2, mark: 1})
    assert hint == (
        f"The class {quoted(mark)} (1 text) may mark texts without a label. If so, leave the label "
        "empty in the table (None in Python)."
    )


@pytest.mark.parametrize("y", [["NA", "a", "b", "a"], np.array([-1, 0, 1, 0])], ids=["string", "integer"])
def test_a_fit_with_marks_of_missing_labels_warns(y):
    with pytest.warns(UserWarning, match="may mark texts without a label"):
        TextClassifier(tune=False, min_df=1).fit(["good film", "bad film", "good", "bad"], y)
