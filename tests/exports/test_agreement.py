"""Exported models predict what the model itself predicts, on texts of random Unicode."""

import json
import shutil
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from benchmarks import exports
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import Pipeline

from dropglm import TextClassifier
from dropglm.exports import write_json, write_onnx, write_sklearn
from dropglm.text.fitted_model import as_labels
from dropglm.text.ngrams.tokens import RUNS
from tests.exports.conftest import NEW

READERS = Path(exports.READERS)
MIXED = [
    "iPhone手机很好!",
    "手机不好",
    "映画はとてもよかった",
    "カメラがｶｯｺｲｲ",
    "ดีมาก It's",
    "ไม่ดี",
    "好 film",
    "가 나다",
    "မြန်မာ",
    "ខ្មែរ",
]
NEW_MIXED = [*MIXED[::-1], "".join(MIXED), " ".join(MIXED), "不<br>好IPHONE", "とても手机 人々〇", "ལྷ་ས 𠀀好"]


@pytest.mark.parametrize("export", list(exports.EXPORTS))
def test_labels_and_probabilities_are_the_same(model, export, tmp_path):
    if export.endswith("JavaScript") and shutil.which("node") is None:
        pytest.skip("Node is not installed")
    expected = exports.ours(model).both(NEW)
    labels, probabilities = exports.EXPORTS[export](model, tmp_path).both(NEW)
    assert len(np.unique(expected[0])) > 1
    assert_array_equal(labels, expected[0])
    assert_allclose(probabilities, expected[1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("pattern", RUNS)
@pytest.mark.parametrize("export", list(exports.EXPORTS))
def test_every_built_in_pattern_finds_the_same_tokens(pattern, export, tmp_path):
    if export.endswith("JavaScript") and shutil.which("node") is None:
        pytest.skip("Node is not installed")
    model = TextClassifier(tune=False, min_df=1, token_pattern=pattern).fit(MIXED, [0, 1] * (len(MIXED) // 2))
    expected = exports.ours(model).both(NEW_MIXED)
    labels, probabilities = exports.EXPORTS[export](model, tmp_path).both(NEW_MIXED)
    assert_array_equal(labels, expected[0])
    assert_allclose(probabilities, expected[1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("export", [name for name in exports.EXPORTS if name.startswith("JSON")])
def test_readers_normalise_texts(model, export, tmp_path):
    """Scikit-learn and ONNX do not; their texts must be in NFC."""
    if export.endswith("JavaScript") and shutil.which("node") is None:
        pytest.skip("Node is not installed")
    expected = exports.ours(model).both(NEW)
    decomposed = [normalize("NFD", text) for text in NEW]
    for scorer in (exports.ours(model), exports.EXPORTS[export](model, tmp_path)):
        labels, probabilities = scorer.both(decomposed)
        assert_array_equal(labels, expected[0])
        assert_allclose(probabilities, expected[1], rtol=0, atol=1e-6)


def test_an_onnx_file_says_what_it_needs_and_takes_any_number_of_texts(model, tmp_path):
    import onnx
    import onnxruntime

    path = tmp_path / "model.onnx"
    write_onnx(model, path)
    loaded = onnx.load(path)
    onnx.checker.check_model(loaded)
    assert {each.domain: each.version for each in loaded.opset_import} == {
        "": 20,
        "ai.onnx.ml": 3,
        "com.microsoft": 1,
    }
    session = onnxruntime.InferenceSession(path)
    assert [each.name for each in session.get_outputs()] == ["label", "probabilities"]
    none = session.run(None, {"text": np.array([], object)})
    K = len(model.classes_)
    assert [part.shape for part in none] == [(0, K) if model.multilabel_ else (0,), (0, K)]
    label, _ = session.run(None, {"text": np.array(["good"], object)})
    if model.multilabel_:
        label = as_labels(label, model.classes_)
        assert json.loads(session.get_modelmeta().custom_metadata_map["classes"]) == model.classes_.tolist()
    assert label.tolist() == model.predict(["good"]).tolist()


def test_a_vocabulary_without_longer_ngrams_is_exported(tmp_path):
    model = TextClassifier(tune=False).fit(["so good", "bad", "good", "bad film"], [1, 0, 1, 0])
    assert not any(" " in name for name in model.vectorizer_.get_feature_names_out())
    texts = ["so good", "a bad film"]
    found = exports.in_onnxruntime(model, tmp_path).both(texts)
    other, difference = exports.differences(exports.ours(model).both(texts), found)
    assert other == 0
    assert difference < 1e-6


def test_a_file_is_the_same_whenever_it_is_written(model, tmp_path):
    for name, write in {"a.json.gz": write_json, "a.json": write_json, "a.onnx": write_onnx}.items():
        write(model, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        write(model, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first


def test_a_pipeline_is_read_without_trusting_anything(model, tmp_path):
    import skops.io

    assert write_sklearn(model, tmp_path / "pipeline.skops") == []
    assert skops.io.get_untrusted_types(file=tmp_path / "pipeline.skops") == []
    assert isinstance(skops.io.load(tmp_path / "pipeline.skops"), Pipeline)


@pytest.mark.parametrize("name", ["read_model.py", "read_model.mjs"])
def test_readers_have_eighty_lines(name):
    assert len((READERS / name).read_text(encoding="utf-8").splitlines()) <= 80
