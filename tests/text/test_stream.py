"""How far a training has come in a table, kept and gone on from."""

import json
import sys

import numpy as np
import pytest

from dropglm.tables import TableError
from dropglm.text import OnlineTextClassifier
from dropglm.text.stream import OnlineTraining, Source
from tests.cli.command import texts

CLASSES = {"bad": "bad", "good": "good"}


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A table with bad rows at the beginning, in the middle, one after the other and at the end."""
    monkeypatch.setattr(sys.modules["dropglm.tables.stream"], "MAX_ROWS", 5)
    lines = [json.dumps({"text": t, "label": label}) for t, label in zip(*texts(40), strict=True)]
    for place in (0, 3, 20, 20):
        lines.insert(place, '{"text": "x", "label')
    lines += ['{"text": "x", "label": "ugly"}', "rubbish"]
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    return Source(str(tmp_path / "s.jsonl"))


def begun():
    return OnlineTraining.start(OnlineTextClassifier(bits=8), dict(CLASSES))


def learnt(training, source, batches=None, **how):
    for number, _ in enumerate(training.learn(source, on_bad=lambda _: None, **how), start=1):
        if number == batches:
            break
    return training


@pytest.mark.parametrize("epochs", [1, 2])
def test_it_goes_on_from_any_batch_and_counts_bad_rows_once(source, tmp_path, epochs):
    whole = learnt(begun(), source, epochs=epochs)
    assert (whole.bad_rows, whole.model.t_) == (6 * epochs, 40 * epochs)
    for batches in range(1, 10 * epochs):
        learnt(begun(), source, batches, epochs=epochs).save(tmp_path / "c")
        again = learnt(OnlineTraining.load(tmp_path / "c"), source, epochs=epochs)
        assert (again.bad_rows, again.first_bad_rows, again.class_changes) == (
            whole.bad_rows,
            whole.first_bad_rows,
            whole.class_changes,
        )
        np.testing.assert_array_equal(again.model.model_.coef_, whole.model.model_.coef_)


def test_rows_told_are_the_first_ten(source):
    told = learnt(begun(), source, epochs=2).first_bad_rows
    assert len(told) == 10
    assert [line.split("row ")[1].split()[0] for line in told[:6]] == ["1", "4", "21", "22", "45", "46"]


def test_another_table_is_refused(source, tmp_path):
    training = learnt(begun(), source, 3)
    with open(source.path) as file:
        lines = file.read().splitlines()
    for changed, said in ((lines[:10], "ends before row"), (lines[::-1], "is another one than was learnt")):
        (tmp_path / "other.jsonl").write_text("\n".join(changed))
        with pytest.raises(TableError, match=said):
            learnt(training, Source(str(tmp_path / "other.jsonl")))


def test_rows_of_a_class_that_stand_together_are_noticed_after_a_break_too(tmp_path):
    words, labels = texts(200)
    for name, rows in (("mixed", list(zip(words, labels, strict=True))), ("sorted", None)):
        rows = rows or sorted(zip(words, labels, strict=True), key=lambda row: row[1])
        (tmp_path / "s.jsonl").write_text(
            "\n".join(json.dumps({"text": text, "label": label}) for text, label in rows)
        )
        training = begun()
        learnt(training, Source(str(tmp_path / "s.jsonl")))
        training.save(tmp_path / "c")
        assert OnlineTraining.load(tmp_path / "c").sorted_by_class == (name == "sorted")
