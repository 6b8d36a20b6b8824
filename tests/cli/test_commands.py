"""The command line from end to end, each command a process of its own."""

import csv
import json
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from skops import io

from dropglm import TextClassifier

GOOD, BAD = ["lovely", "great", "fun", "moving", "warm"], ["dull", "boring", "long", "weak", "cold"]
REST = ["a", "the", "film", "cast", "story", "music", "and", "with"]


def dropglm(*arguments, cwd, stdin=None, code=0, wrapper=("-m", "dropglm")):
    """Run the command; its standard output, or its standard error where it is to fail."""
    done = subprocess.run(
        [sys.executable, *wrapper, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=120,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == code, f"{done.returncode}: {out}{err}"
    assert "Traceback" not in err
    return out if code == 0 else err


def complaint(*arguments, cwd, code=3, **rest):
    """The one sentence with which the command refuses."""
    err = dropglm(*arguments, cwd=cwd, code=code, **rest)
    lines = [line for line in err.splitlines() if not line.startswith("Reading")]
    assert len(lines) == 1, err
    assert lines[0].startswith("dropglm: ")
    assert lines[0].endswith((".", ")"))
    return lines[0]


def texts(n, seed=0):
    rng = np.random.default_rng(seed)
    labels = ["good", "bad"] * (n // 2)
    return [" ".join(rng.choice((GOOD if y == "good" else BAD) + REST, size=9)) for y in labels], labels


def write_csv(path, rows, header=("text", "label")):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with tables, and a model trained on them."""
    folder = tmp_path_factory.mktemp("cli")
    write_csv(folder / "reviews.csv", zip(*texts(80), strict=True))
    write_csv(folder / "test.csv", zip(*texts(40, seed=1), strict=True))
    with open(folder / "more.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts(60, seed=2)[0])
    dropglm("train", "reviews.csv", "--unlabeled", "more.jsonl", "--no-tune", "--out", "m.skops", cwd=folder)
    return folder


def test_train_tells_what_it_learnt_and_the_library_reads_the_model(place):
    out = dropglm(
        "train", "reviews.csv", "--text", "text", "--label", "label", "--unlabeled", "more.jsonl",
        "--out", "tuned.skops", "--validation", "0.25", "--folds", "3", cwd=place,
    )  # fmt: skip
    for expected in (
        "60 with labels",
        "60 without",
        "accuracy",
        "over 3 folds",
        "of 16 settings",
        "20 texts",
    ):
        assert expected in " ".join(out.split())
    assert set(GOOD + BAD) & set(out.replace(",", " ").split())
    model = TextClassifier.load(place / "tuned.skops")
    assert model.predict(["lovely great fun", "dull boring"]).tolist() == ["good", "bad"]


def test_train_in_json_has_the_same_figures(place):
    out = dropglm(
        "train", "reviews.csv", "--no-tune", "--dropout", "0.3", "--l2", "2", "--ridge", "naive_bayes",
        "--ngrams", "1", "--min-df", "1", "--validation", "test.csv", "--json", "--out", "j.skops",
        "--seed", "3", "--threads", "1", "--penalty", "quadratic", "--quiet", cwd=place,
    )  # fmt: skip
    told = json.loads(out)
    assert told["settings"] == {"dropout": 0.3, "l2": 2.0, "ridge": "naive_bayes", "discount": None}
    assert told["texts"] == {"bad": 40, "good": 40}
    assert told["validation"]["texts"] == 40
    assert told["validation"]["accuracy"] > 0.9
    assert told["features"] == len(GOOD + BAD + REST)
    assert {entry["ngram"] for entry in told["top_features"]["good"][:5]} == set(GOOD)


def test_predict_goes_through_a_pipe_line_by_line(place):
    out = dropglm("predict", "m.skops", cwd=place, stdin=b"lovely and great\n\ndull, long\n")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["predicted"] for row in rows][::2] == ["good", "bad"]
    assert all(0.5 <= row["probability"] <= 1.0 for row in rows)


def test_an_open_pipe_is_answered_at_once(place):
    """The first answer is there before the input ends."""
    command = [sys.executable, "-m", "dropglm", "predict", "m.skops", "-", "--format", "jsonl"]
    with subprocess.Popen(command, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b'{"text": "lovely fun"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["predicted"] == "good"
        process.stdin.close()
    assert process.returncode == 0


def test_who_stops_reading_is_no_failure(place):
    command = f"yes 'a lovely film' | head -100000 | {sys.executable} -m dropglm predict m.skops | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], cwd=place, capture_output=True)
    assert json.loads(done.stdout)["predicted"] == "good"
    assert b"Traceback" not in done.stderr
    assert b"Broken" not in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
def test_predictions_go_to_every_format(place, suffix):
    import polars as pl

    out = place / f"predicted.{suffix}"
    dropglm("predict", "m.skops", "test.csv", "--out", out, "-p", "--keep", "text", cwd=place)
    read = {"jsonl": pl.read_ndjson, "parquet": pl.read_parquet}.get(suffix, pl.read_csv)
    frame = read(out, separator="\t") if suffix == "tsv" else read(out)
    assert frame.columns == ["predicted", "probability", "p(bad)", "p(good)", "text"]
    model = TextClassifier.load(place / "m.skops")
    expected, _ = texts(40, seed=1)
    assert frame["text"].to_list() == expected
    assert frame["predicted"].to_list() == model.predict(expected).tolist()
    np.testing.assert_allclose(
        frame.select("p(bad)", "p(good)").to_numpy(), model.predict_proba(expected), rtol=1e-5
    )


def test_a_table_is_not_written_onto_itself(place):
    old = (place / "test.csv").read_bytes()
    assert "read too" in dropglm("predict", "m.skops", "test.csv", "--out", "test.csv", cwd=place, code=2)
    assert (place / "test.csv").read_bytes() == old
    model = (place / "m.skops").read_bytes()
    command = "predict", "m.skops", "test.csv", "--out", "m.skops", "--out-format", "csv"
    assert "read too" in dropglm(*command, cwd=place, code=2)
    assert (place / "m.skops").read_bytes() == model


def test_evaluate_measures_accuracy_log_loss_confusion_and_calibration(place):
    told = json.loads(dropglm("evaluate", "m.skops", "test.csv", "--json", cwd=place))
    model = TextClassifier.load(place / "m.skops")
    some, labels = texts(40, seed=1)
    p = model.predict_proba(some)
    truth = np.searchsorted(model.classes_, labels)
    assert told["accuracy"] == np.mean(p.argmax(axis=1) == truth)
    assert told["log_loss"] == pytest.approx(-np.mean(np.log(p[np.arange(40), truth])), rel=1e-5)
    assert np.sum(told["confusion"]) == 40
    assert np.trace(told["confusion"]) == pytest.approx(40 * told["accuracy"])
    assert sum(bin["texts"] for bin in told["calibration"]) == 40
    out = dropglm("evaluate", "m.skops", "test.csv", cwd=place)
    assert f"{told['accuracy']:.4f}" in out
    assert "Confusion" in out
    write_csv(place / "odd.csv", [("a film", "good"), ("b film", "odd")])
    assert "odd.csv: row 2 has the label 'odd', which the model does not know" in complaint(
        "evaluate", "m.skops", "odd.csv", "--quiet", cwd=place
    )


def test_labels_of_a_csv_and_of_json_are_the_same_numbers(place):
    some, labels = texts(40)
    numbers = [int(label == "good") for label in labels]
    write_csv(place / "numbers.csv", zip(some, numbers, strict=True))
    with open(place / "strings.jsonl", "w") as file:
        file.writelines(
            json.dumps({"text": t, "label": str(k)}) + "\n" for t, k in zip(some, numbers, strict=True)
        )
    dropglm("train", "numbers.csv", "--no-tune", "--out", "numbers.skops", cwd=place)
    assert TextClassifier.load(place / "numbers.skops").classes_.tolist() == [0, 1]
    told = [
        json.loads(dropglm("evaluate", "numbers.skops", table, "--json", cwd=place))["accuracy"]
        for table in ("numbers.csv", "strings.jsonl")
    ]
    assert told[0] == told[1] > 0.9


def test_fractions_are_names_of_classes(place):
    some, labels = texts(40)
    write_csv(
        place / "stars.csv",
        ((t, {"good": "3.5", "bad": "1.0"}[y]) for t, y in zip(some, labels, strict=True)),
    )
    dropglm("train", "stars.csv", "--no-tune", "--out", "stars.skops", cwd=place)
    assert TextClassifier.load(place / "stars.skops").classes_.tolist() == ["1.0", "3.5"]
    told = json.loads(dropglm("evaluate", "stars.skops", "stars.csv", "--json", cwd=place))
    assert told["accuracy"] > 0.9
    kept = dropglm("predict", "stars.skops", "stars.csv", "--keep", "label", "--keep", "label", cwd=place)
    assert json.loads(kept.splitlines()[0]).keys() == {"predicted", "probability", "label"}


def test_explain_in_words_json_and_a_page(place):
    text = "a lovely <b>story</b> with zyzzyva"
    out = dropglm("explain", "m.skops", text, "--top", "3", cwd=place)
    assert "lovely" in out
    assert "zyzzyva" in out
    told = json.loads(dropglm("explain", "m.skops", text, "--html", "page.html", "--json", cwd=place))
    assert told["texts"][0]["label"] == "good"
    assert told["texts"][0]["unknown"] == ["zyzzyva"]
    assert {entry["ngram"] for entry in told["top_features"]["bad"]} >= set(BAD)
    page = (place / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "zyzzyva" in page


def test_data_lists_and_finds(place, tmp_path):
    names = {line["name"] for line in json.loads(dropglm("data", "list", "--json", cwd=place))}
    assert {
        "imdb",
        "rt",
        "subj",
        "imdb2k",
        "athr",
        "xgraph",
        "bbcrypt",
        "20news",
        "simulation",
        "docstrings",
    } == names
    assert "did you mean 'imdb'" in complaint("data", "path", "imbd", cwd=place)
    assert "needs no file" in complaint("data", "fetch", "docstrings", cwd=place)


KILLED_BEFORE_THE_RENAME = """
import os, signal, sys
from dropglm.cli import main
os.{moment} = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
main()
"""


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_kill_in_the_middle_of_the_save_leaves_the_old_model(place, tmp_path, moment):
    old = (place / "m.skops").read_bytes()
    (tmp_path / "m.skops").write_bytes(old)
    wrapper = ("-c", KILLED_BEFORE_THE_RENAME.format(moment=moment))
    dropglm(
        "train", place / "test.csv", "--no-tune", "--out", "m.skops",
        cwd=tmp_path, code=-signal.SIGKILL, wrapper=wrapper,
    )  # fmt: skip
    assert (tmp_path / "m.skops").read_bytes() == old
    assert len(os.listdir(tmp_path)) == 2  # the killed one's part is beside it
    assert TextClassifier.load(tmp_path / "m.skops").predict(["lovely"]) == ["good"]


def test_a_kill_at_any_time_leaves_the_old_model(place, tmp_path):
    """From without, as soon as the new file shows up."""
    old = (place / "m.skops").read_bytes()
    for _ in range(3):
        (tmp_path / "m.skops").write_bytes(old)
        command = [
            sys.executable,
            "-m",
            "dropglm",
            "train",
            place / "test.csv",
            "--no-tune",
            "--out",
            "m.skops",
        ]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            while process.poll() is None and len(os.listdir(tmp_path)) == 1:
                time.sleep(0)
            process.kill()
        now = (tmp_path / "m.skops").read_bytes()
        assert TextClassifier.load(tmp_path / "m.skops").predict(["lovely"]) == ["good"]
        for left in tmp_path.glob(".*.part"):
            assert now == old
            left.unlink()


def test_interrupted_it_says_so(place):
    command = [sys.executable, "-m", "dropglm", "predict", "m.skops"]
    with subprocess.Popen(command, cwd=place, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a film\n")
        process.stdin.flush()
        time.sleep(5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b"dropglm: interrupted.\n"


def test_a_quoted_newline_is_part_of_a_text_and_rows_are_counted_right(place):
    some, labels = texts(40)
    rows = [('first line\nsecond line, "quoted"', "good"), *zip(some, labels, strict=True)]
    write_csv(place / "newline.csv", rows)
    told = json.loads(dropglm("train", "newline.csv", "--no-tune", "--json", "--out", "n.skops", cwd=place))
    assert told["texts"] == {"bad": 20, "good": 21}
    rows[30] = (rows[30][0], "")
    write_csv(place / "missing.csv", rows)
    assert "row 31" in complaint("train", "missing.csv", "--no-tune", cwd=place)


BAD_TABLES = {
    "unclosed.csv": (b'text,label\ngood,1\n"bad,0\nfun,1\n', "row 2"),
    "ragged.csv": (b"text,label\ngood,1\nbad,0,0\n", "row 2 (line 3) has 3 fields, but the header has 2"),
    "missing.jsonl": (b'{"text": "a", "label": 1}\n{"text": "b", "label": null}\n', "row 2"),
    "misnamed.csv": (b"txt,label\na,1\nb,0\n", "did you mean 'txt'"),
    "latin.csv": ("text,label\nfine,1\ncaf\xe9,0\n".encode("latin-1"), "row 2"),
    "utf16.csv": ("text,label\nfine,1\nbad,0\n".encode("utf-16-le"), "--encoding"),
    "line.csv": (b"text,label\nfine,1\n" + b"x" * 50_000_000 + b",0\n", "row 2"),
    "empty.csv": (b"", "empty"),
    "blank.jsonl": (b"\n\n", "empty"),
    "header.csv": (b"text,label\n", "no rows"),
    "one.csv": (b"text,label\nfine film,1\nother film,1\n", "one class only"),
    "wordless.csv": (b'text,label\n" ",1\n" ",0\n', "none of the 2 texts has a token"),
    "array.jsonl": (b'[{"text": "a", "label": 1}]', "each line must be an object"),
    "fake.parquet": (b"text,label\na,1\n", "Parquet"),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00", "cut short"),
    "table.xlsx": (b"PK\x03\x04", "--format"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_gets_a_sentence(name, tmp_path):
    content, expected = BAD_TABLES[name]
    (tmp_path / name).write_bytes(content)
    sentence = complaint("train", name, "--no-tune", cwd=tmp_path)
    assert expected in sentence
    assert os.listdir(tmp_path) == [name]


def test_other_bad_input_gets_a_sentence(place, tmp_path):
    assert "no such file" in complaint("train", "nothing.csv", cwd=tmp_path)
    assert "none of the n-grams is in at least 90" in complaint(
        "train", place / "reviews.csv", "--no-tune", "--min-df", "90", "--quiet", cwd=tmp_path
    )
    assert "cannot be read: No such file" in complaint("predict", "nothing.skops", cwd=tmp_path, stdin=b"a\n")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--ngrams", "two"], "--ngrams"),
        (["--drop", "1"], "--drop"),
        (["--penalty", "gausian"], "gaussian"),
        (["--scoring", "acuracy"], "accuracy"),
        (["--dropout", "2"], "--dropout"),
        (["--l2", "-1"], "--l2"),
        (["--folds", "1"], "--folds"),
        (["--validation", "2"], "--validation"),
        (["--out", "no/m.skops"], "--out"),
        (["--out", "reviews.csv"], "read too"),
        (["--encoding", "utf-9"], "utf-8"),
        (["--format", "cvs"], "csv"),
        (["--delimiter", "ab"], "--delimiter"),
        (["--threads", "0"], "--threads"),
        (["--text", "label"], "--label"),
        (["--no-tune", "--l2", "1", "--l2", "2"], "--no-tune"),
        (["--ngrams", "3-2"], "--ngrams"),
    ],
    ids=repr,
)
def test_a_wrong_option_is_named_before_any_work(place, options, expected):
    said = dropglm("train", "reviews.csv", *options, cwd=place, code=2)
    assert expected in said
    assert "Usage" in said


def test_every_setting_reaches_the_model(place):
    some, labels = texts(40)
    with open(place / "other.csv", "w") as file:
        file.write("review;stars\n")
        file.writelines(f"{text.upper()} <b>;{label}\n" for text, label in zip(some, labels, strict=True))
    (place / "plain.csv").write_text("words\nA LOVELY FILM\nA DULL FILM\n")
    told = json.loads(
        dropglm(
            "train", "other.csv", "--delimiter", ";", "--text", "review", "--label", "stars", "--balanced",
            "--max-df", "0.9", "--max-features", "12", "--no-lowercase", "--no-strip-html",
            "--discount", "0.3", "--dropout", "0.5", "--dropout", "0.2", "--l2", "1",
            "--ridge", "uniform", "--folds", "2", "--scoring", "neg_log_loss", "--unlabeled", "plain.csv",
            "--unlabeled-text", "words", "--json", "--out", "other.skops", cwd=place,
        )
    )  # fmt: skip
    assert told["search"]["scoring"] == "neg_log_loss"
    assert (told["search"]["points"], told["search"]["folds"]) == (2, 2)
    assert told["settings"]["discount"] == 0.3
    assert (told["features"], told["unlabeled"]) == (12, 2)
    model = TextClassifier.load(place / "other.skops")
    assert (model.class_weight, model.max_df, model.lowercase, model.strip_html) == (
        "balanced",
        0.9,
        False,
        False,
    )
    assert model.predict(["LOVELY GREAT FUN WARM MOVING"]) == ["good"]


class Trap:
    def __reduce__(self):
        return os.mkdir, ("sprung",)


def test_a_malicious_model_is_refused_without_running_it(tmp_path):
    (tmp_path / "pickle.skops").write_bytes(pickle.dumps(Trap()))
    io.dump({"format": 1, "kind": "TextClassifier", "state": Trap()}, tmp_path / "type.skops")
    for name, expected in (
        ("pickle.skops", "is no model file"),
        ("type.skops", "nothing of it was built or run"),
    ):
        assert expected in complaint("predict", name, cwd=tmp_path, stdin=b"a film\n")
    assert not (tmp_path / "sprung").exists()


def test_help_version_and_completion_are_there(tmp_path):
    assert "Train a classifier" in dropglm("train", "--help", cwd=tmp_path)
    assert dropglm("--version", cwd=tmp_path).startswith("dropglm ")
    assert "Exit codes" in dropglm("--help", cwd=tmp_path)
    assert "complete" in dropglm("--show-completion", "bash", cwd=tmp_path)
