"""What files of other programs cannot hold is refused, with what to do instead."""

import re
import sys

import numpy as np
import pytest

from dropglm import OnlineTextClassifier, TextClassifier
from dropglm.exports import write_json, write_onnx, write_sklearn
from tests.exports.conftest import TEXTS, labels


def classifier(**settings):
    return TextClassifier(**{"tune": False} | settings).fit(TEXTS, labels(2))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: OnlineTextClassifier(bits=6).fit(TEXTS, labels(2)),
            "hashes its n-grams.* train it without -",
        ),
        (
            lambda: TextClassifier(tune=False).fit(TEXTS, labels(2), embeddings=np.eye(len(TEXTS))),
            "uses embeddings, .* train it without --embedder",
        ),
        (
            lambda: classifier(analyzer="char"),
            "analyzer='char', .* export it to scikit-learn, or",
        ),
        (lambda: classifier(analyzer=str.split, ngram_range=(1, 1)), "analyzer=split, which"),
        (lambda: classifier(strip_accents="ascii"), "strip_accents='ascii'"),
        (lambda: classifier(token_pattern=r"\w+"), re.escape(r"token_pattern='\\w+', which")),
    ],
)
def test_models_that_need_more_are_refused(model, message, tmp_path):
    fitted = model()
    for write, name in ((write_json, "JSON"), (write_onnx, "ONNX")):
        with pytest.raises(ValueError, match=message) as error:
            write(fitted, tmp_path / "file")
        assert name in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"token_pattern": r"\w+"}, ["Preprocessor"]),
        ({"strip_accents": "unicode"}, ["Preprocessor", "strip_unicode"]),
        ({"strip_accents": "unicode", "strip_html": False}, []),
        ({"strip_accents": "unicode", "tune": True, "cv": 2}, ["Preprocessor", "strip_unicode"]),
    ],
)
def test_what_a_pipeline_needs_of_dropglm_is_named(settings, names, tmp_path):
    import skops.io

    model, path = classifier(**settings), tmp_path / "p.skops"
    needed = write_sklearn(model, path)
    assert needed == [f"dropglm.text.ngrams.tokens.{name}" for name in names]
    assert skops.io.load(path, trusted=needed).predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    assert write_sklearn(model, tmp_path / "p.pkl") == needed


def test_the_name_says_how_a_pipeline_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"suffix '.joblib' is unknown; known: '.pkl', '.skops'"):
        write_sklearn(classifier(), tmp_path / "p.joblib")


@pytest.mark.parametrize(("write", "package"), [(write_onnx, "onnx"), (write_sklearn, "skops")])
def test_a_missing_package_is_named(write, package, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package}; install it with: pip install 'dropglm\[export\]'"):
        write(classifier(), tmp_path / "p.skops")


def test_coefficients_that_are_too_many_for_onnx_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dropglm.exports.onnx_file.LARGEST", 100)
    with pytest.raises(ValueError, match=r"more than the 2 GB .*; train the model with fewer n-grams"):
        write_onnx(classifier(), tmp_path / "p.onnx")
