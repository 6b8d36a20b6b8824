"""dropglm label: what it refuses, and what it reads."""

import pytest

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
