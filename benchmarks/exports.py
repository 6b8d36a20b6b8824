"""Whether exported models predict what the model itself predicts, and how fast; fills docs/exporting.md.

python -m benchmarks.exports              agreement on random Unicode, IMDB and 20 newsgroups; half an hour
python -m benchmarks.exports --characters the same with n-grams of characters, and times; three minutes
python -m benchmarks.exports --speed      times and sizes for one model; two minutes

It needs DROPGLM_DATA, a folder with imdb.parquet, 20news.parquet and banking77.parquet, and Node.
"""

import importlib.util
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.markdown import ROOT, fill, table
from benchmarks.text import read
from benchmarks.unicode_texts import random_texts
from dropglm import TextClassifier
from dropglm.exports import write_json, write_onnx, write_sklearn
from dropglm.places.labels import indicators_of
from dropglm.text.fitted_model import AnyTextModel
from dropglm.text.sklearn_pipeline import sklearn_pipeline

PAGE = ROOT / "docs" / "exporting.md"
READERS = ROOT / "examples" / "readers"
RANDOM_TEXTS = 100_000
SKL2ONNX_TEXTS = 1_000  # of each source, since it takes milliseconds per text
WORDS = 2_000  # of the vocabulary that random texts contain
BATCH = 200  # texts that skl2onnx's model gets at a time: it writes a row as long as the vocabulary for each
DATA = {"IMDB": ("imdb", "label"), "20 newsgroups": ("20news", "group")}
NGRAMS = {"unigrams": 1, "bigrams": 2, "trigrams": 3}
SETTINGS: dict[str, Any] = {"min_df": 5, "l2": 0.1, "cv": 2, "n_jobs": -1}
# More labelled texts of IMDB, or of 20 newsgroups, would be too long for n-grams of characters.
WITH_CHARACTERS = {"IMDB": ("imdb", "label"), "banking77": ("banking77", "label")}
TRAINING, TESTING = 5_000, 5_000


class Scorer(NamedTuple):
    """Predictions for texts: both the number of the class and all probabilities, or these alone."""

    both: Callable[[list[str]], tuple[np.ndarray, np.ndarray]]
    probabilities: Callable[[list[str]], Any]

    @classmethod
    def of(cls, both: Callable[[list[str]], tuple[np.ndarray, np.ndarray]]) -> "Scorer":
        """Return predictions that come together."""
        return cls(both, both)


IN_NODE = """
import fs from "node:fs";
import { Model } from %s;
const [model, texts, out] = process.argv.slice(1);
const reader = new Model(JSON.parse(fs.readFileSync(model, "utf8")));
const given = JSON.parse(fs.readFileSync(texts, "utf8"));
const start = performance.now();
const found = given.map((text) => reader.probabilities(text).map((pair) => pair[1]));
const time = performance.now() - start;
const labels = reader.thresholds ? given.map((text) => reader.labels(text)) : null;
fs.writeFileSync(out, JSON.stringify([found, time, labels]));
"""


def ours(model: AnyTextModel) -> Scorer:
    """Return the predictions of the model itself."""

    def score(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        return _numbers(model, model.predict(texts)), model.predict_proba(texts)

    return Scorer(score, model.predict_proba)


def in_sklearn(model: AnyTextModel, folder: Path) -> Scorer:
    """Export to scikit-learn, and read the file again."""
    import skops.io

    write_sklearn(model, folder / "pipeline.skops")
    pipeline = skops.io.load(folder / "pipeline.skops")

    def score(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        p, thresholds = pipeline.predict_proba(texts), getattr(pipeline["model"], "thresholds_", None)
        return (_numbers(model, pipeline.predict(texts)) if thresholds is None else p > thresholds), p

    return Scorer(score, pipeline.predict_proba)


def in_onnxruntime(model: AnyTextModel, folder: Path) -> Scorer:
    """Export to ONNX, and read the file with onnxruntime."""
    import onnxruntime

    write_onnx(model, folder / "model.onnx")
    session = onnxruntime.InferenceSession(folder / "model.onnx")

    def score(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        labels, p = session.run(None, {"text": np.array(texts, object)})
        return _numbers(model, labels), p

    return Scorer.of(score)


def in_python(model: AnyTextModel, folder: Path) -> Scorer:
    """Export to JSON, and read the file with the reference reader in Python."""
    write_json(model, folder / "model.json")
    spec = importlib.util.spec_from_file_location("read_model", READERS / "read_model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reader = module.Model(folder / "model.json")

    def score(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        p = np.array([list(reader.probabilities(text).values()) for text in texts])
        if "thresholds" in reader.file:
            return indicators_of([reader.labels(text) for text in texts], model.classes_), p
        return p.argmax(axis=1), p

    return Scorer.of(score)


def in_node(model: AnyTextModel, folder: Path) -> Scorer:
    """Export to JSON, and read the file with the reference reader in JavaScript."""
    write_json(model, folder / "model.json")
    code = IN_NODE % json.dumps((READERS / "read_model.mjs").as_uri())

    def score(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        paths = [str(folder / name) for name in ("model.json", "texts.json", "found.json")]
        command = ["node", "--max-old-space-size=8192", "--input-type=module", "--eval", code, *paths]
        subprocess.run(command, check=True)
        found, _, labels = json.loads((folder / "found.json").read_text(encoding="utf-8"))
        p = np.array(found)
        return (p.argmax(axis=1) if labels is None else indicators_of(labels, model.classes_)), p

    return Scorer.of(score)


def in_skl2onnx(model: AnyTextModel, folder: Path) -> Scorer:
    """Convert scikit-learn's pipeline with skl2onnx."""
    import onnxruntime
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import StringTensorType

    pipeline = sklearn_pipeline(model._fitted_model())
    # Its default, en_US.UTF-8, is missing on many servers; then onnxruntime does not load the model at all.
    options = {id(pipeline["ngrams"]): {"locale": "C.UTF-8"}, id(pipeline["model"]): {"zipmap": False}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converted = to_onnx(pipeline, initial_types=[("text", StringTensorType([None, 1]))], options=options)
    session = onnxruntime.InferenceSession(converted.SerializeToString())

    def score(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        parts = [
            session.run(None, {"text": np.array(texts[k : k + BATCH], object)[:, None]})
            for k in range(0, len(texts), BATCH)
        ]
        labels, p = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        return _numbers(model, labels), p

    return Scorer.of(score)


EXPORTS: dict[str, Callable[[AnyTextModel, Path], Scorer]] = {
    "scikit-learn": in_sklearn,
    "ONNX": in_onnxruntime,
    "JSON, read in Python": in_python,
    "JSON, read in JavaScript": in_node,
}


def _numbers(model: AnyTextModel, labels: np.ndarray) -> np.ndarray:
    if model.multilabel_:
        return indicators_of(labels, model.classes_)
    return np.searchsorted(model.classes_, labels)


def differences(expected: Any, found: Any) -> tuple[int, float]:
    """Return the number of texts with another label, and the largest difference of a probability."""
    return int((expected[0] != found[0]).sum()), float(np.abs(expected[1] - found[1]).max())


@cache
def texts_of(name: str, split: str) -> tuple[list[str], np.ndarray]:
    file, label = DATA[name]
    data = read(file)
    chosen = data.filter(data["split"] == split)
    return chosen["text"].to_list(), chosen[label].to_numpy()


def fitted(name: str, longest: int) -> TextClassifier:
    """Return a classifier that is calibrated and blended with naive Bayes, as by default."""
    model = TextClassifier(ngram_range=(1, longest), **SETTINGS, ngram_weight=0.5, characters=None)
    return model.fit(*texts_of(name, "train"))


def sources(model: TextClassifier) -> dict[str, list[str]]:
    """Return the texts to compare on."""
    unicode = with_words_of(model, RANDOM_TEXTS)
    return {"random Unicode": unicode} | {name: texts_of(name, "test")[0] for name in DATA}


def with_words_of(model: TextClassifier, n: int) -> list[str]:
    """Return random texts that also contain words of the model."""
    words = model.vectorizer_.ngrams_._words
    chosen = np.random.default_rng(0).choice(len(words), min(WORDS, len(words)), replace=False)
    return random_texts(n, seed=1, words=[words[k] for k in chosen])


def characters() -> str:
    """Return the table of agreement and times for models with n-grams of characters."""
    rows = []
    for name, (file, label) in WITH_CHARACTERS.items():
        data = read(file)
        data = data.filter(data["label"] >= 0) if file == "imdb" else data
        order = np.random.default_rng(0).permutation(len(data))
        train, test = data[order[:TRAINING]], data[order[TRAINING : TRAINING + TESTING]]
        model = TextClassifier(**SETTINGS).fit(train["text"].to_list(), train[label].to_numpy())
        model.n_jobs = 1
        ngrams = f"{model.summary_.features:,} + {model.summary_.characters:,}"
        given = test["text"].to_list()
        texts = [*with_words_of(model, TESTING), *given]
        expected = ours(model).both(texts)
        rows.append((name, ngrams, "dropglm, one thread", "", "", "", _per_text(ours(model), given)))
        for export_name, export in EXPORTS.items():
            with TemporaryDirectory() as folder:
                score = export(model, Path(folder))
                size = _size(Path(folder))
                other, worst = differences(expected, score.both(texts))
                each = _per_text(score, given)
                if export is in_node:
                    each = _per_text_in_node(Path(folder), given)
            rows.append((name, ngrams, export_name, f"{other}", f"{worst:.0e}", size, each))
            print(rows[-1], flush=True)
    return table(
        ("model", "n-grams of words + characters", "", "other labels", "difference", "file", "per text"), rows
    )


def agreement() -> str:
    """Return the table of agreement, and what it shows."""
    rows, sizes, shares = [], {}, []
    for name in DATA:
        for ngrams, longest in NGRAMS.items():
            model = fitted(name, longest)
            texts = sources(model)
            sizes = {source: len(found) for source, found in texts.items()}
            row = [f"{name}, {ngrams}", f"{len(model.classes_)}", f"{model.n_features_in_:,}"]
            expected = {source: ours(model).both(given) for source, given in texts.items()}
            for export in EXPORTS.values():
                with TemporaryDirectory() as folder:
                    score = export(model, Path(folder))
                    found = [
                        differences(expected[source], score.both(given)) for source, given in texts.items()
                    ]
                row.append(f"{sum(n for n, _ in found):,}; {max(p for _, p in found):.0e}")
                print(name, ngrams, row[-1], flush=True)
            rows.append(row)
            shares.append([f"{name}, {ngrams}", *skl2onnx_shares(model, texts, expected)])
            print(shares[-1], flush=True)
    total = " + ".join(f"{n:,} {source}" for source, n in sizes.items())
    first = table(("model", "classes", "n-grams", *EXPORTS), rows)
    second = table(("model", *sizes), shares)
    return (
        f"Texts with another label than dropglm's, of {sum(sizes.values()):,} ({total}), and the largest "
        f"difference of a probability:\n\n{first}\n\nskl2onnx's conversion of the same scikit-learn "
        f"pipeline, on {SKL2ONNX_TEXTS:,} texts of each source: share of texts with another label, and the "
        f"largest difference of a probability:\n\n{second}"
    )


def skl2onnx_shares(model: TextClassifier, texts: Any, expected: Any) -> Iterable[str]:
    """Return how far skl2onnx's conversion differs from the model, by source."""
    with TemporaryDirectory() as folder:
        score = in_skl2onnx(model, Path(folder))
        for source, given in texts.items():
            chosen = slice(0, None, max(1, len(given) // SKL2ONNX_TEXTS))
            labels, p = (part[chosen][:SKL2ONNX_TEXTS] for part in expected[source])
            other, worst = differences((labels, p), score.both(given[chosen][:SKL2ONNX_TEXTS]))
            yield f"{other / len(labels):.1%}; {worst:.0e}"


def speed(texts: int = 2_000) -> str:
    """Return the table of sizes and times, for one model."""
    model, given = fitted("IMDB", 2), texts_of("IMDB", "test")[0][:texts]
    model.n_jobs = 1
    rows = [("dropglm, one thread", "", "", _per_text(ours(model), given))]
    for name, export in {**EXPORTS, "skl2onnx": in_skl2onnx}.items():
        with TemporaryDirectory() as folder:
            start = time.perf_counter()
            score = export(model, Path(folder))
            took = time.perf_counter() - start
            size = "" if export is in_skl2onnx else _size(Path(folder))
            per_text = _per_text(score, given[:BATCH] if export is in_skl2onnx else given)
            if export is in_node:
                per_text = _per_text_in_node(Path(folder), given)
        rows.append((name, size, f"{took:.1f} s", per_text))
    return table(("IMDB, bigrams", "file", "write and read the file", "per review"), rows)


def _size(folder: Path) -> str:
    (file,) = folder.iterdir()
    return f"{file.stat().st_size / 1e6:.1f} MB"


def _per_text_in_node(folder: Path, texts: list[str]) -> str:
    """Return the time of the last predictions, without the start of Node."""
    _, milliseconds = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return f"{milliseconds / len(texts):.2f} ms"


def _per_text(score: Scorer, texts: list[str]) -> str:
    score.probabilities(texts[:10])
    start = time.perf_counter()
    score.probabilities(texts)
    return f"{(time.perf_counter() - start) / len(texts) * 1e3:.2f} ms"


if __name__ == "__main__":
    parts = {"--speed": ("speed", speed), "--characters": ("characters", characters)}
    name, part = parts[sys.argv[1]] if sys.argv[1:] else ("agreement", agreement)
    block = part()
    print(block)
    fill(PAGE, name, block)
