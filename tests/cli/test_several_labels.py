"""Several labels per row, and probabilities of labels, in commands."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score

from dropglm import TextClassifier, load_model
from tests.cli.command import dropglm, error_of, run

pytestmark = pytest.mark.filterwarnings("ignore:The .* texts without labels did not improve")
FEW = "--folds", "2", "--l2", "0.1", "--dropout", "0.5", "--no-characters"
WORDS = {"fun": ["joke", "laugh", "lol"], "sad": ["tears", "alone", "grief"], "long": ["hours", "slow"]}


def rows(n, seed):
    """Return texts and lists of labels; the first two rows have no label, and the third none of them."""
    rng, texts, tags = np.random.default_rng(seed), [], []
    for _ in range(n):
        own = [name for name in WORDS if rng.random() < 0.5]
        words = [str(rng.choice(WORDS[name])) for name in own] + [str(rng.choice(["a", "film", "the"]))] * 2
        texts.append(" ".join(rng.permutation(words)))
        tags.append(own)
    return texts, [None, None, [], *tags[3:]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    for name, seed in (("train", 0), ("test", 1)):
        texts, tags = rows(80, seed)
        frame = pl.DataFrame({"text": texts, "tags": tags})
        frame.write_ndjson(folder / f"{name}.jsonl")
        frame.write_parquet(folder / f"{name}.parquet")
        cells = pl.Series([None if row is None else " ; ".join(row) or ";" for row in tags])
        frame.with_columns(tags=cells).write_csv(folder / f"{name}.csv")
    found = json.loads(train(folder, "train.csv", "--separator", ";", "--json", "-o", "csv.skops"))
    return folder, found


def train(folder, *arguments, quiet=True):
    quietly = ["--quiet"] if quiet else []
    return dropglm("train", *arguments, *FEW, "--label", "tags", *quietly, cwd=folder)


def test_models_are_the_same_bit_by_bit(folder):
    folder, found = folder
    assert (found["several_labels"]["texts"], found["several_labels"]["without"]) == (78, 1 + rows_without())
    assert found["rows_without_label"] == 2
    for name in ("jsonl", "parquet"):
        train(folder, f"train.{name}", "-o", f"{name}.skops")
        assert (folder / f"{name}.skops").read_bytes() == (folder / "csv.skops").read_bytes()
    texts, tags = rows(80, 0)
    model = TextClassifier(cv=2, l2=0.1, dropout=0.5, characters=None, random_state=0).fit(texts, tags)
    model.text_column_, model.label_column_, model.label_separator_ = "text", "tags", ";"
    model.save(folder / "python.skops")
    assert (folder / "python.skops").read_bytes() == (folder / "csv.skops").read_bytes()


def rows_without():
    return sum(not row for row in rows(80, 0)[1][3:])


def test_dask_reads_the_same_labels(folder):
    folder, _ = folder
    train(folder, "train.csv", "--separator", ";", "--dask", "local", "-o", "dask.skops")
    ours, local = (load_model(folder / f"{name}.skops") for name in ("dask", "csv"))
    texts, _ = rows(80, 1)
    assert ours.classes_.tolist() == local.classes_.tolist() == ["fun", "long", "sad"]
    np.testing.assert_allclose(ours.predict_proba(texts), local.predict_proba(texts), atol=1e-3)


def test_evaluate_agrees_with_scikit_learn(folder):
    folder, _ = folder
    outputs = [
        dropglm("evaluate", "csv.skops", f"test.{name}", "--json", cwd=folder) for name in ("csv", "jsonl")
    ]
    found = json.loads(outputs[0])
    assert found == json.loads(outputs[1])
    model = load_model(folder / "csv.skops")
    texts, tags = (column[2:] for column in rows(80, 1))
    Y, predicted = (
        [[name in row for name in model.classes_] for row in one] for one in (tags, model.predict(texts))
    )
    assert found["micro_f1"] == pytest.approx(f1_score(Y, predicted, average="micro"))
    assert found["macro_f1"] == pytest.approx(f1_score(Y, predicted, average="macro"))
    assert found["subset_accuracy"] == pytest.approx(model.score(texts, tags))
    assert (found["texts"], found["rows_without_label"]) == (78, 2)
    printed = dropglm("evaluate", "csv.skops", "test.csv", cwd=folder)
    assert "micro F1" in printed
    assert "Confusion" not in printed


def test_predictions_are_read_as_labels(folder):
    folder, _ = folder
    model, (texts, _) = load_model(folder / "csv.skops"), rows(80, 1)
    expected = [list(row) for row in model.predict(texts)]
    lines = dropglm("predict", "csv.skops", "test.csv", cwd=folder).splitlines()
    assert [json.loads(line)["predicted"] for line in lines] == expected
    P, columns = model.predict_proba(texts), dict(zip(model.classes_, range(3), strict=True))
    for line, own, p in zip(lines, expected, P, strict=True):
        assert json.loads(line)["probability"] == pytest.approx([p[columns[name]] for name in own], rel=1e-5)
    for name in ("csv", "parquet"):
        dropglm("predict", "csv.skops", "test.csv", "-p", "--keep", "text", "-o", f"out.{name}", cwd=folder)
        again = dropglm("evaluate", "csv.skops", f"out.{name}", "-l", "predicted", "--json", cwd=folder)
        assert json.loads(again)["subset_accuracy"] == 1.0
    assert "p(sad)" in pl.read_parquet(folder / "out.parquet").columns


def test_thresholds_have_the_precision_that_is_asked_for(folder):
    folder, _ = folder
    out = train(
        folder,
        "train.csv",
        "--separator",
        ";",
        "--precision",
        "0.97",
        "--validation",
        "test.jsonl",
        "-o",
        "p",
        quiet=False,
    )
    assert "validation" in out
    strict, usual = (load_model(folder / name) for name in ("p", "csv.skops"))
    assert strict.precision == 0.97
    assert (strict.thresholds_ >= usual.thresholds_).all()
    found = json.loads(dropglm("evaluate", "p", "test.csv", "--json", cwd=folder))
    assert found["micro_precision"] > 0.9


def test_suspicious_labels_name_the_label(folder):
    folder, _ = folder
    texts, tags = rows(80, 0)
    wrong = next(k for k, row in enumerate(tags) if row == ["fun"])
    tags[wrong] = ["sad"]
    pl.DataFrame({"text": texts, "tags": tags}).write_ndjson(folder / "wrong.jsonl")
    train(folder, "wrong.jsonl", "--suspicious-out", "s.csv", "-o", "w.skops")
    found = pl.read_csv(folder / "s.csv").filter(pl.col("row") == wrong + 1)
    assert set(found["label"]) & {"not fun", "sad"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("train.csv", "--separator", ";", "--online"), "--online, which learns one label"),
        (("train.jsonl", "--online"), "has a list as its label"),
        (("train.csv", "--separator", " "), "must not be blank"),
        (("train.csv", "--separator", ";", "--precision", "1"), "must be between 0 and 1"),
        (("train.csv", "--precision", "0.9"), "is for rows with several labels"),
        (
            ("train.csv", "--separator", ";", "--precision", "0.9", "--no-tune"),
            "cannot be used with --no-tune",
        ),
        (("train.csv", "--label-probabilities", "a"), "must name a column for each of at least two"),
        (("train.csv", "--label-probabilities", "a=p,a=q"), "must name a column for each of at least two"),
        (("train.csv", "--label-probabilities", "a=p,b=text"), "is the column with the texts"),
        (("train.csv", "--label-probabilities", "a=p,b=q", "--validation", ".2"), "--label-probabilities"),
        (("train.csv", "--label-probabilities", "a=p,b=q", "--dask", "local"), "cannot be used with --dask"),
    ],
)
def test_refusals(folder, arguments, problem):
    arguments = arguments if "--label-probabilities" in arguments else (*arguments, "--label", "tags")
    code = 3 if arguments[:2] == ("train.jsonl", "--online") else 2
    error = dropglm("train", *arguments, "-o", "x.skops", cwd=folder[0], code=code)
    assert problem in " ".join(error.replace("│", "").split())


def test_models_of_one_label_refuse_several(folder):
    folder, _ = folder
    pl.DataFrame({"text": ["a", "b"] * 4, "tags": ["x", "y"] * 4}).write_csv(folder / "one.csv")
    dropglm("train", "one.csv", "-l", "tags", "--no-tune", "-o", "one.skops", cwd=folder)
    assert "has a list as its label" in error_of("evaluate", "one.skops", "test.jsonl", cwd=folder)
    assert "several labels" in error_of("evaluate", "one.skops", "test.csv", "--separator", ";", cwd=folder)


def test_online_learning_does_not_continue_from_several_labels(folder):
    folder, _ = folder
    one = "train", "one-label.csv", "--online", "--start-from", "csv.skops", "-o", "o.skops"
    pl.DataFrame({"text": ["lol", "tears"], "tags": ["fun", "sad"]}).write_csv(folder / "one-label.csv")
    assert "several labels per text; an online model learns one" in error_of(*one, cwd=folder)


def test_probabilities_of_labels_are_those_of_python(tmp_path):
    rng = np.random.default_rng(0)
    texts = [
        str(text) for text in rng.choice(["a joke", "all tears", "lol", "grief and tears", "a film"], 60)
    ]
    p = np.round(
        np.where(["j" in text or "l" in text[:3] for text in texts], 0.9, 0.2) + rng.random(60) / 20, 3
    )
    frame = pl.DataFrame({"text": texts, "yes": p, "no": 1 - p})
    frame = frame.with_columns(pl.when(pl.int_range(60) % 9 > 0).then(pl.col("yes", "no")))
    frame.write_csv(tmp_path / "t.csv")
    frame.write_ndjson(tmp_path / "t.jsonl")
    for name in ("csv", "jsonl"):
        columns = "--label-probabilities", "sad=no,fun=yes"
        dropglm("train", f"t.{name}", *columns, *FEW, "-q", "-o", f"{name}.skops", cwd=tmp_path)
    known = frame.filter(pl.col("yes").is_not_null())
    model = TextClassifier(cv=2, l2=0.1, dropout=0.5, characters=None, random_state=0)
    P = {"fun": known["yes"].to_list(), "sad": known["no"].to_list()}
    more = frame.filter(pl.col("yes").is_null())["text"].to_list()
    model.fit(known["text"].to_list(), X_unlabeled=more, label_probabilities=P)
    model.text_column_ = "text"
    model.save(tmp_path / "python.skops")
    files = {(tmp_path / f"{name}.skops").read_bytes() for name in ("csv", "jsonl", "python")}
    assert len(files) == 1


def test_a_separator_between_no_labels_gets_a_warning(folder):
    done = run("train", "train.csv", *FEW, "--separator", "|", "--label", "tags", cwd=folder[0])
    assert "no row has two labels with '|' between them" in done.stderr
