"""Explanations: the n-grams with the strongest influence, and what tips the prediction for a text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import category

import numpy as np

from dropglm.base import checks
from dropglm.base.registry import lookup
from dropglm.core.families import Logistic
from dropglm.core.predictions import MULTILABEL, LogisticPredictions
from dropglm.text.encoders import BESIDE, is_named
from dropglm.text.ngrams.fields import readable
from dropglm.text.ngrams.tokens import as_written

if TYPE_CHECKING:
    from dropglm.text.characters import CharacterHead
    from dropglm.text.columns import ColumnHead
    from dropglm.text.embeddings import EmbeddingHead
    from dropglm.text.ngrams.features import NgramFeatures
    from dropglm.text.ngrams.hashed import HashedFeatures

# Punctuation, and the symbols that are typed like it: $ + < = > ^ ` | ~. Other symbols are mostly emoji,
# which mean something on their own; combining marks are parts of words.
PUNCTUATION = frozenset({"Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "Cc", "Cf"})


class NgramWeight(NamedTuple):
    """An n-gram and what it typically adds to the predictor of a class.

    The weight of a single word includes its n-grams of characters, if the model uses them. In Chinese and
    other scripts that do not separate words, the n-gram is without blanks.
    """

    ngram: str
    weight: float


def top_ngrams(
    names: Callable[[np.ndarray], list[str]],
    model: LogisticPredictions,
    typical: np.ndarray,
    scale: np.ndarray,
    k: int,
) -> dict[Any, list[NgramWeight]]:
    """Return at most k n-grams with positive weights for each class, those that consist of words first.

    Parameters
    ----------
    names : callable
        Returns the n-grams of columns.
    model : LogisticPredictions
        A fitted model.
    typical : ndarray that broadcasts to shape (features,)
        The typical value of a feature in the texts that have it. The weight of an n-gram is its coefficient
        times this value.
    scale : ndarray that broadcasts to shape (K, features)
        N-grams are ranked by coefficient times scale. The scale grows with the number of texts that have the
        n-gram; without it, n-grams of two or three texts would come first.
    k : int
        Number of n-grams per class.
    """
    checks.whole_number(k, "k", least=1)
    labels = model.classes_.tolist()
    values = np.broadcast_to(typical, model.n_features_in_)
    scales = np.broadcast_to(scale, (len(labels), model.n_features_in_))
    top = {}
    rows = weights_by_class(model.coef_, model.multi_class_)
    for label, row, factors in zip(labels, rows, scales, strict=True):
        entries = words_first(names, np.flatnonzero(row > 0), row * factors, k)
        top[label] = [NgramWeight(as_written(name), float(row[j] * values[j])) for name, j in entries]
    return top


def words_first(
    names: Callable[[np.ndarray], list[str]], columns: np.ndarray, effects: np.ndarray, k: int
) -> list[tuple[str, int]]:
    """Return the k columns with the largest effects and their names: first words, then punctuation."""
    # Only the columns with the largest effects are sorted and named: there may be millions of columns.
    effects, m = effects[columns], 8 * k
    while True:
        smallest = np.partition(effects, -m)[-m] if m < len(columns) else -np.inf
        chosen = np.flatnonzero(effects >= smallest)
        chosen = columns[chosen[np.argsort(-effects[chosen], kind="stable")]]
        named = list(zip(names(chosen), chosen.tolist(), strict=True))
        words = [entry for entry in named if only_words(entry[0])]
        if len(words) >= k or m >= len(columns):
            others = [entry for entry in named if not only_words(entry[0])]
            return (words + others)[:k]
        m *= 8


def top_to_dict(top: dict[Any, list[NgramWeight]]) -> dict[str, list[dict[str, Any]]]:
    """Return the result of ``top_features`` in plain types, for JSON."""
    return {str(label): [entry._asdict() for entry in entries] for label, entries in top.items()}


def weights_by_class(weights: np.ndarray, multi_class: str) -> Iterator[np.ndarray]:
    """Yield one row per class.

    For two classes, the weights of the first are the negative of those of the second. In a multinomial model
    only differences between classes matter, so the rows are centred over the classes.

    Parameters
    ----------
    weights : ndarray of shape (1, m) for two classes, else (K, m)
        Coefficients, or anything that is linear in them.
    multi_class : {"multinomial", "ovr", "multilabel"}
        Whether there is one model for all classes, one for each class against the rest, or one per label.
    """
    if len(weights) == 1 and multi_class != MULTILABEL:
        yield from (-weights[0], weights[0])
    elif multi_class == "multinomial":
        centre = weights.mean(axis=0)
        yield from (row - centre for row in weights)
    else:
        yield from weights


def weights_between(weights: np.ndarray, first: int, second: int | None) -> np.ndarray:
    """Return the weights of class ``first`` minus those of class ``second``, None if labels are independent.

    Examples
    --------
    The single row of a model of two classes is the difference between class 1 and class 0:

    >>> weights_between(np.array([[0.5, -2.0]]), 0, 1)
    array([-0.5,  2. ])
    >>> weights_between(np.array([[0.5], [0.2], [-0.3]]), 0, 2)
    array([0.8])
    """
    if second is None:
        return weights[first]
    if len(weights) == 1:
        return weights[0] if first == 1 else -weights[0]
    return weights[first] - weights[second]


@cache
def _is_punctuation(character: str) -> bool:
    return category(character) in PUNCTUATION


def only_words(ngram: str) -> bool:
    """Return whether every token of the n-gram has a letter, a digit or an emoji.

    Where a hashed column stands for several n-grams, separated by " | ", it is enough that one of them has
    only words.

    Examples
    --------
    >>> [only_words(ngram) for ngram in ("don't", "mp3 player", "( a", "> _", ", | a lovely")]
    [True, True, False, False, True]
    """
    return any(_words(name.split()) for name in ngram.split(" | "))


def _words(tokens: list[str]) -> bool:
    return bool(tokens) and not any(all(map(_is_punctuation, token)) for token in tokens)


SHOWN = 10  # n-grams for each of the two sides
SHOWN_PUNCTUATION = 3
SHOWN_CLASSES = 3
SHOWN_UNKNOWN = 20
MAX_WIDTH = 48  # of the names in print


class Contribution(NamedTuple):
    """The contribution of an n-gram of a text.

    In Chinese and other scripts that do not separate words, the n-gram is without blanks. ``weight`` is the
    contribution to the difference between the predictors of the predicted class and of the runner-up:
    positive values favour the predicted class, negative ones the runner-up. If texts have several labels, it
    is the contribution to the log odds of the label. ``weights`` has the contribution to the predictor of
    each class, in the order of the model's classes: the ``value`` of the feature in the text times its
    coefficient.

    If the model uses n-grams of characters, the weights of a word include those of its characters. A word
    that is not a feature but has such characters has ``value`` 0.
    """

    ngram: str
    weight: float
    value: float
    weights: list[float]


class ColumnContribution(Contribution):
    """The contribution of a column that is not text; the name is that of the column with its value."""

    __slots__ = ()


def has_only_words(entry: Contribution) -> bool:
    """Return whether a contribution is not one of punctuation."""
    return isinstance(entry, ColumnContribution) or only_words(entry.ngram)


class EmbeddingContribution(NamedTuple):
    """The contribution of the embedding of a text; ``weight`` and ``weights`` as in ``Contribution``.

    ``name`` is that of the embedder; None if the embeddings were given.
    """

    weight: float
    weights: list[float]
    name: str | None = None


class OutlineRow(NamedTuple):
    """A row of an explanation in the form of a sum: a part, the contribution of which is in the total."""

    depth: int
    name: str
    weight: float

    def cells(self, indent: str = "  ") -> tuple[str, str]:
        """Return the indented name, and the weight with its sign, for a table."""
        return f"{indent * self.depth}{self.name}", f"{self.weight:+.2f}"


@dataclass(frozen=True)
class Explanation:
    """Explanation of the prediction for one text; print it, or show it in a notebook.

    It compares the predicted class, or another one that was asked for, with the most probable of the other
    classes. If texts have several labels, it is about one of them. The weights of all contributions,
    ``base_difference`` and, if the model uses embeddings, ``embedding.weight`` add up to ``difference``.

    Attributes
    ----------
    label : object
        The class that is explained: the most probable one, unless another one was asked for.
    probability : float
        Its probability.
    against : object
        The most probable of the other classes; None if texts have several labels.
    probabilities : dict
        The probability of each class.
    difference : float
        The predictor of ``label`` minus that of ``against``. For two classes, or several labels per text, it
        is the log odds of ``label``.
    base_difference : float
        The same for a text without known n-grams and with an average embedding.
    base : list of float
        The predictor of each class for such a text. It adds up with the contributions to a class to the
        predictor of that class.
    contributions : list of Contribution
        The n-grams of the text that are features, and words with n-grams of characters that are, those with
        the largest absolute weight first.
    unknown : list of str
        The words of the text that occur in none of the features, nor any of their n-grams of characters, in
        their order in the text.
    embedding : EmbeddingContribution or None
        The contribution of the embedding of the text: ``weight`` to the difference, and ``weights`` to the
        predictor of each class. None if the model does not use embeddings.
    labels : list or None
        The labels that the text is given, if texts have several.
    threshold : float or None
        The probability above which a text is given ``label``, if texts have several.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> texts = ["a fine film", "a dull film", "an odd film"] * 2
    >>> model = TextClassifier((1, 1), tune=False).fit(texts, ["good", "bad", "odd"] * 2)
    >>> why = model.explain("a fine, fine film")
    >>> why.label, why.supporting[0].ngram
    ('good', 'fine')
    >>> total = why.base_difference + sum(entry.weight for entry in why.contributions)
    >>> abs(total - why.difference) < 1e-6
    True
    """

    label: Any
    probability: float
    against: Any
    probabilities: dict[Any, float]
    difference: float
    base_difference: float
    base: list[float]
    contributions: list[Contribution]
    unknown: list[str]
    embedding: EmbeddingContribution | None = None
    labels: list[Any] | None = None
    threshold: float | None = None

    def to_dict(self, top: int | None = None) -> dict[str, Any]:
        """Return the fields in plain types, for JSON.

        If ``top`` is given, only so many contributions are listed, and "others" has the number of the rest
        ("count") and the sum of their weights ("weight"). "labels" and "threshold" are left out if texts have
        one label.
        """
        fields = vars(self) | {
            "probabilities": {str(label): p for label, p in self.probabilities.items()},
            "contributions": [entry._asdict() for entry in self.contributions[:top]],
            "embedding": None if self.embedding is None else self.embedding._asdict(),
        }
        if top is not None:
            others = [entry.weight for entry in self.contributions[top:]]
            fields["others"] = {"count": len(others), "weight": sum(others)}
        if self.labels is None:
            del fields["labels"], fields["threshold"]
        return fields

    @property
    def supporting(self) -> list[Contribution]:
        """The n-grams of words that favour ``label``, the largest contribution first."""
        return [entry for entry in self.contributions if entry.weight > 0 and has_only_words(entry)]

    @property
    def opposing(self) -> list[Contribution]:
        """The n-grams of words that favour ``against`` or oppose ``label``, the largest first."""
        return [entry for entry in self.contributions if entry.weight < 0 and has_only_words(entry)]

    @property
    def punctuation(self) -> list[Contribution]:
        """The n-grams with punctuation, those with the largest absolute weight first."""
        return [entry for entry in self.contributions if not has_only_words(entry)]

    @property
    def sides(self) -> tuple[str, str]:
        """The headings of the n-grams that support and that oppose ``label``."""
        opposing = f"for {self.against}" if self.labels is None else f"against {self.label}"
        return f"for {self.label}", opposing

    def given(self) -> str:
        """Return the labels that the text is given, with their probabilities, if texts have several."""
        ranked = sorted(self.labels or (), key=lambda label: -self.probabilities[label])
        return ", ".join(f"{label} {self.probabilities[label]:.2f}" for label in ranked) or "none"

    def outline(self, k: int = SHOWN) -> list[OutlineRow]:
        """Return the difference of the predictors as a sum of named parts.

        Parameters
        ----------
        k : int
            Number of n-grams to show for each of the two sides; at most 3 of them for punctuation.

        Returns
        -------
        list of OutlineRow
            Each row is the sum of the rows below it that are one level deeper.
        """
        if self.threshold is not None:
            least = float(Logistic.natural_parameter(np.array(self.threshold)))
            what = f"log odds of {self.label}, given above {least:+.2f}"
        elif len(self.probabilities) == 2:
            what = f"log odds of {self.label} against {self.against}"
        else:
            what = f"predictor of {self.label} minus that of {self.against}"
        rows = [OutlineRow(0, what, self.difference)]
        for side, entries in zip(self.sides, (self.supporting, self.opposing), strict=True):
            rows += _group(side, entries, k)
        rows += _group("punctuation", self.punctuation, min(k, SHOWN_PUNCTUATION))
        if self.embedding is not None:
            name = self.embedding.name
            by = f" by {name.replace(BESIDE, ' and ')}" if name is not None and is_named(name) else ""
            rows.append(OutlineRow(1, f"embedding{by}", self.embedding.weight))
        return [*rows, OutlineRow(1, "intercept", self.base_difference)]

    def most_probable(self, k: int = SHOWN_CLASSES) -> list[tuple[str, float]]:
        """Return the k most probable classes with their probabilities, and the sum of the others.

        If texts have several labels, their probabilities are independent, and there is no sum.
        """
        ranked = sorted(self.probabilities.items(), key=lambda pair: -pair[1])
        shown = [(str(label), p) for label, p in ranked[:k]]
        n = 0 if self.labels is not None else len(ranked) - k
        return shown if n < 1 else [*shown, (_others(n), sum(p for _, p in ranked[k:]))]

    def __str__(self) -> str:
        total, *parts = self.outline()
        rows = [part.cells() for part in parts]
        width = min(max(len(name) for name, _ in rows), MAX_WIDTH)
        lines = [
            *([] if self.labels is None else [f"labels: {self.given()}"]),
            "probabilities: " + ", ".join(f"{name} {p:.2f}" for name, p in self.most_probable()),
            f"{total.name}: {total.weight:+.2f}, the sum of",
            *(f"{name:<{width}}  {weight}" for name, weight in rows),
        ]
        if self.unknown:
            lines.append(f"unknown: {listed(self.unknown)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the explanation as HTML for notebooks: the probabilities and a table of contributions."""
        rows = "".join(
            f'<tr><td style="text-align:left;padding-left:{1 + 1.5 * depth:g}em">'
            f"{escape(name) if depth == 2 else f'<strong>{escape(name)}</strong>'}</td>"
            f'<td style="text-align:right">{weight:+.2f}</td></tr>'
            for depth, name, weight in self.outline()
        )
        strong = [str(label) for label in self.labels or ()]
        ranked = self.most_probable()
        if self.labels is None:
            strong = [ranked[0][0]]
        classes = ", ".join(
            f"{f'<strong>{escape(name)}</strong>' if name in strong else escape(name)} {p:.2f}"
            for name, p in ranked
        )
        unknown = f"<p>Unknown words: {escape(listed(self.unknown))}</p>" if self.unknown else ""
        return f"<div><p>{classes}</p><table><tbody>{rows}</tbody></table>{unknown}</div>"


def _group(name: str, entries: Sequence[Contribution], k: int) -> Iterator[OutlineRow]:
    """Yield rows for the sum of these contributions, for the first k of them and for the sum of the rest."""
    if not entries:
        return
    what = "largest first" if k else f"{len(entries):,} n-gram{'s' * (len(entries) > 1)}"
    yield OutlineRow(1, f"{name}, {what}", sum(entry.weight for entry in entries))
    if k:
        # A row for the rest takes the place of a single n-gram.
        shown = entries[: k if len(entries) > k + 1 else k + 1]
        yield from (OutlineRow(2, entry.ngram, entry.weight) for entry in shown)
        rest = entries[len(shown) :]
        if rest:
            yield OutlineRow(2, _others(len(rest)), sum(entry.weight for entry in rest))


def _others(n: int) -> str:
    return f"{n:,} other" if n == 1 else f"{n:,} others"


def listed(words: Sequence[str]) -> str:
    """Return the first words, separated by commas, and how many more there are."""
    more = len(words) - SHOWN_UNKNOWN
    return ", ".join(words[:SHOWN_UNKNOWN]) + (f" and {more:,} more" if more > 0 else "")


def explain_text(
    vectorizer: "NgramFeatures | HashedFeatures",
    model: LogisticPredictions,
    text: str,
    row: Any,
    characters: "CharacterHead | None" = None,
    head: "EmbeddingHead | None" = None,
    label: Any = None,
    columns: "ColumnHead | None" = None,
) -> Explanation:
    """Explain the prediction for one text.

    Parameters
    ----------
    vectorizer : NgramFeatures or HashedFeatures
    model : LogisticPredictions
        A fitted model.
    text : str
    row : sparse matrix of shape (1, d)
        The features of the text; if the model has heads, a tuple of them and of the features of the heads.
    characters : CharacterHead, optional
        The model's n-grams of characters, which are added to their words.
    head : EmbeddingHead, optional
        The model's coefficients of the embedding, the last of the features.
    label : object, optional
        The class to explain, or its name; by default the most probable one.
    columns : ColumnHead, optional
        The model's coefficients of the columns beside the texts.
    """
    places, values, names, unknown = vectorizer._describe(text)
    coef, intercept = model._coefficients_at(places) * values, np.atleast_1d(model.intercept_)[:, None]
    if characters is not None:
        by_word = characters.by_word(text, characters.tokenizer_of(vectorizer))
        unknown = [word for word in unknown if word not in by_word]
        more = [word for word in by_word if word not in names]
        coef = np.hstack([coef, np.zeros((len(coef), len(more)))])
        names, values = [*names, *more], np.append(values, np.zeros(len(more)))
        for word, own in by_word.items():
            coef[:, names.index(word)] += own
    fields = getattr(vectorizer, "fields", None)  # of hashed n-grams there are none
    names, unknown = ([as_written(readable(one, fields)) for one in own] for own in (names, unknown))
    n_words = len(names)
    if columns is not None:
        shown, own = columns.contributions(text)
        names, values, coef = [*names, *shown], np.append(values, np.ones(len(shown))), np.hstack([coef, own])
    predictors = np.atleast_2d(model.decision_function(row)).T
    by_class, base, scores = (
        np.array(list(weights_by_class(weights, model.multi_class_)))
        for weights in (coef, intercept, predictors)
    )
    labels, probabilities = model.classes_.tolist(), model.predict_proba(row)[0]
    # Several probabilities may round to 1; their predictors still differ.
    ranked = np.lexsort((-scores[:, 0], -probabilities)).tolist()
    first = ranked[0]
    if label is not None:
        first = lookup({str(each): k for k, each in enumerate(labels)}, str(label), "label")
    second = None if model._multilabel else next(k for k in ranked if k != first)
    weights = weights_between(coef, first, second)
    order = np.argsort(-np.abs(weights), kind="stable").tolist()
    contributions = [
        (Contribution if j < n_words else ColumnContribution)(
            names[j], float(weights[j]), float(values[j]), by_class[:, j].tolist()
        )
        for j in order
    ]
    embedding = None
    if head is not None and head.is_used:
        share = head.predictors(row[-1]).T
        shares = [float(one[0]) for one in weights_by_class(share, model.multi_class_)]
        weight, name = float(weights_between(share, first, second)[0]), head.fingerprint.name
        embedding = EmbeddingContribution(weight, shares, name)
    several: dict[str, Any] = {}
    if model._multilabel:
        several["labels"] = [labels[k] for k in np.flatnonzero(predictors[:, 0] > model._thresholds())]
        several["threshold"] = 0.5 if model.thresholds_ is None else float(model.thresholds_[first])
    return Explanation(
        label=labels[first],
        probability=float(probabilities[first]),
        against=None if second is None else labels[second],
        probabilities=dict(zip(labels, probabilities.tolist(), strict=True)),
        difference=float(weights_between(predictors, first, second)[0]),
        base_difference=float(weights_between(intercept, first, second)[0]),
        base=base[:, 0].tolist(),
        contributions=contributions,
        unknown=unknown,
        embedding=embedding,
        **several,
    )
