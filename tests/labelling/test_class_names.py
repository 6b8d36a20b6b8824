"""Names of classes and texts: which are refused, and which are added again."""

import pytest

from dropglm.labelling import LabellingSession

TEXTS = ["a lovely film", "a dull film", "great fun", "boring"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.labels.jsonl"


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["a", None], r"Text 1 \(counted from 0\) must be a string, got None\."),
        ("a text", r"texts must be a list of strings, got a single string; put it into a list\."),
    ],
)
def test_what_is_not_a_list_of_texts_is_refused_in_a_sentence(path, texts, sentence):
    with pytest.raises(TypeError, match=f"^{sentence}$"):
        LabellingSession(texts, path)
    assert not path.exists()


def test_the_name_of_a_renaming_that_was_undone_is_free(path):
    with LabellingSession(TEXTS, path, classes=["positive", "bad"]) as session:
        session.rename_class("positive", "good")
        session.undo()
    with LabellingSession(TEXTS, path, classes=["good", "bad"]) as again:
        assert again.answers.classes == ["positive", "bad", "good"]
        assert again.answers.find_class("good") == 2


def test_a_class_that_differs_only_in_case_or_whitespace_is_refused(path):
    with LabellingSession(TEXTS, path, classes=["not bad", "good"]) as session:
        for name in ("Not bad", "NOT  BAD"):
            for give in (session.add_class, lambda name: session.rename_class("good", name)):
                with pytest.raises(ValueError, match="already a class “not bad”; names must differ in more"):
                    give(name)
        session.rename_class("not bad", "Not bad")  # no other class has this name
        assert session.answers.classes == ["Not bad", "good"]


def test_classes_of_the_table_that_differ_only_in_case_are_mentioned(path):
    with LabellingSession(TEXTS, path, labels={0: "good", 1: "bad", 2: "Good"}) as session:
        (notice,) = session.notices
    assert notice.startswith(
        "Some classes differ only in case or whitespace, or look alike: 'good' and 'Good'."
    )


def test_labels_of_the_table_that_mark_missing_labels_are_mentioned(path):
    with LabellingSession(TEXTS, path, labels={0: "good", 1: "bad", 2: "NA"}) as session:
        (notice,) = session.notices
    assert notice == (
        "The class 'NA' may mark texts without a label. If so, leave the label empty in the table (None in "
        "Python)."
    )
