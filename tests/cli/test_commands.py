"""The commands from end to end."""

import json
import subprocess
import sys

import numpy as np
import pytest

from dropglm import TextClassifier, load_model
from tests.cli.command import BAD, GOOD, REST, dropglm, error_of, texts, write_csv


def test_train_prints_a_summary_and_writes_a_model_that_the_library_loads(place):
    out = dropglm(
        "train", "reviews.csv", "--text", "text", "--label", "label", "--unlabeled", "more.jsonl",
        "--out", "tuned.skops", "--validation", "0.25", "--folds", "3", cwd=place,
    )  # fmt: skip
    for expected in (
        "60 with labels",
        "60 without",
        "accuracy",
        "over 3 folds",
        "settings are within one standard error of the best",
        "20 texts",
    ):
        assert expected in " ".join(out.split())
    assert set(GOOD + BAD) & set(out.replace(",", " ").split())
    model = TextClassifier.load(place / "tuned.skops")
    assert model.predict(["lovely great fun", "dull boring"]).tolist() == ["good", "bad"]


def test_train_prints_the_same_figures_as_json(place):
    out = dropglm(
        "train", "reviews.csv", "--no-tune", "--dropout", "0.3", "--l2", "2", "--l2-weights", "naive_bayes",
        "--ngrams", "1", "--min-df", "1", "--validation", "test.csv", "--json", "--out", "j.skops",
        "--seed", "3", "--threads", "1", "--expectation", "quadratic", "--quiet", cwd=place,
    )  # fmt: skip
    result = json.loads(out)
    chosen = {"dropout": 0.3, "l2": 2.0, "l2_weights": "naive_bayes", "discount": None}
    assert result["settings"] == chosen | dict.fromkeys(
        ("scale", "naive_bayes", "ngram_weight", "words", "characters")
    )
    assert result["characters"] == 0
    assert result["texts"] == {"bad": 40, "good": 40}
    assert result["validation"]["texts"] == 40
    assert result["validation"]["accuracy"] > 0.9
    assert result["features"] == len(GOOD + BAD + REST)
    assert {entry["ngram"] for entry in result["top_features"]["good"][:5]} == set(GOOD)


def test_options_of_train_are_settings_of_the_model(place):
    dropglm(
        "train", "reviews.csv", "--stop-words", "english", "--no-calibrate", "--no-naive-bayes", "--l2", "1",
        "--folds", "2", "--scoring", "accuracy", "--ngram-weight", "0.7", "--out", "options.skops", "--quiet",
        cwd=place,
    )  # fmt: skip
    model = TextClassifier.load(place / "options.skops")
    expected = {"stop_words": "english", "calibrate": False, "naive_bayes": False, "min_df": (1, 2)}
    expected |= {"l2": 1.0, "cv": 2, "scoring": "accuracy", "analyzer": "word", "ngram_weight": 0.7}
    assert {name: model.get_params()[name] for name in expected} == expected
    assert "the" not in model.vectorizer_.vocabulary_
    dropglm(
        "train", "reviews.csv", "--analyzer", "char_wb", "--ngrams", "2-3", "--no-tune",
        "--out", "characters.skops", "--quiet", cwd=place,
    )  # fmt: skip
    model = TextClassifier.load(place / "characters.skops")
    assert {len(name) for name in model.vectorizer_.vocabulary_} == {2, 3}
    for option, name in (("--analyzer", "words"), ("--stop-words", "french"), ("--ngram-weight", "0")):
        assert option in dropglm("train", "reviews.csv", option, name, cwd=place, code=2)


def test_characters_can_be_left_out(place):
    arguments = "train", "noisy.csv", "--l2", "0.1", "--folds", "2", "--quiet", "--json", "--out"
    write_csv(place / "noisy.csv", [*zip(*texts(80), strict=True), ("lovely great fun", "bad")])
    found = json.loads(dropglm(*arguments, "both.skops", cwd=place))
    assert found["characters"] > 100
    assert found["settings"]["characters"] > 0
    words = json.loads(dropglm(*arguments, "words.skops", "--no-characters", cwd=place))
    assert (words["characters"], words["settings"]["characters"]) == (0, None)
    assert words["features"] == found["features"]
    assert TextClassifier.load(place / "words.skops").characters is None
    assert load_model(place / "both.skops").characters == (3, 4)
    for command in ("explain", "card"):
        assert "characters" in dropglm(command, "both.skops", cwd=place)
    assert "accuracy" in dropglm("evaluate", "both.skops", "test.csv", cwd=place)
    explained = json.loads(dropglm("explain", "both.skops", "lovelier zzz", "--json", cwd=place))["texts"][0]
    assert [entry["ngram"] for entry in explained["contributions"]] == ["lovelier"]
    assert explained["unknown"] == ["zzz"]
    online = "train", "noisy.csv", "--online", "--out", "on.skops", "--start-from"
    error = error_of(*online, "both.skops", cwd=place)
    assert error.endswith("which an online model cannot learn; train it with --no-characters.")
    dropglm(*online, "words.skops", cwd=place)


@pytest.mark.parametrize(
    "others",
    [["--no-tune"], ["--no-calibrate"], ["--analyzer", "char"], ["--online"]],
    ids=str,
)
def test_characters_that_cannot_be_used_are_refused(place, others):
    assert "--characters" in dropglm("train", "reviews.csv", "--characters", *others, cwd=place, code=2)


def test_predict_reads_one_text_per_line_from_a_pipe(place):
    out = dropglm("predict", "m.skops", cwd=place, stdin=b"lovely and great\n\ndull, long\n")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["predicted"] for row in rows][::2] == ["good", "bad"]
    assert all(0.5 <= row["probability"] <= 1.0 for row in rows)


def test_predict_answers_before_the_input_ends(place):
    """The first prediction is written before the input ends."""
    command = [sys.executable, "-m", "dropglm", "predict", "m.skops", "-", "--format", "jsonl"]
    with subprocess.Popen(command, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b'{"text": "lovely fun"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["predicted"] == "good"
        process.stdin.close()
    assert process.returncode == 0


def test_predict_ends_quietly_when_its_output_is_no_longer_read(place):
    command = f"yes 'a lovely film' | head -100000 | {sys.executable} -m dropglm predict m.skops | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], cwd=place, capture_output=True)
    assert json.loads(done.stdout)["predicted"] == "good"
    assert b"Traceback" not in done.stderr
    assert b"Broken" not in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
def test_predictions_are_written_in_every_format(place, suffix):
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
    result = [
        json.loads(dropglm("evaluate", "numbers.skops", table, "--json", cwd=place))["accuracy"]
        for table in ("numbers.csv", "strings.jsonl")
    ]
    assert result[0] == result[1] > 0.9


def test_fractional_labels_are_class_names(place):
    some, labels = texts(40)
    write_csv(
        place / "stars.csv",
        ((t, {"good": "3.5", "bad": "1.0"}[y]) for t, y in zip(some, labels, strict=True)),
    )
    dropglm("train", "stars.csv", "--no-tune", "--out", "stars.skops", cwd=place)
    assert TextClassifier.load(place / "stars.skops").classes_.tolist() == ["1", "3.5"]
    result = json.loads(dropglm("evaluate", "stars.skops", "stars.csv", "--json", cwd=place))
    assert result["accuracy"] > 0.9
    kept = dropglm("predict", "stars.skops", "stars.csv", "--keep", "label", "--keep", "label", cwd=place)
    assert json.loads(kept.splitlines()[0]).keys() == {"predicted", "probability", "label"}


def test_data_lists_data_sets_and_suggests_names(place, tmp_path):
    names = {line["name"] for line in json.loads(dropglm("data", "list", "--json", cwd=place))}
    assert {
        "imdb",
        "rt",
        "subj",
        "imdb2k",
        "athr",
        "xgraph",
        "bbcrypt",
        "banking77",
        "chnsenti_zh",
        "conll2000",
        "conll2002_esp",
        "conll2002_ned",
        "emotion6",
        "tweetsent_fr",
        "20news",
        "simulation",
        "docstrings",
    } == names
    assert "did you mean 'imdb'" in error_of("data", "path", "imbd", cwd=place)
    assert "has no file" in error_of("data", "fetch", "docstrings", cwd=place)


def test_every_setting_reaches_the_model(place):
    some, labels = texts(40)
    with open(place / "other.csv", "w") as file:
        file.write("review;stars\n")
        file.writelines(f"{text.upper()} <b>;{label}\n" for text, label in zip(some, labels, strict=True))
    (place / "plain.csv").write_text("words\nA LOVELY FILM\nA DULL FILM\n")
    result = json.loads(
        dropglm(
            "train", "other.csv", "--delimiter", ";", "--text", "review", "--label", "stars",
            "--class-weight", "balanced",
            "--max-df", "0.9", "--max-features", "12", "--no-lowercase", "--no-strip-html",
            "--discount", "0.3", "--dropout", "0.5", "--dropout", "0.2", "--l2", "1",
            "--l2-weights", "uniform", "--folds", "2", "--scoring", "neg_log_loss",
            "--unlabeled", "plain.csv", "--unlabeled-text", "words", "--json",
            "--out", "other.skops", cwd=place,
        )
    )  # fmt: skip
    assert result["search"]["scoring"] == "neg_log_loss"
    assert (result["search"]["points"], result["search"]["folds"]) == (2, 2)
    assert result["settings"]["discount"] == 0.3
    assert (result["features"], result["unlabeled"]) == (12, 2)
    model = TextClassifier.load(place / "other.skops")
    assert (model.class_weight, model.max_df, model.lowercase, model.strip_html) == (
        "balanced",
        0.9,
        False,
        False,
    )
    assert model.predict(["LOVELY GREAT FUN WARM MOVING"]) == ["good"]


def test_help_version_and_completion_work(tmp_path, monkeypatch):
    # Without this, the shell is guessed from the parent processes, which need not include one.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "Train a classifier" in dropglm("train", "--help", cwd=tmp_path)
    assert dropglm("--version", cwd=tmp_path).startswith("dropglm ")
    assert "Exit codes" in dropglm("--help", cwd=tmp_path)
    assert "complete" in dropglm("--show-completion", "bash", cwd=tmp_path)
