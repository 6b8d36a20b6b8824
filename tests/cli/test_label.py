"""dropglm label: what it refuses, and what it reads."""

import json

import numpy as np
import pytest

from dropglm import TextClassifier
from tests.cli.command import dropglm, error_of, run, texts, write_csv


@pytest.fixture
def folder(tmp_path):
    write_csv(tmp_path / "a.csv", zip(*texts(20), strict=True))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("-",), "standard input is not supported"),
        (("a.csv", "--label", "text"), "is the column with the texts"),
        (("a.csv", "--classes", "a,,b"), "names separated by commas"),
        (("a.csv", "--classes", "a,b,a"), "named twice"),
        (("a.csv", "--show", "a,,b"), "names of columns separated by commas"),
        (("a.csv", "--separator", ";"), "texts have one class each here"),
        (("a.csv", "--classes", "a," + "b" * 101), "at most 100 characters, got 101: bbb"),
        (("a.csv", "--out", "a.csv"), "also an input"),
        (("a.csv", "--out", "none/a.jsonl"), "cannot be written"),
        (("a.csv", "--out", "."), "is a folder"),
        (("a.csv", "--random-share", "2"), "Invalid value for '--random-share'"),
    ],
)
def test_wrong_options_are_refused(folder, arguments, why):
    err = dropglm("label", "--no-browser", *arguments, cwd=folder, code=2)
    assert why in " ".join(err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("none.csv",), "none.csv: there is no such file"),
        ((".",), "this is a folder; name a file in it"),
        (("a.csv", "--text", "review"), "no column 'review'"),
        (("a.csv", "--label", "stars"), "no column 'stars'"),
        (("a.csv", "--show", "titel"), "no column 'titel'"),
        (("a.csv", "--model", "none.skops"), "none.skops"),
        (("a.csv", "--out", "other.jsonl"), "this is not a journal of labels"),
        (("a.csv", "--host", "192.0.2.1"), "Cannot listen on 192.0.2.1"),
        (("a.csv", "--host", ""), "dropglm: The host must be a name or an address"),
    ],
)
def test_bad_input_is_one_sentence(folder, arguments, why):
    (folder / "other.jsonl").write_text("hello\n")
    assert why in error_of("label", "--no-browser", "--quiet", *arguments, cwd=folder)


def test_a_damaged_journal_is_named_with_its_line(folder):
    from dropglm.labelling.journal import HEADER

    (folder / "a.labels.jsonl").write_bytes(HEADER + b"{}\n" + b"{}\n")
    err = error_of("label", "a.csv", "--no-browser", "--quiet", cwd=folder)
    assert err.startswith(
        "dropglm: a.labels.jsonl: line 2 is damaged (it is not an entry of a journal of labels)"
    )
    assert "nothing was changed and all other lines are kept" in err
    assert "delete this line" in err


def test_labels_of_the_table_are_imported_once(folder, monkeypatch):
    """The server is replaced: it looks at the session and ends."""
    seen = []
    monkeypatch.setattr("dropglm.web.running.run", lambda app, listener: seen.append(app))
    out = dropglm("label", "a.csv", "--label", "label", "--no-browser", "--port", "0", cwd=folder)
    assert "Answers are stored in a.labels.jsonl (20 labels so far)." in out
    size = (folder / "a.labels.jsonl").stat().st_size
    dropglm("label", "a.csv", "--label", "label", "--no-browser", "--port", "0", cwd=folder)
    assert (folder / "a.labels.jsonl").stat().st_size == size
    assert len(seen) == 2


def test_rows_without_text_are_counted(folder, monkeypatch):
    monkeypatch.setattr("dropglm.web.running.run", lambda app, listener: None)
    (folder / "b.jsonl").write_text('{"text": "a"}\n{"text": null}\n{"text": "b"}\n{"text": " "}\n')
    done = run("label", "b.jsonl", "--classes", "x,y", "--no-browser", "--quiet", "--port", "0", cwd=folder)
    assert done.exit_code == 0
    assert done.stderr == "dropglm: skipped 2 rows without a text.\n"


def test_columns_that_are_shown_are_those_of_the_texts(folder, monkeypatch):
    from dropglm.web.label_page import LabelPage

    pages = []
    made = LabelPage.__init__
    monkeypatch.setattr(LabelPage, "__init__", lambda page, *all: (pages.append(page), made(page, *all))[1])
    monkeypatch.setattr("dropglm.web.running.run", lambda app, listener: None)
    lines = [
        '{"text": "a", "url": "https://a", "n": 1}',
        '{"text": " ", "url": "-"}',
        '{"text": "b", "n": 2}',
    ]
    (folder / "b.jsonl").write_text("\n".join(lines))
    dropglm("label", "b.jsonl", "--show", "url, n", "--no-browser", "--port", "0", cwd=folder)
    assert pages[0].columns == {"url": ["https://a", None], "n": ["1", "2"]}
    assert pages[0].whole(1)["columns"] == {"url": "", "n": "2"}


def test_the_exported_model_can_be_the_start_model(folder, monkeypatch):
    """It is in memory before an export replaces the file."""
    from dropglm import TextClassifier

    monkeypatch.setattr("dropglm.web.running.run", lambda app, listener: None)
    TextClassifier(tune=False, min_df=1).fit(*texts(20)).save(folder / "a.model.skops")
    out = dropglm("label", "a.csv", "--model", "a.model.skops", "--no-browser", "--port", "0", cwd=folder)
    assert "0 labels so far" in out


def test_classes_that_are_new_or_alone_are_mentioned(folder, monkeypatch):
    monkeypatch.setattr("dropglm.web.running.run", lambda app, listener: None)

    def said(*arguments):
        done = run("label", "a.csv", "--no-browser", "--quiet", "--port", "0", *arguments, cwd=folder)
        assert done.exit_code == 0
        return done.stderr

    assert said("--classes", "good") == (
        "dropglm: There is only one class; add another one, since a model learns to tell classes apart.\n"
    )
    assert said("--classes", "good,bad") == "dropglm: Classes of the labels so far: good; new: bad.\n"
    assert said("--classes", "x,y") == "dropglm: Classes of the labels so far: good, bad; new: x, y.\n"
    assert said("--classes", "bad,x") == said() == ""


@pytest.fixture
def annotator(monkeypatch):
    """Replace the server by someone who answers some of the texts, and return the sessions."""
    from dropglm.web.label_page import LabelPage

    some, labels = texts(200, seed=5)
    wrong, other = np.random.default_rng(0).random(200) < 0.15, {"good": "bad", "bad": "good"}
    given = [other[one] if flip else one for one, flip in zip(labels, wrong, strict=True)]
    sessions, truth = [], dict(zip(some, given, strict=True))

    class Page(LabelPage):
        def __init__(self, session, exports, *more):
            super().__init__(session, exports, *more)
            sessions.append((session, exports, []))

    def label_some(app, listener):
        session, exports, asked = sessions[-1]
        for _ in range(30):
            assert session.wait(300)
            if session.current is None:
                break
            asked.append(session.current)
            session.answer(truth[session.texts[session.current.number]])
        exports.start("labels")
        exports.wait(300)

    monkeypatch.setattr("dropglm.web.label_page.LabelPage", Page)
    monkeypatch.setattr("dropglm.web.running.run", label_some)
    return sessions


def test_label_train_predict_and_label_what_was_left_open(tmp_path, annotator):
    """The commands of the guide: the random share is held out, and renews the guarantee."""
    write_csv(tmp_path / "texts.csv", [(text, "") for text in texts(200, seed=5)[0]])
    label = ("label", "texts.csv", "--classes", "good,bad", "--no-browser", "--quiet", "--port", "0")
    train = ("train", "texts.labelled.csv", "--unlabeled", "texts.csv")
    train = (*train, "--validation-column", "drawn_at_random", "--out", "m.skops", "--quiet", "--json")
    run(*label, "--random-share", "0.5", cwd=tmp_path)
    found = json.loads(dropglm(*train, cwd=tmp_path))
    n_drawn = len(annotator[0][0].answers.drawn())
    assert (found["use"]["kind"], found["use"]["rows"]) == ("guarantee", n_drawn)
    assert sum(found["texts"].values()) == 30 - n_drawn

    run("predict", "m.skops", "texts.csv", "--max-error", "0.3", "--out", "answers.csv", cwd=tmp_path)
    again = (*label, "--model", "m.skops", "--only-open", "--max-error", "0.3", "--random-share", "0.5")
    done = run(*again, cwd=tmp_path)
    model = TextClassifier.load(tmp_path / "m.skops")
    some = texts(200, seed=5)[0]
    p = model.predict_proba(some)
    is_open = ~model.selective(0.3).answers(p)
    assert f"left open: {is_open.sum()} of 200 texts." in done.stderr
    chosen = [item.number for item in annotator[1][2] if item.source == "chosen"]
    assert is_open[chosen].all()
    assert (np.diff(p[chosen].max(axis=1)) >= 0.0).all()
    drawn = [item for item in annotator[1][2] if item.source == "random"]
    assert 10 <= len(drawn) <= 20
    renewed = json.loads(dropglm(*train, cwd=tmp_path))
    assert renewed["use"]["rows"] == n_drawn + len(drawn)
    for arguments in (("--only-open",), ("--max-error", "0.1")):
        assert "--only-open" in dropglm(*label, *arguments, cwd=tmp_path, code=2)


def test_a_model_of_several_labels_is_refused(folder):
    rows = "".join(f'{{"text": "{text}", "label": ["{text[:1]}", "x"]}}\n' for text in texts(20)[0])
    (folder / "several.jsonl").write_text(rows, encoding="utf-8")
    dropglm("train", "several.jsonl", "--no-tune", "--out", "m.skops", "--quiet", cwd=folder)
    start = ("label", "a.csv", "--no-browser", "--quiet")
    assert "several labels per text" in error_of(*start, "--model", "m.skops", cwd=folder)
    assert "a list as its label" in error_of(
        "label", "several.jsonl", "--label", "label", "--no-browser", "--quiet", cwd=folder
    )
