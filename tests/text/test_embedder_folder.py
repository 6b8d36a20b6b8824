"""Embedders in local folders, with stand-ins for the packages that read them."""

import importlib
import json
import sys

import pytest

from dropglm.text.embeddings import embed
from dropglm.text.encoders import load_embedder

SENTENCE_TRANSFORMERS = """
class SentenceTransformer:
    def __init__(self, path, local_files_only=False):
        assert local_files_only
        if "broken" in path:
            raise OSError("no file named\\nmodel.safetensors")

    def encode(self, inputs, show_progress_bar=None):
        assert show_progress_bar is False
        return [[len(text), 1.0] for text in inputs]
"""
MODEL2VEC = """
class StaticModel:
    @classmethod
    def from_pretrained(cls, path):
        return cls()

    def encode(self, sentences, show_progress_bar=False):
        return [[len(text), 2.0] for text in sentences]
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that makes stand-ins for packages importable."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(**packages):
        for name in ("sentence_transformers", "model2vec"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        for name, code in packages.items():
            (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        importlib.invalidate_caches()

    install()
    return install


def folder(place, **files):
    place.mkdir()
    for name, content in files.items():
        (place / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return place


STATIC = [{"type": "sentence_transformers.models.StaticEmbedding"}]
TRANSFORMER = [{"type": "sentence_transformers.models.Transformer"}]


def test_each_folder_is_read_by_a_package_that_can_read_it(tmp_path, install):
    static = folder(tmp_path / "static", modules=STATIC, config={"normalize": True})
    other = folder(tmp_path / "mini", modules=TRANSFORMER)
    install(sentence_transformers=SENTENCE_TRANSFORMERS)
    assert embed(load_embedder(static), ["abc"]).tolist() == [[3.0, 1.0]]
    assert load_embedder(other).name == "mini"
    install(model2vec=MODEL2VEC)
    assert embed(load_embedder(static), ["abc"]).tolist() == [[3.0, 2.0]]
    for given in (load_embedder(str(other)), str(other), other):
        assert embed(given, ["abc"]).tolist() == [[3.0, 1.0]]


def test_a_package_that_is_missing_is_named(tmp_path, install):
    with pytest.raises(
        ImportError, match="needs model2vec or sentence-transformers; install it with: pip install"
    ):
        load_embedder(folder(tmp_path / "one", config={"model_type": "model2vec"}))
    with pytest.raises(
        ImportError, match=r"needs sentence-transformers; install .*: pip install sentence-transf"
    ):
        load_embedder(folder(tmp_path / "two", config={"model_type": "bert"}))


def test_what_is_not_a_model_is_refused(tmp_path, install):
    install(sentence_transformers=SENTENCE_TRANSFORMERS)
    with pytest.raises(ValueError, match=r"has no modules\.json or config.json, so it is not a sentence-"):
        load_embedder(folder(tmp_path / "empty"))
    (tmp_path / "empty" / "modules.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"modules\.json cannot be read"):
        load_embedder(tmp_path / "empty")
    with pytest.raises(
        ValueError, match="is not a folder; name that of a sentence-transformers or model2vec"
    ):
        load_embedder(tmp_path / "none")
    with pytest.raises(
        ValueError, match=r"cannot read the embedder .*broken: no file named model.safetensors\.$"
    ):
        load_embedder(folder(tmp_path / "broken", modules=TRANSFORMER))
