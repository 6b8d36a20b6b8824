"""Pipelines of scikit-learn that predict what our models predict."""

import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from benchmarks.unicode_texts import ODD, random_texts
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from dropglm import NgramVectorizer, OnlineTextClassifier, TextClassifier
from dropglm.text.fitted_model import as_labels
from dropglm.text.ngrams.tokens import WORDS_OF_TWO_LETTERS, Preprocessor

WORDS = [
    "good",
    "bad",
    "Dull",
    "film",
    "it's",
    "ΟΔΟΣ",
    "İstanbul",
    "naïve",
    "x2",
    "京都",
    "手机很好",
    "映画はとても",
    "ดีมาก",
]
TEXTS = random_texts(300, seed=1, words=WORDS)
NEW = random_texts(1500, seed=2, words=WORDS)
LABELS = ["ab"[len(text) % 2] for text in TEXTS]
THREE = ["abc"[len(text) % 3] for text in TEXTS]

SETTINGS = [
    {},
    {"ngram_range": (2, 3), "lowercase": False},
    {"binary": False, "use_idf": True, "smooth_idf": False, "norm": "l2", "sublinear_tf": True},
    {"binary": False, "norm": "l1", "ngram_weight": 0.5, "ngram_range": (1, 3)},
    {"use_idf": True, "idf_power": 0.5, "stop_words": ["good", "film"], "ngram_range": (1, 2)},
    {"token_pattern": WORDS_OF_TWO_LETTERS, "ngram_range": (1, 2), "norm": "l2"},
    {"token_pattern": re.compile("[a-z]+|<", re.IGNORECASE)},
    {"strip_html": False, "strip_accents": "unicode", "token_pattern": r"\S+"},
    {"strip_accents": "ascii"},
    {"analyzer": "char_wb", "ngram_range": (2, 4)},
    {"analyzer": "char", "ngram_range": (1, 2), "strip_html": False, "strip_accents": "unicode"},
    {"analyzer": str.split},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_a_vectorizer_of_scikit_learn_gives_the_same_matrix(settings):
    ours = NgramVectorizer(**settings).fit(TEXTS)
    theirs = ours.to_sklearn()
    assert type(theirs) in (CountVectorizer, TfidfVectorizer)
    found, expected = theirs.transform(NEW), ours.transform(NEW)
    assert_array_equal(found.indptr, expected.indptr)
    assert_allclose(found.toarray(), expected.toarray(), rtol=1e-6, atol=1e-7)
    assert_array_equal(theirs.get_feature_names_out(), ours.get_feature_names_out())


@pytest.mark.parametrize("labels", [LABELS, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("settings", [{"tune": False}, {"cv": 2, "l2": 0.1}], ids=["fixed", "tuned"])
def test_a_pipeline_of_scikit_learn_predicts_the_same(labels, settings):
    ours = TextClassifier(ngram_range=(1, 3), **settings).fit(TEXTS, labels)
    theirs = pickle.loads(pickle.dumps(ours.to_sklearn()))
    assert_array_equal(theirs.classes_, ours.classes_)
    assert_array_equal(theirs.predict(NEW), ours.predict(NEW))
    assert_allclose(theirs.predict_proba(NEW), ours.predict_proba(NEW), atol=1e-6)


def test_characters_become_a_second_vectorizer_of_a_union():
    ours = TextClassifier(cv=2, l2=0.1).fit(TEXTS, THREE)
    theirs = ours.to_sklearn()
    assert [type(step).__name__ for _, step in theirs.steps] == ["FeatureUnion", "LogisticRegression"]
    assert [type(one) for _, one in theirs["ngrams"].transformer_list] == [TfidfVectorizer] * 2
    d, more = ours.summary_.features, ours.summary_.characters
    assert theirs["model"].n_features_in_ == d + more > d
    names = theirs["ngrams"].get_feature_names_out()
    assert (names[0].partition("__")[0], names[d].partition("__")[0]) == ("words", "characters")
    assert_allclose(theirs.decision_function(NEW), ours.decision_function(NEW), atol=1e-5)


def test_one_model_per_class_becomes_a_one_versus_rest_classifier():
    ours = OnlineTextClassifier().start_from(TextClassifier(tune=False).fit(TEXTS, THREE))
    ours.partial_fit(NEW[:50], [THREE[k] for k in range(50)])
    theirs = ours.to_sklearn()
    assert [len(theirs["model"].estimators_), theirs["model"].multilabel_] == [3, False]
    assert_array_equal(theirs.predict(NEW), ours.predict(NEW))
    assert_allclose(theirs.predict_proba(NEW), ours.predict_proba(NEW), atol=1e-6)


@pytest.mark.parametrize("settings", [{"tune": False}, {"cv": 2}], ids=["words", "words and characters"])
def test_the_pipeline_needs_nothing_of_ours(settings, tmp_path):
    model = TextClassifier(stop_words="english", **settings).fit(TEXTS, THREE)
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps(model.to_sklearn()))
    code = "import pickle, sys; sys.modules['dropglm'] = None\n"
    code += "print(pickle.load(open(sys.argv[1], 'rb')).predict(['good']))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code, path], capture_output=True, text=True)
    assert done.stdout.strip() == str(model.predict(["good"])), done.stderr


def test_cleaning_that_scikit_learn_lacks_is_an_importable_class():
    """Ours removes tags, then accents: "<é>" is not a tag. In scikit-learn the tokens come last."""
    ours = NgramVectorizer(strip_accents="unicode").fit(["<é> e", "b"])
    theirs = ours.to_sklearn()
    assert type(theirs.preprocessor) is Preprocessor
    assert_array_equal(theirs.transform(["<é>"]).toarray(), ours.transform(["<é>"]).toarray())


class Shouting(NgramVectorizer):
    def build_preprocessor(self):
        return str.upper


def embedded():
    return TextClassifier(tune=False).fit(TEXTS, LABELS, embeddings=np.eye(len(TEXTS)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: OnlineTextClassifier(bits=6).fit(TEXTS, LABELS), "hashed .* train a TextClassifier, or"),
        (lambda: Shouting().fit(["a"]), "Shouting overrides build_preprocessor"),
        (embedded, "uses embeddings.* train it without an embedder"),
    ],
)
def test_what_scikit_learn_cannot_do_is_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model().to_sklearn()


def test_odd_characters_are_odd():
    """Some are lost if an editor normalises the file."""
    assert len(set(ODD)) == len(ODD)
    assert len([character for character in ODD if re.fullmatch(r"\s", character)]) > 15


SEVERAL = [["b"] * (len(text) % 2) + ["a"] * (len(text) % 3 == 0) + ["c"] for text in TEXTS]


@pytest.mark.parametrize("settings", [{"tune": False}, {"cv": 2, "l2": 0.1}], ids=["fixed", "tuned"])
@pytest.mark.parametrize("names", ["abc", "ab"], ids=["three labels", "two labels"])
def test_several_labels_become_a_one_versus_rest_classifier_of_labels(settings, names):
    labels = [[name for name in own if name in names] for own in SEVERAL]
    ours = TextClassifier(**settings).fit(TEXTS, labels)
    theirs = pickle.loads(pickle.dumps(ours.to_sklearn()))
    assert theirs["model"].multilabel_
    assert_array_equal(theirs.classes_, ours.classes_)
    p = theirs.predict_proba(NEW)
    assert_allclose(p, ours.predict_proba(NEW), atol=1e-6)
    above = as_labels(p > theirs["model"].thresholds_, ours.classes_)
    assert above.tolist() == ours.predict(NEW).tolist()
    assert_array_equal(theirs.predict(NEW), p > 0.5)
