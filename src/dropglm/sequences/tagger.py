"""A linear-chain conditional random field with feature noise integrated out."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import compress
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from dropglm.base import checks
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.progress import Progress
from dropglm.base.registry import lookup
from dropglm.core.chain import UNKNOWN, ChainObjective, Chains, Dropout, Scores, marginals
from dropglm.core.design.storage import BinaryRows, CsrRows
from dropglm.core.objective import penalty_scales
from dropglm.core.problem import ROUGH_TOL
from dropglm.core.solvers import LBFGS, Callback, Result
from dropglm.linear.convergence import warn_unless_converged
from dropglm.sequences.features import (
    MATRIX,
    TokenRows,
    cheapest_rows,
    check_sentences,
    kind_of,
    rows_of_sentences,
)
from dropglm.sequences.metrics import EntityScores, entity_scores, known_pairs
from dropglm.sequences.model import EXPECTATIONS, FittedTagger, TagExplanation, load_fitted_tagger

# Every trial of a step is a pass over all sentences, so the first one is taken if it descends at all well.
CURVATURE = 0.9
MEMORY = 20  # 30 saves no more than a tenth of the passes of 10, which take two thirds of the memory of 20
MOST_ROUNDS = 10  # of fits with fixed marginals
SAME = 1e-3  # relative change of the coefficients after which rounds stop


@dataclass(eq=False, repr=False)
class SequenceTagger(BaseEstimator):
    """A linear-chain conditional random field with feature noise integrated out.

    Minimises Σ_i w_i loss_i + n/(n + α m) (R + α R_unlabeled) + ½ l2 ‖θ‖², where the loss of a sentence is
    minus the log probability of its known tags, and R the expected increase of the log partition function
    under dropout of the features of each token. R does not depend on tags, so unlabelled sentences improve
    its estimate. n and m are the sums of the weights of labelled and unlabelled sentences.

    A sentence is a list of tokens, or a matrix (dense or sparse) with a row of features per token. A token is

    - a word, which gets the features of ``word_features``, or a tuple of a word and further columns;
    - a list of the names of its features;
    - a dictionary of features: numbers are values, and strings become a part of the feature's name.

    Parameters
    ----------
    dropout : float in [0, 1), default=0.5
        Probability that a feature is dropped from a token.
    l2 : float >= 0, default=0.3
        Strength λ of the penalty ½λ‖θ‖² of all coefficients, transitions included. With ``dropout=0`` the
        model is that of CRFsuite with c2 = l2/2.
    expectation : {"quadratic", "fixed_marginals", "monte_carlo"}, default="quadratic"
        How the expectation over the noise is computed:

        - "quadratic" is the second-order expansion: the variances of scores under the marginals of tokens and
          transitions, with its exact gradient;
        - "fixed_marginals" is the same, but its gradient leaves out that the marginals depend on the
          coefficients, as in CoreNLP: rounds of fits, each with the marginals of the last one;
        - "monte_carlo" is the mean over ``n_samples`` noised copies of the sentences, for small data.
    discount : float >= 0, default=0.005
        Weight α of an unlabelled sentence in the noise penalty relative to a labelled one.
    transition_dropout : float in [0, 1), default=0.0
        Probability that the score of a transition is dropped from a pair of tokens.
    unseen_pairs : bool, default=False
        Whether features also have coefficients for tags, and transitions, that never occur with them in the
        labelled sentences. They make a model many times larger.
    tol : float, default=5e-3
        Stop when the relative norm of the gradient (``result_.gradient_norm``) is below this.
    max_iter : int, default=500
        Maximum number of iterations of the solver.
    n_jobs : int, default=None
        Number of threads; None means 1, -1 all cores. The fitted model does not depend on it.
    n_samples : int, default=100
        Number of noised copies, for "monte_carlo".
    random_state : int, RandomState, Generator or None, default=None
        Seed of the noised copies.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    tags_ : list
        The tags, sorted.
    transitions_ : ndarray of shape (K, K)
        The coefficient of each tag (column) after each tag (row).
    start_, end_ : ndarray of shape (K,)
        The coefficients of the tags of the first and the last token.
    n_features_in_ : int
        Number of features.
    result_ : dropglm.core.solvers.Result
        How the solver ended.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    word_features : The features of words.
    entity_scores : Precision, recall and F1 of entities.
    dropglm.LogisticRegression : For rows that are not in sequences.

    Examples
    --------
    >>> from dropglm import SequenceTagger
    >>> sentences = [["Anna", "lives", "in", "Ulm"], ["Ulm", "is", "in", "Swabia"], ["Anna", "is", "in"]]
    >>> tags = [["PER", "O", "O", "LOC"], ["LOC", "O", "O", "LOC"], ["PER", "O", "O"]]
    >>> tagger = SequenceTagger().fit(sentences, tags, X_unlabeled=[["Swabia", "is", "in", "Ulm"]])
    >>> tagger.predict([["Anna", "is", "in", "Swabia"]])
    [['PER', 'O', 'O', 'LOC']]
    >>> tagger.score(sentences, tags)
    1.0
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_unlabeled": True}

    dropout: Any = 0.5
    l2: Any = 0.3
    _: KW_ONLY
    expectation: str = "quadratic"
    discount: Any = 0.005
    transition_dropout: Any = 0.0
    unseen_pairs: bool = False
    tol: float = 5e-3
    max_iter: int = 500
    n_jobs: int | None = None
    n_samples: int = 100
    random_state: Any = None
    verbose: int = 0

    def fit(self, sequences: Any, tags: Any, *, X_unlabeled: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to sentences with tags.

        Parameters
        ----------
        sequences : list of sentences
            Lists of tokens, or matrices with a row per token.
        tags : list of list of (str or int)
            The tag of each token; None if it is not known. A sentence without any known tag counts as
            unlabelled.
        X_unlabeled : list of sentences, default=None
            Sentences without tags.
        sample_weight : array-like of shape (n,), default=None
            Weights of the sentences, in the loss and in the penalty.

        Returns
        -------
        Self
            The estimator itself.
        """
        self._check_settings()
        sentences = check_sentences(sequences)
        names, numbers, lengths = _number_tags(tags, sentences)
        weights = checks.weights(sample_weight, len(sentences), rows="sequences")
        unlabeled = [] if X_unlabeled is None else check_sentences(X_unlabeled, "X_unlabeled")
        kind, vocabulary = kind_of(sentences), dict[str, int]()
        width = next(s.shape[1] for s in sentences if hasattr(s, "shape")) if kind == MATRIX else 0
        # Sentences without tokens have no part in the fit.
        has_tag = np.array([bool((own >= 0).any()) for own in np.split(numbers, np.cumsum(lengths)[:-1])])
        is_unknown = ~has_tag & (lengths > 0)
        known = np.repeat(has_tag, lengths)
        found = rows_of_sentences(list(compress(sentences, has_tag)), kind, vocabulary, width, learn=True)
        others = rows_of_sentences(list(compress(sentences, is_unknown)), kind, vocabulary, width)
        more = rows_of_sentences(unlabeled, kind, vocabulary, width, name="X_unlabeled")
        width = width if kind == MATRIX else len(vocabulary)
        scores = _scores(found, numbers[known], width, len(names), all_pairs=self.unseen_pairs)
        own = weights[has_tag]
        checks.some_weight(own)
        chains = Chains(found.rows, found.starts, numbers[known], own, own, own)
        unlabeled_weights = np.concatenate([weights[is_unknown], np.diff(more.starts) > 0])
        theta, self.result_ = self._solve(chains, _joined([others, more]), unlabeled_weights, scores)
        settings = {name: getattr(self, name) for name in SAVED}
        plain = {name: x if isinstance(x, (bool, str)) else float(x) for name, x in settings.items()}
        plain |= {name: int(settings[name]) for name in ("max_iter", "n_samples")}
        self._fitted = FittedTagger(kind, vocabulary, width, names, scores, theta, plain)
        self.n_iter_ = self.result_.n_iter
        warn_unless_converged(self, [self.result_])
        return self

    def _check_settings(self) -> None:
        for name in ("dropout", "transition_dropout"):
            checks.not_negative(getattr(self, name), name)
            if getattr(self, name) >= 1.0:
                raise InputError(f"{name} must be in [0, 1), got {getattr(self, name)}.")
        for name in ("l2", "discount", "tol"):
            checks.not_negative(getattr(self, name), name)
        for name in ("max_iter", "n_samples"):
            checks.whole_number(getattr(self, name), name, least=1)
        checks.yes_or_no(self.unseen_pairs, "unseen_pairs")
        lookup(dict.fromkeys(EXPECTATIONS), self.expectation, "expectation")
        if self.expectation != "quadratic" and self.transition_dropout:
            raise InputError(
                f"transition_dropout needs expectation='quadratic', got {self.expectation!r}.", "expectation"
            )

    def _solve(
        self, chains: Chains, unlabeled: TokenRows, weights: np.ndarray, scores: Scores
    ) -> tuple[np.ndarray, Result]:
        """Return the coefficients at the minimum, and how the solver ended."""
        threads = checks.threads(self.n_jobs)
        solver = LBFGS(self.tol, self.max_iter, memory=MEMORY, threads=threads, curvature=CURVATURE)
        rough = replace(solver, tol=max(self.tol, ROUGH_TOL))
        noise = Dropout(*(float(d) / (1.0 - float(d)) for d in (self.dropout, self.transition_dropout)))
        noisy = bool(noise.feature or noise.transition)
        with Progress("iterations", shown=bool(self.verbose)) as progress:

            def tell(_: int, point: Any) -> bool:
                progress.advance(note=f"objective {point.value:.8g}")
                return False

            theta = np.zeros(scores.size)
            add_others = bool(noisy and self.discount and weights.any())
            if add_others and self.expectation != "fixed_marginals":
                # The penalty of unlabelled sentences is not convex, so the fit starts from the labelled ones.
                objective = self._objective(chains, scores, noise, threads)
                theta, _ = rough.minimize(objective, theta, tell)
            if add_others:
                chains = _with_unlabeled(chains, unlabeled, weights, float(self.discount))
            if noisy and self.expectation == "fixed_marginals":
                return self._solve_in_rounds(chains, scores, noise, solver, tell)
            objective = self._objective(chains, scores, noise, threads)
            return solver.minimize(objective, theta, tell)

    def _objective(self, chains: Chains, scores: Scores, noise: Dropout, threads: int) -> ChainObjective:
        if self.expectation == "monte_carlo" and noise.feature:
            chains = _with_copies(chains, float(self.dropout), self.n_samples, checks.seed(self.random_state))
            noise = Dropout()
        return ChainObjective(chains, scores, noise, float(self.l2), threads=threads)

    def _solve_in_rounds(
        self, chains: Chains, scores: Scores, noise: Dropout, solver: LBFGS, tell: Callback
    ) -> tuple[np.ndarray, Result]:
        """Minimise with the marginals of the last round, from those without noise, until nothing changes."""
        plain = ChainObjective(chains, scores, l2=float(self.l2), threads=solver.threads)
        theta, result = replace(solver, tol=max(self.tol, ROUGH_TOL)).minimize(
            plain, np.zeros(scores.size), tell
        )
        for _ in range(MOST_ROUNDS):
            mu, last = marginals(chains, scores, theta, solver.threads), theta
            objective = replace(plain, dropout=noise, marginals=mu, passes=0)
            theta, result = solver.minimize(objective, last, tell)
            if np.linalg.norm(theta - last) <= SAME * np.linalg.norm(theta):
                break
        return theta, result

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def _model(self) -> FittedTagger:
        checks.fitted(self, "_fitted")
        return replace(self._fitted, n_jobs=self.n_jobs)

    @property
    def tags_(self) -> list[Any]:
        """The tags, sorted."""
        return list(self._model().tags)

    @property
    def transitions_(self) -> np.ndarray:
        """The coefficient of each tag (column) after each tag (row)."""
        return self._model().transitions()[0]

    @property
    def start_(self) -> np.ndarray:
        """The coefficients of the tags of the first token."""
        return self._model().transitions()[1]

    @property
    def end_(self) -> np.ndarray:
        """The coefficients of the tags of the last token."""
        return self._model().transitions()[2]

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._model().width

    def predict(self, sequences: Any) -> list[list[Any]]:
        """Return the most probable sequence of tags of each sentence.

        Parameters
        ----------
        sequences : list of sentences
            As in ``fit``. Features that did not occur there have no effect.

        Returns
        -------
        list of list
            A tag per token.
        """
        return self._model().predict(sequences)

    def predict_marginals(self, sequences: Any) -> list[np.ndarray]:
        """Return the probability of each tag for each token, whatever the tags of the other tokens are.

        Parameters
        ----------
        sequences : list of sentences
            As in ``fit``.

        Returns
        -------
        list of ndarray of shape (tokens, K)
            One per sentence; columns are in the order of ``tags_``.
        """
        return self._model().predict_marginals(sequences)

    def score(self, sequences: Any, tags: Any) -> float:
        """Return the share of tokens whose predicted tag is correct.

        Parameters
        ----------
        sequences : list of sentences
            As in ``fit``.
        tags : list of list
            The true tags; tokens whose tag is None do not count.

        Returns
        -------
        float
            The accuracy.
        """
        predicted = self.predict(sequences)
        _check_lengths(tags, predicted)
        pairs = known_pairs(tags, predicted)
        return sum(known == found for known, found in pairs) / len(pairs)

    def entity_scores(self, sequences: Any, tags: Any) -> EntityScores:
        """Return precision, recall and F1 of the entities that the predicted tags mark.

        Parameters
        ----------
        sequences : list of sentences
            As in ``fit``.
        tags : list of list of str
            The true tags, such as B-PER, I-PER and O.

        Returns
        -------
        EntityScores
            Over all types, and by type.
        """
        return entity_scores(tags, self.predict(sequences))

    def explain(self, sentence: Any, *, most: int = 10) -> list[TagExplanation]:
        """Return what tipped the tag of each token of a sentence.

        Parameters
        ----------
        sentence : sentence
            Its tokens, or a matrix with a row per token.
        most : int, default=10
            Number of features and transitions to list for each token, the strongest first.

        Returns
        -------
        list of TagExplanation
            One per token.
        """
        checks.whole_number(most, "most", least=1)
        return self._model().explain(sentence, most)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that contains data only, no code.

        Parameters
        ----------
        path : str or path-like
            The file is replaced in one step: if writing fails, the old file is left unchanged.
        """
        self._model().save(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model from a file. Model files from untrusted sources are safe to open.

        Parameters
        ----------
        path : str or path-like
            A file that ``save`` wrote.

        Returns
        -------
        SequenceTagger
            The fitted model.
        """
        fitted = load_fitted_tagger(path)
        tagger = cls(**fitted.settings)
        tagger._fitted = fitted
        return tagger


SAVED = (
    *("dropout", "transition_dropout", "l2", "discount", "expectation", "unseen_pairs"),
    *("tol", "max_iter", "n_samples"),
)


def _check_lengths(tags: Any, sentences: Sequence[Any]) -> None:
    """Raise an error unless there is a list of tags for each sentence, with one per token."""
    if isinstance(tags, (str, bytes, dict)) or not hasattr(tags, "__len__"):
        raise InputTypeError(
            f"tags must be a list with a list of tags per sentence, got {type(tags).__name__}."
        )
    if len(tags) != len(sentences):
        raise InputError(f"tags has {len(tags)} sentences, but sequences has {len(sentences)}.")
    for i, (own, sentence) in enumerate(zip(tags, sentences, strict=True)):
        tokens = sentence.shape[0] if hasattr(sentence, "shape") else len(sentence)
        if isinstance(own, (str, bytes, dict)) or not hasattr(own, "__len__"):
            raise InputTypeError(f"The tags of sentence {i} must be a list, got {type(own).__name__}.")
        if len(own) != tokens:
            raise InputError(f"Sentence {i} has {tokens} tokens, but {len(own)} tags.")


def _number_tags(tags: Any, sentences: Sequence[Any]) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Return the sorted tags, the number of each token's tag, and the number of tokens of each sentence."""
    _check_lengths(tags, sentences)
    flat = [tag.item() if isinstance(tag, np.generic) else tag for own in tags for tag in own]
    kinds = {type(tag) for tag in flat if tag is not None}
    if not kinds <= {str} and not kinds <= {int}:
        listed = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise InputTypeError(f"tags must be strings, integers or None, got {listed}.")
    names = sorted({tag for tag in flat if tag is not None})
    if len(names) < 2:
        raise InputError(f"tags must have at least 2 different tags, got {names}.")
    numbers = {tag: k for k, tag in enumerate(names)} | {None: UNKNOWN}
    lengths = np.array([len(own) for own in tags], np.int64)
    return names, np.array([numbers[tag] for tag in flat], np.int32), lengths


def _scores(found: TokenRows, tags: np.ndarray, d: int, K: int, *, all_pairs: bool) -> Scores:
    """Return which coefficients there are: those of pairs that occur, or all."""
    if all_pairs:
        each = np.arange(K, dtype=np.uint32)
        return Scores(np.arange(d + 1, dtype=np.int64) * K, np.tile(each, d), np.ones((K + 2, K)))
    tokens = np.repeat(np.arange(len(tags)), np.diff(found.rows.indptr))
    of_entries = tags[tokens]
    known = of_entries >= 0
    pairs = np.unique(found.rows.indices[known].astype(np.int64) * K + of_entries[known])
    allowed, starts = np.zeros((K + 2, K)), found.starts
    inside = np.ones(len(tags), bool)
    inside[starts[:-1]] = False
    after = np.flatnonzero(inside)
    after = after[(tags[after] >= 0) & (tags[after - 1] >= 0)]
    allowed[tags[after - 1], tags[after]] = 1.0
    for row, tokens_at in ((K, starts[:-1]), (K + 1, starts[1:] - 1)):
        allowed[row, tags[tokens_at][tags[tokens_at] >= 0]] = 1.0
    starts_of_pairs = np.searchsorted(pairs, np.arange(d + 1, dtype=np.int64) * K)
    return Scores(starts_of_pairs.astype(np.int64), (pairs % K).astype(np.uint32), allowed)


def _joined(parts: Sequence[TokenRows]) -> TokenRows:
    """Return the sentences of several sets, one after the other."""
    first, *rest = parts
    for other in rest:
        rows = cheapest_rows(
            np.concatenate([first.rows.indptr, other.rows.indptr[1:] + first.rows.indptr[-1]]),
            np.concatenate([first.rows.indices, other.rows.indices]),
            np.concatenate([_values(first.rows), _values(other.rows)]),
        )
        first = TokenRows(rows, np.concatenate([first.starts, other.starts[1:] + first.starts[-1]]))
    return first


def _values(rows: CsrRows | BinaryRows) -> np.ndarray:
    return rows.values if isinstance(rows, CsrRows) else np.ones(len(rows.indices))


def _with_unlabeled(chains: Chains, unlabeled: TokenRows, weights: np.ndarray, discount: float) -> Chains:
    """Return labelled and unlabelled sentences, with the factors of the penalty in their weights."""
    own, other = penalty_scales(chains.penalty.sum(), float(weights.sum()), discount)
    joined = _joined([TokenRows(chains.rows, chains.starts), unlabeled])
    zeros, unknown = np.zeros(len(weights)), np.full(int(unlabeled.starts[-1]), UNKNOWN, np.int32)
    return Chains(
        joined.rows,
        joined.starts,
        np.concatenate([chains.tags, unknown]),
        np.concatenate([chains.free, zeros]),
        np.concatenate([chains.known, zeros]),
        np.concatenate([own * chains.penalty, other * weights]),
    )


def _with_copies(chains: Chains, delta: float, copies: int, seed: int) -> Chains:
    """Return sentences and noised copies of them, so that π (mean A(s̃) - A(s)) takes the place of π R.

    Each entry is kept in the same number of copies, so its mean is exact: the first-order part of the error
    would otherwise be larger than R.
    """
    rng, values = np.random.default_rng(seed), _values(chains.rows)
    kept = max(round((1.0 - delta) * copies), 1)
    places = rng.random((copies, len(values))).argsort(axis=0)
    noised = values * (places < kept) * (copies / kept)
    columns, n = chains.rows.indices, len(chains.free)
    parts = [TokenRows(CsrRows(chains.rows.indptr, columns, own), chains.starts) for own in (values, *noised)]
    joined, zeros = _joined(parts), np.zeros(n * copies)
    return Chains(
        joined.rows,
        joined.starts,
        np.concatenate([chains.tags, np.full(len(chains.tags) * copies, UNKNOWN, np.int32)]),
        np.concatenate([chains.free - chains.penalty, np.tile(chains.penalty / copies, copies)]),
        np.concatenate([chains.known, zeros]),
        np.concatenate([np.zeros(n), zeros]),
    )
