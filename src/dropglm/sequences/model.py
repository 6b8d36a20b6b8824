"""A fitted tagger: it predicts, explains its predictions, and is written to and read from files.

It needs neither scikit-learn nor its estimators, as ``dropglm.text.fitted_model``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from dropglm.base import checks, model_files
from dropglm.base.encoded_texts import EncodedTexts
from dropglm.base.errors import InputError
from dropglm.base.model_files import FLAG, LABEL, TEXT, Kind, Record, array, number, one_of, several, whole
from dropglm.core.chain import UNKNOWN, Chains, Scores, best_tags, marginals
from dropglm.core.design.storage import CsrRows
from dropglm.sequences.features import MATRIX, NAMES, WORDS, TokenRows, check_sentences, rows_of_sentences

EXPECTATIONS = ("quadratic", "fixed_marginals", "monte_carlo")


@dataclass(frozen=True)
class TagExplanation:
    """What tipped the tag of a token; ``print`` it.

    Attributes
    ----------
    token : int
        The place of the token in its sentence, from 0.
    tag : object
        The predicted tag.
    probability : float
        Its marginal probability.
    instead : object
        The tag that the token has in the next best case: the one with the next highest probability.
    contributions : list of tuple of (str, float)
        What each feature and transition adds to the score of the predicted sequence, compared with that in
        which this token alone has the other tag; the largest first. The sum is the difference of both scores.

    See Also
    --------
    SequenceTagger.explain : Returns one per token.

    Examples
    --------
    >>> from dropglm.sequences import TagExplanation
    >>> print(TagExplanation(0, "B-LOC", 0.9, "O", [("suffix=burg", 1.5), ("B-LOC at the start", -0.25)]))
    token 0: B-LOC (probability 0.90) rather than O
      +1.500  suffix=burg
      -0.250  B-LOC at the start
    """

    token: int
    tag: Any
    probability: float
    instead: Any
    contributions: list[tuple[str, float]]

    def __str__(self) -> str:
        head = (
            f"token {self.token}: {self.tag} (probability {self.probability:.2f}) rather than {self.instead}"
        )
        return "\n".join([head, *(f"  {weight:+.3f}  {name}" for name, weight in self.contributions)])


@dataclass(eq=False)
class FittedTagger:
    """Features, tags and coefficients.

    Parameters
    ----------
    kind : {"words", "names", "matrix"}
        What tokens are.
    vocabulary : dict of str to int
        The number of each name; empty for matrices.
    width : int
        Number of features.
    tags : list
        The tags, sorted.
    scores : Scores
        Which coefficients there are.
    theta : ndarray
        The coefficients.
    settings : dict
        Those of the estimator.
    columns : dict or None
        How a file of sentences is read: the columns that the command ``dropglm tag train`` has used.
    """

    file_kind: ClassVar[str] = "SequenceTagger"

    kind: str
    vocabulary: dict[str, int]
    width: int
    tags: list[Any]
    scores: Scores
    theta: np.ndarray
    settings: dict[str, Any]
    columns: dict[str, Any] | None = None
    n_jobs: int | None = None

    def rows(self, sequences: Any, name: str = "sequences") -> TokenRows:
        """Return the features of sentences as rows; names that the model does not know have no effect."""
        sentences = check_sentences(sequences, name)
        return rows_of_sentences(sentences, self.kind, self.vocabulary, self.width, name=name)

    def predict(self, sequences: Any) -> list[list[Any]]:
        """Return the most probable sequence of tags of each sentence."""
        found = self.rows(sequences)
        numbers = best_tags(
            plain_chains(found), self.scores, self.theta, checks.threads(self.n_jobs)
        ).tolist()
        names = [self.tags[k] for k in numbers]
        return _by_sentence(names, found.starts)

    def predict_marginals(self, sequences: Any) -> list[np.ndarray]:
        """Return the probability of each tag for each token, an array of shape (tokens, K) per sentence."""
        found = self.rows(sequences)
        mu = marginals(plain_chains(found), self.scores, self.theta, checks.threads(self.n_jobs))
        return _by_sentence(mu, found.starts)

    def explain(self, sentence: Any, most: int) -> list[TagExplanation]:
        """Return what tipped the tag of each token of a sentence."""
        found = self.rows([sentence], "sentence")
        chains = plain_chains(found)
        mu = marginals(chains, self.scores, self.theta)
        best = best_tags(chains, self.scores, self.theta)
        names = list(self.vocabulary) if self.vocabulary else [f"column {j}" for j in range(self.width)]
        T, at_start, at_end = self.transitions()
        explanations = []
        for t, k in enumerate(best.tolist()):
            others = mu[t].copy()
            others[k] = -1.0
            other = int(others.argmax())
            parts = []
            for entry in range(found.rows.indptr[t], found.rows.indptr[t + 1]):
                j = found.rows.indices[entry]
                x = found.rows.values[entry] if isinstance(found.rows, CsrRows) else 1.0
                W = self._coefficients_of(int(j))
                parts.append((names[j], x * (W[k] - W[other])))
            tag = self.tags[k]
            if t == 0:
                parts.append((f"{tag} at the start", at_start[k] - at_start[other]))
            else:
                parts.append(
                    (f"{tag} after {self.tags[best[t - 1]]}", T[best[t - 1], k] - T[best[t - 1], other])
                )
            if t == len(best) - 1:
                parts.append((f"{tag} at the end", at_end[k] - at_end[other]))
            else:
                after = self.tags[best[t + 1]]
                parts.append((f"{tag} before {after}", T[k, best[t + 1]] - T[other, best[t + 1]]))
            ordered = sorted(((name, float(w)) for name, w in parts if w), key=lambda part: -abs(part[1]))
            explanations.append(TagExplanation(t, tag, float(mu[t, k]), self.tags[other], ordered[:most]))
        return explanations

    def transitions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return T, start and end."""
        K = len(self.tags)
        rest = self.theta[len(self.scores.pair_tags) :].reshape(K + 2, K)
        return rest[:K], rest[K], rest[K + 1]

    def _coefficients_of(self, j: int) -> np.ndarray:
        """Return the row of W of a feature; shape (K,)."""
        W = np.zeros(len(self.tags))
        pairs = slice(self.scores.pair_starts[j], self.scores.pair_starts[j + 1])
        W[self.scores.pair_tags[pairs]] = self.theta[pairs]
        return W

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file that contains data only, no code; see ``dropglm.save_model``."""
        model_files.write(path, self.file_kind, self.to_state(), CONTENTS)

    def to_state(self) -> dict[str, Any]:
        """Return everything that a file holds."""
        letters = EncodedTexts.of(list(self.vocabulary))
        return {
            "settings": self.settings,
            "tokens": self.kind,
            "names": letters.letters[: letters.size],
            "name_lengths": letters.lengths,
            "width": self.width,
            "tags": self.tags,
            "pairs_per_feature": np.diff(self.scores.pair_starts),
            "pair_tags": self.scores.pair_tags.astype(np.int64),
            "allowed": self.scores.allowed,
            "coefficients": self.theta,
            "columns": self.columns,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the model of a state that agrees with ``CONTENTS``, after checking that its parts fit."""
        K, width, tags = len(state["tags"]), state["width"], list(state["tags"])
        ends = np.cumsum(state["name_lengths"])
        data = state["names"].tobytes()
        if len(data) != (int(ends[-1]) if len(ends) else 0):
            raise InputError("names and name_lengths do not agree")
        begins = ends - state["name_lengths"]
        names = [data[a:b].decode() for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        vocabulary = {name: j for j, name in enumerate(names)}
        if len(vocabulary) != (0 if state["tokens"] == MATRIX else width):
            raise InputError("there must be as many different names as features")
        if len(set(tags)) != K:
            raise InputError("tags must differ")
        starts = np.concatenate([[0], np.cumsum(state["pairs_per_feature"])]).astype(np.int64)
        pairs = state["pair_tags"]
        scores = Scores(starts, pairs.astype(np.uint32), np.ascontiguousarray(state["allowed"], np.float64))
        if len(starts) != width + 1 or starts[-1] != len(pairs) or (len(pairs) and pairs.max() >= K):
            raise InputError("the pairs of features and tags do not fit to each other")
        if scores.allowed.shape != (K + 2, K) or len(state["coefficients"]) != scores.size:
            raise InputError("the coefficients do not fit to the tags")
        theta = np.ascontiguousarray(state["coefficients"], np.float64)
        return cls(
            state["tokens"], vocabulary, width, tags, scores, theta, dict(state["settings"]), state["columns"]
        )


def plain_chains(found: TokenRows) -> Chains:
    """Return sentences without tags, to predict."""
    zeros = np.zeros(len(found.starts) - 1)
    tags = np.full(int(found.starts[-1]), UNKNOWN, np.int32)
    return Chains(found.rows, found.starts, tags, zeros, zeros, zeros)


def _by_sentence(items: Any, starts: np.ndarray) -> list[Any]:
    bounds = starts.tolist()
    return [items[a:b] for a, b in pairwise(bounds)]


def load_fitted_tagger(path: str | PathLike[str]) -> FittedTagger:
    """Read a tagger that predicts and explains; files from untrusted sources are safe to open.

    Parameters
    ----------
    path : str or path-like
        A file that ``SequenceTagger.save`` wrote.

    Returns
    -------
    FittedTagger
        The model.
    """
    _, state = model_files.read(path, {FittedTagger.file_kind: CONTENTS})
    with model_files.reporting_damage(path):
        return FittedTagger.from_state(state)


COLUMN = Kind(
    "the number or the name of a column",
    lambda value: whole(-1000, 1000).accepts(value) or TEXT.accepts(value),
)
CONTENTS = Record(
    {
        "settings": Record(
            {
                "dropout": number(0.0, 1.0),
                "transition_dropout": number(0.0, 1.0),
                "l2": number(0.0),
                "discount": number(0.0),
                "expectation": one_of(*EXPECTATIONS),
                "unseen_pairs": FLAG,
                "tol": number(0.0),
                "max_iter": whole(1),
                "n_samples": whole(1),
            }
        ),
        "tokens": one_of(WORDS, NAMES, MATRIX),
        "names": array("uint8", 1, 0, 255),
        "name_lengths": array("int64", 1, 0),
        "width": whole(),
        "tags": several(LABEL, 2),
        "pairs_per_feature": array("int64", 1, 0),
        "pair_tags": array("int64", 1, 0),
        "allowed": array("float64", 2, 0.0, 1.0),
        "coefficients": array("float64", 1),
        "columns": Record(
            {"format": one_of("conll", "jsonl"), "token": COLUMN, "tag": COLUMN, "others": several(COLUMN)},
            or_none=True,
        ),
    }
)
