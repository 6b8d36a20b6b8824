import numpy as np
import pytest
from benchmarks.unicode_texts import random_texts

from dropglm import OnlineTextClassifier, TextClassifier
from dropglm.text.ngrams.tokens import WORDS_OF_TWO_LETTERS

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
NEW = [*random_texts(1000, seed=2, words=WORDS), "", "<br>", "good " * 400, "Σ", "ΑΣ", "ΑΣ.", "Α.Σ́Β"]


def labels(K):
    return np.array(["ja", "nein", "weiß nicht"])[[len(text) % K for text in TEXTS]]


def online():
    """One model per class, with n-grams of a classifier."""
    start = TextClassifier(tune=False, sublinear_tf=False).fit(TEXTS, labels(3))
    return OnlineTextClassifier().start_from(start).partial_fit(TEXTS, labels(3))


def with_characters(K, **settings):
    """A tuned model that uses n-grams of characters."""
    model = TextClassifier(cv=2, l2=0.1, **settings).fit(TEXTS, labels(K))
    head = model._fitted_model().characters
    assert head is not None
    assert np.abs(head.coef).max() > 0
    return model


LABELS = [
    [name for name, k in (("zwei", 2), ("drei", 3), ("fünf", 5)) if len(text) % k == 0] for text in TEXTS
]


def several_labels(labels, **settings):
    return TextClassifier(**{"cv": 2, "l2": 0.1} | settings).fit(TEXTS, labels)


MODELS = {
    "two classes": lambda: with_characters(2, ngram_range=(1, 3)),
    "characters of three classes": lambda: with_characters(3),
    "counts of short n-grams of characters": lambda: with_characters(
        2, characters=(1, 2), sublinear_tf=False, norm=None, lowercase=False
    ),
    "n-grams of more characters than words have": lambda: with_characters(
        2, characters=(6, 7), use_idf=False, norm="l1"
    ),
    "no characters": lambda: TextClassifier(cv=2, l2=0.1, characters=None).fit(TEXTS, labels(2)),
    "three classes": lambda: TextClassifier(tune=False, stop_words=["good", "2"]).fit(TEXTS, labels(3)),
    "words of two letters": lambda: TextClassifier(
        tune=False, token_pattern=WORDS_OF_TWO_LETTERS, ngram_range=(2, 3), lowercase=False, norm="l1"
    ).fit(TEXTS, labels(2) == "ja"),
    "presence": lambda: TextClassifier(
        tune=False,
        binary=True,
        sublinear_tf=False,
        use_idf=False,
        norm=None,
        strip_html=False,
        ngram_weight=1.0,
    ).fit(TEXTS, [len(text) % 3 for text in TEXTS]),
    "one class against the rest": online,
    "several labels": lambda: several_labels(LABELS),
    "several labels and fixed settings": lambda: several_labels(LABELS, tune=False),
    "two labels in an indicator matrix": lambda: several_labels(
        [[k in labels for k in ("zwei", "drei")] for labels in LABELS], characters=None
    ),
}


@pytest.fixture(scope="session", params=list(MODELS))
def model(request):
    return MODELS[request.param]()
