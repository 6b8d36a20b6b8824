"""Rows with the same text, but for case and white space, share one answer."""

import pytest

from dropglm.labelling import LabellingSession
from dropglm.labelling.output_files import write_labels
from dropglm.labelling.panels import label_counts, search, surest
from tests.cli.command import texts

FIRST, TRUTH = texts(20)
ROWS = [*FIRST, *map(str.upper, FIRST), *(text.replace(" ", "\t ") for text in FIRST)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.labels.jsonl"


@pytest.mark.parametrize("patient", [True, False], ids=["learning", "at once"])
def test_each_different_text_is_asked_once_and_all_rows_are_exported(path, patient):
    with LabellingSession(ROWS, path, classes=["good", "bad"], seed=0) as session:
        shown = []
        while session.current is not None:
            shown.append(session.current.number)
            session.answer(TRUTH[session.current.number])
            assert not patient or session.wait(300)
        assert sorted(shown) == list(range(20))
        found = label_counts(session)
        assert (found.n_texts, found.n_labels, found.n_rows) == (20, 20, 60)
        assert found.classes == [("good", 10), ("bad", 10)]
        assert session.answers.labels() == dict(enumerate(TRUTH * 3))
        assert write_labels(session, path.with_name("a.csv")) == 60
    with LabellingSession(ROWS, path) as again:
        assert again.current is None


def test_an_answer_to_a_copy_is_that_of_the_first(path):
    with LabellingSession(ROWS, path, classes=["good", "bad"], seed=0) as session:
        session.answer("good", 27)
        session.answer("bad", 47)
        assert session.answers.labels() == {7: "bad", 27: "bad", 47: "bad"}
        session.answer_all({3: "bad", 23: "good", 4: "good"})
        assert label_counts(session).n_labels == 3
        session.undo()
        assert session.undo() == [7]
        assert session.answers.labels() == {7: "good", 27: "good", 47: "good"}
        session.keep(27)
        assert search(session.answers.numbers, f'"{ROWS[7]}"').numbers == [7]


def test_the_surest_texts_are_different_ones(path):
    known = dict(list(enumerate(TRUTH))[:10])
    with LabellingSession(ROWS, path, labels=known, seed=0) as session:
        assert session.wait(300)
        assert sorted(number for number, _ in surest(session, "good")) == list(range(10, 20))


def test_labels_of_copies_are_imported_if_they_agree_and_asked_for_if_not(path):
    labels = {0: "good", 20: "good", 1: "bad", 41: "good", 2: "bad"}
    with LabellingSession(ROWS, path, labels=labels, seed=0) as session:
        assert session.answers.labels() == {
            n + k: name for n, name in ((0, "good"), (2, "bad")) for k in (0, 20, 40)
        }
        (notice,) = session.notices
        assert notice.startswith("1 text of the table has copies with different labels")
        assert session.is_free(21)
        session.answer("bad", 21)
        assert session.notices == []
    with LabellingSession(ROWS, path, labels=labels) as again:
        assert again.notices == []
        assert again.answers.labels()[41] == "bad"


def test_an_answer_finds_a_copy_after_the_table_was_sorted(path):
    with LabellingSession(ROWS, path, classes=["good", "bad"]) as session:
        session.answer("good", 5)
    with LabellingSession(ROWS[::-1], path) as again:
        assert again.answers.labels() == dict.fromkeys((14, 34, 54), "good")
