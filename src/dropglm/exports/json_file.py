"""Models as JSON, for programs in other languages; docs/exporting.md documents the format."""

import gzip
import json
from collections.abc import Iterator
from os import PathLike, fspath
from typing import Any

import numpy as np

from dropglm.base.files import replacing
from dropglm.exports.model_parts import (
    SIGMA,
    NgramParts,
    TextModelParts,
    around_sigma,
    lower_case,
    matching,
)
from dropglm.text.fitted_model import AnyTextModel

# Version 2 has several labels per text, whose probabilities a reader of version 1 would scale to sum to 1.
FORMAT, VERSION, SEVERAL_LABELS = "dropglm text classifier", 1, 2
PART = 1 << 16  # numbers that are written at a time


def write_json(model: AnyTextModel, path: str | PathLike[str]) -> None:
    """Write a text model as JSON: its vocabulary, its coefficients, and how texts are split into tokens.

    Parameters
    ----------
    model : TextClassifier or OnlineTextClassifier
        A fitted model of words, with a built-in token pattern, without ``strip_accents``, embeddings and
        hashing.
    path : str or path-like
        File to write. If the name ends in ``.gz``, the file is compressed.

    See Also
    --------
    write_onnx : The same for onnxruntime.
    write_sklearn : The same for scikit-learn.

    Examples
    --------
    >>> import tempfile, pathlib, json
    >>> from dropglm import TextClassifier
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_json(model, pathlib.Path(folder) / "model.json")
    ...     json.loads((pathlib.Path(folder) / "model.json").read_bytes())["vocabulary"]
    ['bad', 'bad film', 'film', 'good', 'good film']
    """
    parts = TextModelParts.of(model, "the JSON format")
    with replacing(path) as stream:
        if fspath(path).endswith(".gz"):
            # Without a date, so that the same model is the same file.
            with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as compressed:
                compressed.writelines(part.encode() for part in _json(parts))
        else:
            stream.writelines(part.encode() for part in _json(parts))


def _json(parts: TextModelParts) -> Iterator[str]:
    """Yield the text of the file."""
    head = {
        "format": FORMAT,
        "version": VERSION if parts.thresholds is None else SEVERAL_LABELS,
        "classes": parts.classes,
        "link": parts.link,
        **({} if parts.thresholds is None else {"thresholds": parts.thresholds.tolist()}),
        "normalization": "NFC",
        "lowercase": _lowercase() if parts.lowercase else None,
        "strip_html": parts.strip_html,
        "tokens": {
            "word": matching(parts.runs.run),
            "shortest": parts.runs.shortest,
            "single": None if parts.runs.single is None else matching(parts.runs.single),
        },
        "stop_words": parts.stop_words,
    }
    yield _dumps(head)[:-1]
    yield from _ngrams(parts.words)
    yield ',\n"intercepts": '
    yield from _numbers(parts.intercept)
    yield ',\n"characters": '
    if parts.characters is None:
        yield "null"
    else:
        yield _dumps({"white_space": matching(r"\s")})[:-1]
        yield from _ngrams(parts.characters)
        yield "}"
    yield "}\n"


def _ngrams(parts: NgramParts) -> Iterator[str]:
    """Yield n-grams as further keys of an object; arrays are written row by row, since they may be large."""
    settings = {"ngram_range": parts.ngram_range, "tf": parts.tf, "norm": parts.norm}
    yield "," + _dumps(settings)[1:-1] + ',\n"vocabulary": ' + _dumps(parts.vocabulary.names())
    yield ',\n"factors": '
    yield from _numbers(parts.factors)
    yield ',\n"coefficients": ['
    for k, row in enumerate(parts.coef):
        yield ",\n" if k else ""
        yield from _numbers(row)
    yield "]"


def _lowercase() -> dict[str, Any]:
    cased, ignored = around_sigma()
    return {"characters": lower_case() | {SIGMA: "σ"}, "cased": cased, "ignored": ignored}


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _numbers(row: np.ndarray) -> Iterator[str]:
    """Yield an array of numbers, with as many digits as it takes to read the same numbers."""
    form = "%.9g" if row.dtype == np.float32 else "%.17g"
    for k in range(0, max(len(row), 1), PART):
        yield ("," if k else "[") + ",".join([form % number for number in row[k : k + PART].tolist()])
    yield "]"
