"""OnlineTraining: learning from a table as a stream, with checkpoints."""

import json
import sys

import numpy as np
import pytest

from dropglm.tables import Table, TableError
from dropglm.text import OnlineTextClassifier
from dropglm.text.online_text_model import OnlineTextModel, OnlineTraining, find_classes
from tests.cli.command import texts

CLASSES = ["bad", "good"]


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A table with bad rows at the beginning, in the middle, next to each other and at the end."""
    monkeypatch.setattr(sys.modules["dropglm.tables.reader"], "MAX_ROWS", 5)
    lines = [json.dumps({"text": t, "label": label}) for t, label in zip(*texts(40), strict=True)]
    for place in (0, 3, 20, 20):
        lines.insert(place, '{"text": "x", "label')
    lines += ['{"text": "x", "label": "ugly"}', "rubbish"]
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    return Table(str(tmp_path / "s.jsonl"), "text", "label")


def new_training():
    return OnlineTraining.start(OnlineTextModel.new({"bits": 8}), CLASSES)


def learn(training, source, batches=None, **options):
    """Learn from this many batches, or from all of them."""
    for number, _ in enumerate(training.learn(source, on_bad=lambda _: None, **options), start=1):
        if number == batches:
            break
    return training


@pytest.mark.parametrize("epochs", [1, 2])
def test_training_resumes_from_any_batch_and_counts_bad_rows_once(source, tmp_path, epochs):
    whole = learn(new_training(), source, epochs=epochs)
    assert (whole.bad_rows, whole.model.model.t_) == (6 * epochs, 40 * epochs)
    for batches in range(1, 10 * epochs):
        learn(new_training(), source, batches, epochs=epochs).save(tmp_path / "c")
        again = learn(OnlineTraining.load(tmp_path / "c"), source, epochs=epochs)
        assert (again.bad_rows, again.first_bad_rows, again.class_changes) == (
            whole.bad_rows,
            whole.first_bad_rows,
            whole.class_changes,
        )
        np.testing.assert_array_equal(again.model.model.coef_, whole.model.model.coef_)


def test_messages_about_the_first_ten_bad_rows_are_kept(source):
    messages = learn(new_training(), source, epochs=2).first_bad_rows
    assert len(messages) == 10
    assert [line.split("row ")[1].split()[0] for line in messages[:6]] == ["1", "4", "21", "22", "45", "46"]


def test_training_does_not_resume_on_a_different_table(source, tmp_path):
    training = learn(new_training(), source, 3)
    with open(source.path) as file:
        lines = file.read().splitlines()
    for changed, message in (
        (lines[:10], "ends before row"),
        (lines[::-1], "where training stopped, has changed"),
    ):
        (tmp_path / "other.jsonl").write_text("\n".join(changed))
        with pytest.raises(TableError, match=message):
            learn(training, Table(str(tmp_path / "other.jsonl"), "text", "label"))


def test_tables_sorted_by_class_are_noticed_also_after_resuming(tmp_path):
    words, labels = texts(200)
    for name, rows in (("mixed", list(zip(words, labels, strict=True))), ("sorted", None)):
        rows = rows or sorted(zip(words, labels, strict=True), key=lambda row: row[1])
        (tmp_path / "s.jsonl").write_text(
            "\n".join(json.dumps({"text": text, "label": label}) for text, label in rows)
        )
        training = new_training()
        learn(training, Table(str(tmp_path / "s.jsonl"), "text", "label"))
        training.save(tmp_path / "c")
        assert OnlineTraining.load(tmp_path / "c").sorted_by_class == (name == "sorted")


def test_a_diverging_stream_stops_at_a_row_of_the_table(source):
    training = OnlineTraining.start(OnlineTextModel.new({"bits": 8, "rate": 1.7e308}), CLASSES)
    with pytest.raises(
        TableError,
        match=r"s.jsonl: training has diverged at row \d+ \(line \d+\), .*; lower rate \(now 1.7e\+308\)\.$",
    ):
        learn(training, source)


def test_too_many_or_too_few_classes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dropglm.text.online_text_model.MAX_CLASSES", 2)
    for labels, message in (
        (["a"] * 3, "all rows have the label 'a'; at least two"),
        ("abc", "more than 2 diff"),
    ):
        rows = [json.dumps({"text": "x", "label": label}) for label in labels]
        (tmp_path / "s.jsonl").write_text("\n".join(rows))
        with pytest.raises(TableError, match=message):
            find_classes(Table(str(tmp_path / "s.jsonl"), "text", "label"), skip_bad=False)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_model_does_not_depend_on_reading_ahead(tmp_path, monkeypatch, threads):
    """Also the names of columns in a checkpoint, which are those of the rows learnt from so far."""
    monkeypatch.setattr(sys.modules["dropglm.tables.reader"], "MAX_ROWS", 40)  # many batches
    words, labels = texts(3000)
    rows = "".join(
        f'"{text} {number}",{label}\n' for number, (text, label) in enumerate(zip(words, labels, strict=True))
    )
    (tmp_path / "s.csv").write_text("text,label\n" + rows.replace("999,good", "999,ugly"))
    table = Table(str(tmp_path / "s.csv"), "text", "label")
    expected = OnlineTextClassifier(bits=12)
    for batch in table.batches():
        known = [k for k, label in enumerate(batch.labels) if label in CLASSES]
        chosen = [batch.texts[k] for k in known], [batch.labels[k] for k in known]
        expected.partial_fit(*chosen, classes=CLASSES)
    model = OnlineTextModel.new({"bits": 12, "n_jobs": threads})
    training = learn(OnlineTraining.start(model, CLASSES), table)
    np.testing.assert_array_equal(training.model.model.coef_, expected.model_.coef_)
    for name in ("letters", "lengths"):
        found, wanted = (
            getattr(each.ngrams_, name) for each in (training.model.vectorizer, expected.vectorizer_)
        )
        np.testing.assert_array_equal(found, wanted)
    assert training.model.vectorizer.n_texts_ == expected.vectorizer_.n_texts_


@pytest.mark.parametrize("threads", [1, 2])
def test_names_of_rows_that_were_read_ahead_are_not_saved(tmp_path, monkeypatch, threads):
    monkeypatch.setattr(sys.modules["dropglm.tables.reader"], "MAX_ROWS", 5)
    words, labels = texts(40)
    rows = "".join(
        f"{text} {number},{label}\n" for number, (text, label) in enumerate(zip(words, labels, strict=True))
    )
    (tmp_path / "s.csv").write_text("text,label\n" + rows)
    table = Table(str(tmp_path / "s.csv"), "text", "label")
    training = OnlineTraining.start(OnlineTextModel.new({"bits": 12, "n_jobs": threads}), CLASSES)
    for _ in training.learn(table):
        learnt = training.model.model.t_
        lengths = training.model.vectorizer.ngrams_.lengths.copy()
        expected = OnlineTextClassifier(bits=12).partial_fit(
            numbered(words[:learnt]), labels[:learnt], CLASSES
        )
        np.testing.assert_array_equal(lengths, expected.vectorizer_.ngrams_.lengths)
        if learnt > 20:
            break
    # What was read ahead can be named when its turn comes.
    continued = OnlineTextClassifier._of(training.model).partial_fit(
        numbered(words)[learnt:], labels[learnt:]
    )
    expected = OnlineTextClassifier(bits=12).partial_fit(numbered(words), labels, CLASSES)
    np.testing.assert_array_equal(continued.vectorizer_.ngrams_.letters, expected.vectorizer_.ngrams_.letters)


def numbered(words):
    """Return the texts of the table above."""
    return [f"{text} {number}" for number, text in enumerate(words)]
