"""scikit-learn's own tests of CountVectorizer and TfidfVectorizer, run with NgramVectorizer in their place.

Its test module is executed with both classes replaced by NgramVectorizer with their defaults, and those of
its tests that use one of the two classes run here. The tests that fail are listed with the reason.
"""

import importlib.util
import sys
from types import ModuleType

import numpy as np
import pytest
import sklearn.feature_extraction.text as theirs

from dropglm import NgramVectorizer
from dropglm.text.ngrams.tokens import WORDS_OF_TWO_LETTERS

NAMES = ("CountVectorizer", "TfidfVectorizer")

EXPECTED_FAILURES = {
    "test_tfidf_vectorizer_setter": "expects 'user_idf' in the message, where the setting is called use_idf",
    "test_vectorizer_stop_words_inconsistent": "deletes the private attribute _stop_words_id",
    "test_stop_word_validation_custom_preprocessor": "calls the private method _check_stop_words_consistency",
    "test_countvectorizer_sort_features_64bit_sparse_indices": "calls the private method _sort_features",
}

# Besides the warnings that they check, these tests cause others.
pytestmark = pytest.mark.filterwarnings("ignore")


class CountVectorizer(NgramVectorizer):
    """NgramVectorizer with the signature and the defaults of scikit-learn's class."""

    def __init__(
        self,
        *,
        input="content",
        encoding="utf-8",
        decode_error="strict",
        strip_accents=None,
        lowercase=True,
        preprocessor=None,
        tokenizer=None,
        stop_words=None,
        token_pattern=WORDS_OF_TWO_LETTERS,
        ngram_range=(1, 1),
        analyzer="word",
        max_df=1.0,
        min_df=1,
        max_features=None,
        vocabulary=None,
        binary=False,
        dtype=np.int64,
    ):
        settings = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(strip_html=False, **settings)


class TfidfVectorizer(NgramVectorizer):
    """NgramVectorizer with the signature and the defaults of scikit-learn's class."""

    def __init__(
        self,
        *,
        input="content",
        encoding="utf-8",
        decode_error="strict",
        strip_accents=None,
        lowercase=True,
        preprocessor=None,
        tokenizer=None,
        analyzer="word",
        stop_words=None,
        token_pattern=WORDS_OF_TWO_LETTERS,
        ngram_range=(1, 1),
        max_df=1.0,
        min_df=1,
        max_features=None,
        vocabulary=None,
        binary=False,
        dtype=np.float64,
        norm="l2",
        use_idf=True,
        smooth_idf=True,
        sublinear_tf=False,
    ):
        settings = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(strip_html=False, **settings)


def their_tests() -> ModuleType:
    """Return scikit-learn's test module, executed with our classes in place of theirs."""
    origin = importlib.util.find_spec("sklearn.feature_extraction.tests.test_text").origin
    spec = importlib.util.spec_from_file_location("adapted_test_text", origin)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that pickle finds its functions
    with pytest.MonkeyPatch.context() as patch:
        for ours in (CountVectorizer, TfidfVectorizer):
            patch.setattr(theirs, ours.__name__, ours)
        spec.loader.exec_module(module)
    return module


def uses_the_vectorizer(test) -> bool:
    """Return whether a test names one of the two classes, in its body or among its parameters."""
    parameters = [mark.args[1] for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    return any(name in test.__code__.co_names or name in repr(parameters) for name in NAMES)


def without_hashing(mark):
    """Leave out the cases that test HashingVectorizer."""
    if mark.name != "parametrize":
        return mark
    names, cases = mark.args
    ours = [case for case in cases if "HashingVectorizer" not in repr(case)]
    return pytest.mark.parametrize(names, ours, **mark.kwargs).mark


def adapt(name: str, test):
    """Return a test of the two classes, marked if it is expected to fail."""
    test.pytestmark = [without_hashing(mark) for mark in getattr(test, "pytestmark", ())]
    if name in EXPECTED_FAILURES:
        return pytest.mark.xfail(strict=True, reason=EXPECTED_FAILURES[name])(test)
    return test


TESTS = {
    name: adapt(name, test)
    for name, test in vars(their_tests()).items()
    if name.startswith("test_") and uses_the_vectorizer(test)
}
globals().update(TESTS)


def test_scikit_learn_has_the_tests_listed_here():
    assert len(TESTS) >= 54
    assert EXPECTED_FAILURES.keys() <= TESTS.keys()
