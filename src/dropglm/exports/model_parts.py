"""A fitted text model as its parts: how tokens are found, n-grams and their factors, and coefficients.

Other programs can do what is described here. A model that needs more is refused, with what to do instead.

Other languages disagree with Python on word characters, blanks and lower case, and so do their versions with
each other, since each follows one version of Unicode. Exported models hold the tables of the Python that
wrote them.
"""

import re
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np

from dropglm.base.errors import InputError
from dropglm.core.predictions import MULTILABEL
from dropglm.text.file_contents import plain_pattern
from dropglm.text.fitted_model import AnyTextModel, refuse_columns
from dropglm.text.ngrams.features import Vocabulary
from dropglm.text.ngrams.hashed import HashedFeatures
from dropglm.text.ngrams.tokens import CASED, RUNS, Runs, characters

SIGMA, FINAL_SIGMA = "Σ", "ς"
Ranges = tuple[tuple[int, int], ...]
INDEPENDENT = "independent_logistic"
LINKS = {"multinomial": "softmax", "ovr": "normalized_logistic", MULTILABEL: INDEPENDENT}


@dataclass(frozen=True)
class NgramParts:
    """N-grams of words or of characters, how they are weighted, and their coefficients.

    Attributes
    ----------
    ngram_range : pair of int
        The smallest and the largest n.
    vocabulary : Vocabulary
        The n-grams.
    factors : ndarray of shape (d,)
        Their factors.
    tf : {"binary", "count", "log"}
        What is multiplied by the factor of an n-gram: 1, its count c in the text, or 1 + ln c.
    norm : {"l1", "l2"} or None
        The norm by which the features of a text are divided.
    coef : ndarray of shape (K, d)
    """

    ngram_range: tuple[int, int]
    vocabulary: Vocabulary
    factors: np.ndarray
    tf: str
    norm: str | None
    coef: np.ndarray

    @classmethod
    def of(cls, vectorizer: Any, coef: np.ndarray) -> Self:
        """Return the parts of a vectorizer, and its coefficients."""
        weights, vocabulary = vectorizer._tfidf, vectorizer._vocabulary()
        dtype = weights.factors.dtype
        return cls(
            ngram_range=(int(vectorizer.ngram_range[0]), int(vectorizer.ngram_range[1])),
            vocabulary=vocabulary,
            factors=weights.factors if len(weights.factors) else np.ones(len(vocabulary), dtype),
            tf="binary" if vectorizer.binary else "log" if weights.sublinear_tf else "count",
            norm=weights.norm,
            coef=coef,
        )


@dataclass(frozen=True)
class TextModelParts:
    """The parts of a text model.

    Attributes
    ----------
    classes : list
        The classes, as plain strings, numbers or booleans.
    lowercase, strip_html : bool
        Whether texts are first converted to lower case, and whether tags then become blanks.
    runs : Runs
        The characters that tokens consist of.
    stop_words : list of str
        Tokens to drop before n-grams are formed.
    words : NgramParts
        The n-grams of tokens.
    characters : NgramParts or None
        The n-grams of characters, within what is between white space; tags are not removed for them.
    intercept : ndarray of shape (K,)
    link : {"logistic", "softmax", "normalized_logistic", "independent_logistic"}
        How predictors become probabilities; with "logistic", K is 1 and the predictor is that of the second
        class. With "independent_logistic", texts have several labels.
    thresholds : ndarray of shape (K,) or None
        The probabilities above which a text is given a label, if texts have several.
    """

    classes: list[Any]
    lowercase: bool
    strip_html: bool
    runs: Runs
    stop_words: list[str]
    words: NgramParts
    characters: NgramParts | None
    intercept: np.ndarray
    link: str
    thresholds: np.ndarray | None = None

    @classmethod
    def of(cls, model: AnyTextModel, target: str) -> Self:
        """Take a fitted model apart, for files of a kind that errors name ``target``.

        Raises
        ------
        ValueError
            If these parts are not all of the model.
        """
        whole = model._fitted_model()
        vectorizer, fitted = whole.vectorizer, whole.model
        if whole.head is not None and whole.head.is_used:
            raise InputError(
                f"The model uses embeddings, which {target} cannot compute; train it without --embedder and "
                "--embeddings."
            )
        refuse_columns(whole, target)
        if isinstance(vectorizer, HashedFeatures):
            raise InputError(
                f"The model hashes its n-grams, with a function that {target} does not have; train it "
                "without --online, or with --start-from and a model that was trained without."
            )
        runs = _runs(vectorizer, target)
        coef, head, thresholds = fitted._dense_coef(), whole.characters, fitted.thresholds_
        if fitted._multilabel and thresholds is None:
            thresholds = np.full(len(coef), 0.5)
        return cls(
            classes=np.asarray(fitted.classes_).tolist(),
            lowercase=bool(vectorizer.lowercase),
            strip_html=bool(vectorizer.strip_html),
            runs=runs,
            stop_words=sorted(vectorizer.get_stop_words() or ()),
            words=NgramParts.of(vectorizer, coef),
            characters=None if head is None else NgramParts.of(head.vectorizer, head.coef),
            intercept=np.asarray(fitted.intercept_),
            link="logistic" if len(coef) == 1 and not fitted._multilabel else LINKS[fitted.multi_class_],
            thresholds=thresholds,
        )


def _runs(vectorizer: Any, target: str) -> Runs:
    """Return how tokens are found; refuse what the target cannot do."""
    instead = "export it to scikit-learn, or train it again with the default"
    defaults = {"analyzer": "word", "strip_accents": None, "preprocessor": None, "tokenizer": None}
    for name, default in defaults.items():
        value = getattr(vectorizer, name)
        if value != default:
            shown = getattr(value, "__name__", repr(value))
            raise InputError(f"The model has {name}={shown}, which {target} does not support; {instead}.")
    pattern = plain_pattern(vectorizer.token_pattern)
    if pattern not in RUNS:
        raise InputError(
            f"The model has token_pattern={pattern!r}, which {target} does not support, only the defaults of "
            f"dropglm and scikit-learn; {instead}."
        )
    return RUNS[pattern]


@cache
def matching(pattern: str) -> Ranges:
    """Return the code points of characters that match a pattern, as pairs of the first and last of a run.

    Examples
    --------
    >>> matching("[a-cx]")
    ((97, 99), (120, 120))
    """
    runs = re.finditer(f"(?:{pattern})+", characters(sys.maxunicode + 1))
    return tuple((run.start(), run.end() - 1) for run in runs)


@cache
def lower_case() -> dict[str, str]:
    """Return the lower case of each character that has another one, irrespective of its neighbours.

    Examples
    --------
    >>> lower_case()["Ä"], len(lower_case()["İ"]), "ä" in lower_case()
    ('ä', 2, False)
    """
    return {character: character.lower() for character in characters(CASED) if character.lower() != character}


@cache
def around_sigma() -> tuple[Ranges, Ranges]:
    """Return the characters that decide between the two lower cases of Σ: cased ones, and ignored ones.

    It is ς if the nearest character before it that is not ignored is cased and the nearest one after it is
    not, and σ otherwise. Characters that are ignored are not among the cased ones here.
    """
    final, final_after_cased = _before_final_sigma(""), _before_final_sigma("A")
    return _ranges(final), _ranges(final_after_cased - final)


def _before_final_sigma(before: str) -> set[int]:
    """Return the characters after which, with this text before them, the lower case of Σ is ς."""
    # One line per character, so that one call converts all; line ends are neither cased nor ignored.
    lines = "\n".join(f"{before}{' ' if c == chr(10) else c}{SIGMA}" for c in characters(sys.maxunicode + 1))
    return {code for code, line in enumerate(lines.lower().split("\n")) if line[-1] == FINAL_SIGMA}


def _ranges(codes: set[int]) -> Ranges:
    """Return numbers as pairs of the first and last of a run.

    Examples
    --------
    >>> _ranges({7, 3, 4})
    ((3, 4), (7, 7))
    """
    found: list[tuple[int, int]] = []
    for code in sorted(codes):
        first = found.pop()[0] if found and found[-1][1] == code - 1 else code
        found.append((first, code))
    return tuple(found)
