"""A fitted text model: it predicts, explains its predictions, and is written to and read from files.

It needs neither scikit-learn nor its estimators, which take longer to import than everything else that a
prediction needs. ``TextClassifier`` and ``OnlineTextClassifier`` hold such a model and leave all of this to
it; commands and services read one from a file. ``file_contents`` says what a file contains.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dropglm.base import checks, model_files
from dropglm.base.errors import InputError
from dropglm.base.model_files import Record
from dropglm.base.registry import quoted
from dropglm.core.predictions import MULTILABEL, FittedLogistic, LogisticPredictions
from dropglm.text.characters import CharacterHead
from dropglm.text.columns import ColumnHead, Columns, plain_texts
from dropglm.text.embeddings import EmbeddingHead, ModelWithHeads, as_array, refuse_embeddings
from dropglm.text.encoders import is_named
from dropglm.text.explanation import Explanation, NgramWeight, explain_text, top_ngrams
from dropglm.text.file_contents import CHOSEN, FEATURES, MODELS, SELECTION, saved_setting, saved_settings
from dropglm.text.guarantees import KINDS, Evidence, Selective, Trust, Typical, Unlike, interval
from dropglm.text.ngrams.analysis import check_texts

if TYPE_CHECKING:  # imports scikit-learn
    from dropglm.search import LogisticRegressionCV

MAX_CLASSES = 12  # listed on one line of a summary
BLENDED = ("scale", "naive_bayes", "words", "characters")  # settings that are factors of predictors


@dataclass(frozen=True)
class Summary:
    """Summary of a fit of ``TextClassifier``; ``print`` it.

    Attributes
    ----------
    texts : dict
        Number of texts of each class.
    unlabeled : int
        Number of texts without labels.
    features : int
        Number of n-grams of words.
    settings : dict
        The dropout (or the name of the noise), l2, l2_weights and discount of the model of words, the factors
        "scale" of its predictors and "naive_bayes" of naive Bayes', and "ngram_weight". Then the factors by
        which the predictors of "words" and of "characters" are multiplied before they are added. None where
        they have no effect.
    search : dict or None
        None if no settings were tuned. Otherwise the scorer ("scoring"), the number of folds ("folds") and of
        candidate settings ("points"), the mean score of the chosen settings ("score") with its standard error
        over the folds ("standard_error"), the score of predictions that are the shares of the classes
        ("score_of_shares"), the number of candidates whose score is within one standard error of the best
        ("within"), the accuracy on held-out texts ("accuracy") with its 95 % interval ("accuracy_interval"),
        whether a value of l2 beyond those that were tried may be better ("l2_at_edge"), the number of texts
        that were never held out ("never_held_out"), and the number of groups of texts that were held out
        together ("groups"; None if each text was held out on its own). Scores and accuracy are those of words
        and characters together.
    iterations : int
        Number of iterations of the final fit.
    converged : bool
        Whether the final fit converged.
    embedding : dict or None
        None if there are no embeddings. Otherwise the numbers per text ("dimension"), the name of the
        embedder ("name"; None if embeddings were given), the standard deviation of the noise relative to the
        root mean square of the columns ("noise"), and the l2 weight relative to that of the n-grams
        ("l2_weight"): one number per encoder, None if it is left out.
    unlabeled_effect : dict or None
        None if there are no unlabelled texts or if nothing was tuned. Otherwise the mean score of the best
        settings that do not use them ("score_without") and its accuracy on held-out texts
        ("accuracy_without"), both None if no such settings were tried; and those with unlabelled texts
        ("score", "accuracy"). All are of the model without n-grams of characters. Also how the model uses
        them: the number of latent features ("n_latent"), whether these give rare words more weight
        ("rare_words"), the numbers of rounds of naive Bayes ("rounds") and of discriminant analysis
        ("discriminant_rounds"), and "discount".
    characters : int
        Number of n-grams of characters; 0 if the model does not use them.
    copies : int
        Number of texts with labels that repeat an earlier one, but for case, tags and white space.
    contradictory : int
        Number of different texts whose copies have different labels.
    several_labels : dict or None
        None if every text has one label. Otherwise the number of texts with labels ("texts"), how many of
        them have none of the labels ("without"), and the micro-averaged F1 of the predictions for held-out
        texts ("micro_f1"; None if nothing was tuned).
    second_hand : dict or None
        None if there are no second-hand labels. Otherwise the names of their sources ("sources"), the number
        of texts that have no other label ("texts"), the share of the texts with a label by hand with which
        each source agrees ("agreement"; None if there is no such text), whether its answers say anything
        about the classes ("used"), and the mean score of the texts with a label by hand when they were held
        out, with and without the second-hand labels ("score", "score_without").
    columns : dict or None
        None if there are no columns beside texts. Otherwise the names of those of numbers and of those that
        are dates ("numeric", "dates"), the number of categories of each other column ("categories"), the
        columns in which rare ones share a feature ("rare"), how many rows have no value ("missing"), the
        blocks of features ("blocks"), and the dropout and the l2 weight that were chosen for each of them
        ("dropout", "l2_weight"; None if it is left out).
    """

    texts: dict[str, int]
    unlabeled: int
    features: int
    settings: dict[str, Any]
    search: dict[str, Any] | None
    iterations: int
    converged: bool
    embedding: dict[str, Any] | None = None
    unlabeled_effect: dict[str, Any] | None = None
    characters: int = 0
    copies: int = 0
    contradictory: int = 0
    several_labels: dict[str, Any] | None = None
    second_hand: dict[str, Any] | None = None
    columns: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines of the printed summary, as pairs (heading, text)."""
        several = self.several_labels
        total = several["texts"] if several else sum(self.texts.values())
        classes = format_class_counts(self.texts)
        if several:
            classes = f"any of {len(self.texts):,}: {classes}; {several['without']:,} have none"
        lines = [("texts", f"{total:,} with labels ({classes}), {self.unlabeled:,} without")]
        if self.copies:
            lines.append(("copies", self._copies_line(total)))
        if self.search:
            lines.append(("cross-validation", search_line(self.search)))
            if several and several["micro_f1"] is not None:
                lines.append(("micro F1", f"{several['micro_f1']:.4f} on held-out texts"))
            lines += shares_lines(self.search)
        if self.search and self.unlabeled_effect:
            lines.append(("unlabelled texts", effect_line(self.unlabeled_effect, self.search)))
        if self.second_hand:
            lines.append(("second-hand", second_hand_line(self.second_hand)))
        lines.append(("n-grams", self.ngrams_line()))
        if self.columns:
            lines.append(("columns", columns_line(self.columns)))
        if self.embedding:
            lines.append(("embeddings", _embedding_line(self.embedding)))
        status = "converged" if self.converged else "NOT converged"
        return [
            *lines,
            ("settings", _settings_line(self.settings)),
            *blend_lines(self.settings),
            ("fit", f"{status} after {self.iterations} iterations"),
        ]

    def ngrams_line(self) -> str:
        """Return how many n-grams there are."""
        words = f"{self.features:,}"
        return f"{words} of words, {self.characters:,} of characters" if self.characters else words

    def _copies_line(self, total: int) -> str:
        one, apart = self.copies == 1, not (self.search and self.search.get("groups"))
        line = f"{self.copies:,} of {total:,} texts {'repeats' if one else 'repeat'} another one"
        line += "" if apart else f" and {'is' if one else 'are'} held out with it"
        if self.contradictory:
            have = "text has" if self.contradictory == 1 else "texts have"
            line += f"; {self.contradictory:,} {have} copies with different labels"
        return line

    def __str__(self) -> str:
        return "\n".join(f"{heading:<18}{text}" for heading, text in self.lines())


def _settings_line(settings: dict[str, Any]) -> str:
    shown = {name: value for name, value in settings.items() if value is not None and name not in BLENDED}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def blend_lines(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a line about the factors with which the parts of a model are added up, if it has parts.

    Examples
    --------
    >>> blend_lines({"scale": 0.8, "naive_bayes": 0.2, "words": 0.6, "characters": 0.5})
    [('blend', '0.6 × words (0.8 × fit + 0.2 × naive Bayes) + 0.5 × characters')]
    """
    factors = {name: settings.get(name) for name in BLENDED}
    fit, bayes, words, characters = (factors[name] for name in BLENDED)
    if fit is None:
        return []
    line = f"{fit:g} × fit" + ("" if bayes is None else f" + {bayes:g} × naive Bayes")
    if words is not None:
        line = f"{words:g} × words ({line})"
    if characters is not None:
        line += f" + {characters:g} × characters"
    return [("blend", line)]


def columns_line(columns: dict[str, Any]) -> str:
    """Return the line of the printed summary about the columns beside the texts."""
    sizes, dates = columns["categories"], columns["dates"]
    kinds = [
        *(f"{name} (date)" if name in dates else name for name in columns["numeric"]),
        *(f"{name} ({size:,} {'category' if size == 1 else 'categories'})" for name, size in sizes.items()),
    ]
    missing = [f"{name} {count:,}" for name, count in columns["missing"].items()]
    parts = [", ".join(kinds), *([f"missing: {', '.join(missing)}"] if missing else [])]
    for name, dropout, weight in zip(
        columns["blocks"], columns["dropout"], columns["l2_weight"], strict=True
    ):
        chosen = "left out" if weight is None else f"dropout {dropout:g}, l2 weight {weight:g}"
        parts.append(f"{name}: {chosen}")
    return "; ".join(parts)


def _embedding_line(embedding: dict[str, Any]) -> str:
    source = "" if embedding["name"] is None else f" from {embedding['name']}"
    noises, weights = (np.atleast_1d(embedding[name]).tolist() for name in ("noise", "l2_weight"))
    used = [
        "left out" if weight is None else f"noise {noise:g}"
        for noise, weight in zip(noises, weights, strict=True)
    ]
    return f"{embedding['dimension']:,} numbers per text{source}; {' + '.join(used)}"


def format_class_counts(texts: dict[str, int]) -> str:
    """Return the number of texts of each class, the largest first; of a dozen classes if there are more."""
    by_size = sorted(texts.items(), key=lambda pair: -pair[1])
    first = [f"{label} {count:,}" for label, count in by_size[:MAX_CLASSES]]
    more = len(texts) - MAX_CLASSES
    return ", ".join(first) + (f" and {more:,} classes more" if more > 0 else "")


def readable_score(scoring: str, score: float) -> tuple[str, float]:
    """Return the name of a score and its value in words of the field: a log loss is positive.

    Examples
    --------
    >>> readable_score("neg_log_loss", -0.5), readable_score("accuracy", 0.9)
    (('log loss', 0.5), ('accuracy', 0.9))
    """
    return ("log loss", -score) if scoring == "neg_log_loss" else (scoring, score)


def search_line(search: dict[str, Any]) -> str:
    """Return the line of the printed summary."""
    name, score = readable_score(search["scoring"], search["score"])
    parts = [f"{name} {score:.4f}"]
    if search["standard_error"] is not None:
        parts[0] += f" ± {search['standard_error']:.4f}"
    if name != "accuracy" and search.get("accuracy") is not None:
        parts.append(f"accuracy {search['accuracy']:.4f}")
    if search.get("accuracy_interval") is not None:
        low, high = search["accuracy_interval"]
        parts[-1] += f" ({low:.2f} to {high:.2f} with 95 % confidence)"
    folds = f"{search['folds']} fold{'s' if search['folds'] > 1 else ''}"
    line = f"{', '.join(parts)} over {folds}"
    if search.get("groups"):
        line += f" of {search['groups']:,} groups"
    if search["points"] > 1 and search["standard_error"] is None:
        line += f"; the best of {search['points']} settings"
    elif search["points"] > 1:
        within = f"{search['within']} of {search['points']} settings"
        verb = "is" if search["within"] == 1 else "are"
        line += f"; {within} {verb} within one standard error of the best"
    if search.get("l2_at_edge") and search.get("accuracy") != 1.0:
        line += "; the best l2 is at the edge of the grid: try a value beyond it"
    alone = search.get("never_held_out")
    if alone:
        line += f"; without {alone} text{'s' if alone > 1 else ''} that could not be held out"
    return line


def shares_lines(search: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a line of the printed summary if the model is not better than the shares of the classes."""
    shares = search.get("score_of_shares")
    if shares is None or search["score"] > shares:
        return []
    name, score = readable_score(search["scoring"], search["score"])
    _, score_of_shares = readable_score(search["scoring"], shares)
    verdict = f"the shares of the classes alone have {name} {score_of_shares:.4f}, the model {score:.4f}"
    return [("not better", verdict)]


def second_hand_line(found: dict[str, Any]) -> str:
    """Return the line of the printed summary about second-hand labels."""
    sources = []
    for name, share, used in zip(found["sources"], found["agreement"], found["used"], strict=True):
        agrees = "none in common" if share is None else f"{share:.2f}"
        sources.append(f"{name} {agrees}{'' if used else ' (left out)'}")
    line = f"{found['texts']:,} texts; agreement with your own labels: {', '.join(sources)}; "
    if not any(found["used"]):
        return f"{line}not used, since they do not help held-out texts"
    losses = f"log loss {-found['score']:.4f} instead of {-found['score_without']:.4f} without them"
    return f"{line}{losses}"


def effect_line(effect: dict[str, Any], search: dict[str, Any]) -> str:
    """Return the line of the printed summary, given the field ``search`` of the summary as well."""
    uses = []
    if effect["n_latent"]:
        rare = " that give rare words more weight" if effect["rare_words"] else ""
        uses.append(f"{effect['n_latent']} latent features{rare}")
    if effect["rounds"]:
        uses.append(f"{effect['rounds']} round{'s' if effect['rounds'] > 1 else ''} of naive Bayes")
    if effect.get("discriminant_rounds"):
        rounds = effect["discriminant_rounds"]
        uses.append(f"{rounds} round{'s' if rounds > 1 else ''} of discriminant analysis")
    if effect["discount"]:
        uses.append(f"discount {effect['discount']:g}")
    used = ", ".join(uses) or "not used"
    if effect["score_without"] is None:
        return used
    own = search | {key: effect[key] for key in ("score", "accuracy") if key in effect}
    name, score = readable_score(search["scoring"], own["score"])
    _, score_without = readable_score(search["scoring"], effect["score_without"])
    line = f"{name} {score:.4f} instead of {score_without:.4f}"
    if name != "accuracy":
        line += f", accuracy {own['accuracy']:.4f} instead of {effect['accuracy_without']:.4f}"
    alone = "" if own["score"] == search["score"] else ", of words alone"
    return f"{line} without them{alone}; {used}"


def as_labels(predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return predictions as users gave labels: for each text a tuple of labels, unless these are numbered.

    Examples
    --------
    >>> as_labels(np.array([[1, 1], [0, 0]]), np.array(["a", "b"]))
    array([('a', 'b'), ()], dtype=object)
    """
    if predicted.ndim == 1 or np.array_equal(classes, np.arange(len(classes))):
        return predicted
    labels, found = classes.tolist(), np.empty(len(predicted), object)
    found[:] = [tuple(labels[k] for k in np.flatnonzero(row)) for row in predicted]
    return found


class AnyTextModel:
    """What predicts and explains: a fitted text model, or an estimator that holds one.

    Either can be exported, served and evaluated.
    """

    def _fitted_model(self) -> "FittedTextModel":
        raise NotImplementedError

    @property
    def classes_(self) -> np.ndarray:
        """The classes, sorted."""
        classes: np.ndarray = self._fitted_model().model.classes_
        return classes

    def predict(self, X: Iterable[Any], embeddings: Any = None) -> np.ndarray:
        """Predict the most probable class of each text.

        Parameters
        ----------
        X : iterable of str
            Texts; for a ``TableClassifier``, a table or rows.
        embeddings : array-like of shape (n, k), default=None
            Embeddings of the texts, if the model was trained with embeddings; None means those of its
            embedder.

        Returns
        -------
        ndarray of shape (n,), or (n, K)
            Classes. If texts have several labels, a tuple of labels per text or, if the labels are numbered
            from 0 on, as those of an indicator matrix, such a matrix.
        """
        model, features = self._fitted_model()._model_and_features(X, embeddings)
        return as_labels(model.predict(features), model.classes_)

    @property
    def multilabel_(self) -> bool:
        """Whether texts have any number of labels."""
        return bool(self._fitted_model().model._multilabel)

    @property
    def thresholds_(self) -> np.ndarray:
        """Probabilities above which a text is given each of several labels."""
        model = self._fitted_model().model
        chosen: np.ndarray | None = model.thresholds_
        return np.full(len(model.classes_), 0.5) if chosen is None else chosen

    def predict_proba(self, X: Iterable[Any], embeddings: Any = None) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : iterable of str
            Texts; for a ``TableClassifier``, a table or rows.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.

        Returns
        -------
        ndarray of shape (n, K)
            Columns are in the order of ``classes_``.
        """
        model, features = self._fitted_model()._model_and_features(X, embeddings)
        return model.predict_proba(features)

    def predict_log_proba(self, X: Iterable[Any], embeddings: Any = None) -> np.ndarray:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : iterable of str
            Texts; for a ``TableClassifier``, a table or rows.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.

        Returns
        -------
        ndarray of shape (n, K)
            Columns are in the order of ``classes_``.
        """
        model, features = self._fitted_model()._model_and_features(X, embeddings)
        return model.predict_log_proba(features)

    def decision_function(self, X: Iterable[Any], embeddings: Any = None) -> np.ndarray:
        """Compute the linear predictor of each text.

        Parameters
        ----------
        X : iterable of str
            Texts; for a ``TableClassifier``, a table or rows.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.

        Returns
        -------
        ndarray of shape (n,) for two classes, else (n, K)
            For two classes, positive values favour ``classes_[1]``.
        """
        model, features = self._fitted_model()._model_and_features(X, embeddings)
        return model.decision_function(features)

    @property
    def evidence_(self) -> Evidence | None:
        """Predictions for texts that were held out, on which guarantees rest; None if there are none."""
        return self._fitted_model().evidence

    def calibrate_on(self, X: Iterable[Any], y: Any, embeddings: Any = None, kind: str = "guarantee") -> Self:
        """Let guarantees rest on texts with labels that nothing of the model has seen.

        They take the place of the texts that cross-validation held out, on which guarantees are estimates.
        Model files contain the probabilities that the model predicts for them, of at most 10,000 texts.

        Parameters
        ----------
        X : iterable of str
            Texts: a random sample of those to come, which the model was not trained on, independent of each
            other.
        y : array-like of shape (n,)
            Their labels. One that is not a class of the model counts as a wrong prediction.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.
        kind : {"guarantee", "estimate"}, default="guarantee"
            "estimate" if the texts are not independent of each other, such as those of a few authors.

        Returns
        -------
        Self
            The model itself.

        See Also
        --------
        selective : Answer only where few answers are wrong.
        predict_sets : Predict the labels that contain the right one.
        """
        if kind not in KINDS:
            raise InputError(f"kind must be one of {quoted(KINDS)}, got {kind!r}.")
        p = self.predict_proba(X, embeddings)
        return self._set_evidence(p, y, kind)

    def _trust(self) -> Trust | None:
        """Return what the model may be used for, if there is evidence."""
        fitted = self._fitted_model()
        if fitted.evidence is None:
            return None
        search = fitted.summary.search if fitted.evidence.kind == "estimate" and fitted.summary else None
        return fitted.evidence.trust((search or {}).get("accuracy_interval"))

    def _set_evidence(self, probabilities: np.ndarray, y: Any, kind: str = "guarantee") -> Self:
        """Let guarantees rest on predicted probabilities of texts with labels."""
        from dropglm.text.labels import find_class_numbers, not_a_class

        self._check_guarantees()
        y = np.asarray(y)
        if y.shape != (len(probabilities),):
            raise InputError(f"y must have one label for each of the {len(probabilities)} texts.")
        truth = find_class_numbers(y, self.classes_.tolist())
        if (truth < 0).all():
            raise not_a_class(y, truth, self.classes_.tolist())
        self._stored_model().evidence = Evidence.of(probabilities, truth, kind)
        return self

    def _stored_model(self) -> "FittedTextModel":
        """Return the fitted model itself, not a copy."""
        return self._fitted_model()

    def _check_guarantees(self) -> None:
        """Raise an error if there cannot be any guarantees."""
        if self.multilabel_:
            raise InputError(
                "Guarantees are for one label per text; of several labels, each has a threshold: set "
                "precision.",
                "precision",
            )
        if self._fitted_model().learns_on:
            raise InputError(
                "A model that learns on has no guarantees: what it predicted for held-out texts describes it "
                "only until the next text."
            )

    def _needed_evidence(self) -> Evidence:
        self._check_guarantees()
        found = self.evidence_
        if found is None:
            raise InputError(
                "The model has no predictions for held-out texts, on which a guarantee could rest: give some "
                "labelled texts to calibrate_on, or train it with tune=True."
            )
        return found

    def selective(self, max_error: float = 0.05, confidence: float = 0.9) -> Selective:
        """Answer only where few answers are wrong, and leave the other texts open.

        The threshold of the probability is chosen on held-out texts by fixed-sequence testing with
        Clopper-Pearson bounds: with the given confidence over the draw of these texts, at most this share of
        the answers for texts like them is wrong. It is an estimate, not a guarantee, if the texts were only
        held out by the folds that also chose the settings; see ``calibrate_on``.

        Parameters
        ----------
        max_error : float, default=0.05
            Share of the answers that may be wrong.
        confidence : float, default=0.9
            How sure that is.

        Returns
        -------
        Selective
            Print it; ``predict`` of it returns None where it leaves a text open.

        See Also
        --------
        calibrate_on : Texts on which a guarantee rests.

        Examples
        --------
        >>> from dropglm import TextClassifier
        >>> texts, y = ["good film", "bad film"] * 60, ["pos", "neg"] * 60
        >>> model = TextClassifier(tune=False).fit(texts, y).calibrate_on(texts, y)
        >>> rule = model.selective(max_error=0.05, confidence=0.9)
        >>> print(rule)
        answers 100.0 % of texts
        at most 5 % of the answers are wrong, with 90 % confidence (0 of 120 held-out texts; bound 0.019)
        >>> rule.predict(["good"])
        array(['pos'], dtype=object)
        """
        return replace(self._needed_evidence().selective(max_error, confidence), model=self)

    def predict_sets(self, X: Iterable[Any], coverage: float = 0.9, embeddings: Any = None) -> np.ndarray:
        """Predict, for each text, labels that contain the right one with a given probability.

        By split conformal prediction: a label is in the set if its probability is at least that of the right
        class in the given share of the held-out texts. The most probable label always is.

        Parameters
        ----------
        X : iterable of str
            Texts.
        coverage : float, default=0.9
            Probability that the set of a new text contains its label.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.

        Returns
        -------
        ndarray of shape (n,)
            A tuple of labels per text, the most probable one first.

        See Also
        --------
        calibrate_on : Texts on which the coverage rests.
        """
        evidence = self._needed_evidence()
        sets = evidence.label_sets(self.predict_proba(X, embeddings), coverage)
        labels, found = self.classes_.tolist(), np.empty(len(sets), object)
        found[:] = [tuple(labels[k] for k in own) for own in sets]
        return found

    def compare_with_training(self, X: Iterable[Any]) -> Unlike | None:
        """Compare texts with those that the model was trained on.

        Parameters
        ----------
        X : iterable of str
            New texts.

        Returns
        -------
        Unlike or None
            How many of them have fewer known words, and less in common with the training texts, than 95 % of
            the training texts had when they were new; and whether that is more than chance. None if the model
            does not know: it is not one of words, or was trained on few texts, on Dask or from a stream.
        """
        fitted = self._fitted_model()
        found = None if fitted.typical is None else fitted.vectorizer._typicality(fitted._texts(X))
        return None if fitted.typical is None or found is None else fitted.typical.compare(found)

    def top_features(self, k: int = 10) -> dict[Any, list[NgramWeight]]:
        """List the n-grams with the strongest influence on each class.

        Parameters
        ----------
        k : int, default=10
            Number of n-grams per class.

        Returns
        -------
        dict
            Maps each class to at most k pairs (ngram, weight), the most important first. The weight is what
            the n-gram typically adds to the predictor of the class, in a text that contains it: its
            coefficient times the mean value of the feature in such texts. It is positive. N-grams are ranked
            by the weight times √(f (1 - f)), where f is the share of the texts that contain the n-gram;
            this favours frequent n-grams. The weight of a single word includes what its n-grams of
            characters typically add. Hashed n-grams are not counted; they are ranked by how far their
            coefficients are from 0, in standard errors. N-grams with punctuation come after all those of
            words only.
        """
        return self._fitted_model()._top_features(k)

    def explain(self, text: Any, embedding: Any = None, *, label: Any = None) -> Explanation:
        """Explain the prediction for one text.

        Parameters
        ----------
        text : str
            The text; for a ``TableClassifier``, a mapping of columns to values.
        embedding : array-like of shape (k,), default=None
            The embedding of the text, if the model was trained with embeddings; None means that of its
            embedder.
        label : object, default=None
            The class to explain, in place of the most probable one.

        Returns
        -------
        Explanation
            What tips the prediction: the contribution of each n-gram of the text, and of its embedding, to
            the difference between the predictors of the class and of the most probable other one, or to the
            log odds of the label if texts have several. Contributions of n-grams of characters are part of
            those of their words.
        """
        fitted = self._fitted_model()
        given = None if embedding is None else np.atleast_2d(as_array(embedding, "embedding"))
        texts = fitted._texts([text])
        model, row = fitted._model_and_features(texts, given)
        heads = fitted.characters, fitted.head, label, fitted.columns
        return explain_text(fitted.vectorizer, model, texts[0], row, *heads)


@dataclass(eq=False, repr=False)
class FittedTextModel(AnyTextModel):
    """What turns texts into features, and a logistic model of the features.

    Parameters
    ----------
    vectorizer : NgramFeatures or HashedFeatures
        What turns texts into n-grams.
    model : LogisticPredictions
        The model of the n-grams; one that is saved has the settings ``CHOSEN``.
    search : LogisticRegressionCV or None
        The cross-validation, if settings were tuned and the model does not come from a file.
    summary : Summary
        The data, the chosen settings and their score; None if ``summary_`` computes them.
    head : EmbeddingHead or None
        The coefficients of embeddings, if the model uses them.
    characters : CharacterHead or None
        The n-grams of characters and their coefficients, if the model uses them.
    evidence : Evidence or None
        Predictions for texts that were held out, on which guarantees rest.
    typical : Typical or None
        What training texts look like when they are new.
    columns : ColumnHead or None
        The coefficients of columns beside the texts, if there are any.
    table : Columns or None
        The columns of the tables that the model takes; None if it takes texts.

    Attributes
    ----------
    settings : dict
        Settings of the classifier, with which it would be fitted again.
    text_column_, label_column_ : str or None
        The columns of the table that the model was trained on; None if they are not known.
    label_separator_ : str or None
        What separates several labels of a text in tables; None if it is not known.
    embedder : callable, object with a method ``encode``, str or None
        What computes embeddings.
    n_jobs, verbose : int
        Number of threads, and whether to show progress.
    """

    kind: ClassVar[str] = "TextClassifier"  # of its files, and of the estimator
    learns_on: ClassVar[bool] = False  # whether it changes after a fit

    vectorizer: Any
    model: Any
    search: "LogisticRegressionCV | None" = None
    summary: Any = None
    head: EmbeddingHead | None = None
    characters: CharacterHead | None = None
    evidence: Evidence | None = None
    typical: Typical | None = None
    columns: ColumnHead | None = None
    table: Columns | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    text_column_: str | None = None
    label_column_: str | None = None
    label_separator_: str | None = None
    embedder: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _fitted_model(self) -> Self:
        return self

    @property
    def summary_(self) -> Any:
        """What the model was trained on, and how well."""
        return self.summary

    def rely_on(self, evidence: Evidence, scale: float) -> None:
        """Multiply the predictors by a factor, and let accuracy and guarantees rest on other evidence."""
        self.model = copy(self.model)
        self.model.coef_ = (scale * self.model.coef_).astype(self.model.coef_.dtype)
        self.model.intercept_ = (scale * self.model.intercept_).astype(self.model.intercept_.dtype)
        for name in ("head", "characters"):
            part = getattr(self, name)
            if part is not None:
                setattr(self, name, replace(part, coef=(scale * part.coef).astype(part.coef.dtype)))
        self.evidence = evidence
        if self.summary is not None and self.summary.search is not None:
            right, n = int(evidence.right.sum()), len(evidence)
            found = {"accuracy": right / n, "accuracy_interval": [*interval(right, n)]}
            self.summary = replace(self.summary, search=self.summary.search | found)

    @property
    def row_of(self) -> Columns | None:
        """The columns of the rows that the model takes; None if it takes texts."""
        return None if self.table is None or self.table.are_plain_texts else self.table

    @property
    def needs_embeddings(self) -> bool:
        """Whether predictions need given embeddings: the model uses embeddings, and has no embedder."""
        return self.head is not None and self.head.is_used and self.embedder is None

    def _model_and_features(self, X: Iterable[str], embeddings: Any) -> tuple[LogisticPredictions, Any]:
        """Return the linear model and the features of the texts, with characters and embeddings if used."""
        if self.head is None:
            refuse_embeddings(embeddings)
        heads: list[Any] = [one for one in (self.characters, self.columns, self.head) if one is not None]
        if not heads:
            return self.model, self._features(X if self.table is None else self._texts(X))
        texts = self._texts(X)
        features = [self._features(texts)]
        if self.characters is not None:
            features.append(self.characters.features(texts, self.n_jobs))
        if self.columns is not None:
            features.append(self.columns.features(texts))
        if self.head is not None:
            shown, plain = bool(self.verbose), plain_texts(self.table, texts)
            features.append(self.head.embeddings(plain, embeddings, self.embedder, shown=shown))
        return ModelWithHeads(self.model, heads), tuple(features)

    def _texts(self, X: Any) -> list[str]:
        """Return texts as a list, after checking them; rows of a table as strings."""
        return check_texts(X) if self.table is None else self.table.rows(X)

    def _features(self, X: Iterable[str]) -> Any:
        """Return the feature matrix of the texts."""
        features = self._own_vectorizer().transform(X)
        if not features.shape[0]:
            raise InputError("X is empty; give at least one text.")
        return features

    def _own_vectorizer(self) -> Any:
        """Return a copy of the vectorizer with our current settings; both share the vocabulary."""
        vectorizer = copy(self.vectorizer)
        # Counting the cores takes 0.1 ms, a third of the time of a short text; it is done once.
        vectorizer.n_jobs, vectorizer.verbose = checks.threads(self.n_jobs), self.verbose
        return vectorizer

    def _top_features(self, k: int = 10) -> dict[Any, list[NgramWeight]]:
        """Return what ``top_features`` does."""
        ngrams = self.vectorizer.ngrams_
        typical = ngrams.mean_values if len(ngrams.mean_values) else np.ones(1)
        # v √(f (1 - f)), where f is the feature's share of the texts and v its typical value, is the standard
        # deviation of a feature that is v in these texts and 0 in all others.
        share = np.clip(ngrams.document_counts / self.vectorizer.n_texts_, 0.0, 1.0)
        model = self.model if self.characters is None else self._with_characters_of_words(typical)

        def names(columns: np.ndarray) -> list[str]:
            return self.vectorizer._readable(ngrams.names(columns))

        return top_ngrams(names, model, typical, typical * np.sqrt(share * (1.0 - share)), k)

    def _with_characters_of_words(self, typical: np.ndarray) -> LogisticPredictions:
        """Return the model, with what the characters of single words typically add in their coefficients."""
        assert self.characters is not None
        ngrams, model = self.vectorizer.ngrams_, copy(self.model)
        columns = np.flatnonzero(ngrams._lengths == 1)
        own = self.characters.of_words(ngrams.names(columns), self.n_jobs)
        values = np.broadcast_to(typical, len(ngrams))[columns]
        model.coef_ = np.array(model._dense_coef(), np.float64)
        model.coef_[:, columns] += np.divide(own, values, out=np.zeros_like(own), where=values > 0.0)
        return model

    def with_embedder(self, embedder: Any, *, trust: bool = False) -> Self:
        """Give the model its embedder back, after checking that it is the same.

        None means the encoder that the file names, which is loaded by the first prediction, if the weights
        are in an installed package or the file's author is trusted; otherwise the model is left without.
        """
        if self.head is None:
            refuse_embeddings(embedder)
        elif embedder is not None:
            self.head.check(embedder)
        elif is_named(self.head.fingerprint.name, in_package=not trust):
            embedder = self.head.fingerprint.name
        self.embedder = embedder
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file that contains data only; see ``TextModel.save``."""
        model_files.write(path, self.kind, self.to_state(), MODELS[self.kind])

    def to_state(self) -> dict[str, Any]:
        """Return what a file has to hold to predict and to explain, and to fit the classifier again."""
        model = self.model
        return {
            "settings": saved_settings(self.settings),
            "summary": self.summary.to_dict(),
            "classes": np.asarray(model.classes_),
            "multi_class": model.multi_class_,
            "thresholds": model.thresholds_,
            "coef": model.coef_,
            "intercept": model.intercept_,
            "chosen": {name: saved_setting(name, getattr(model, name)) for name in CHOSEN},
            "n_texts": self.vectorizer.n_texts_,
            "ngram_weight": float(self.vectorizer.ngram_weight),
            "vocabulary": self.vectorizer.ngrams_._to_state(),
            "columns": self._columns(),
            "evidence": None if self.evidence is None else self.evidence.to_state(),
            "typical": None if self.typical is None else self.typical.to_state(),
            "embedding": None if self.head is None else self.head.to_state(),
            "characters": None if self.characters is None else self.characters.to_state(),
            "table": None if self.table is None else self.table.to_state(),
            "column_features": None if self.columns is None else self.columns.to_state(),
        }

    def _columns(self) -> dict[str, str | None]:
        separator = {} if self.label_separator_ is None else {"separator": self.label_separator_}
        return {"text": self.text_column_, "label": self.label_column_, **separator}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the model from what a file holds, after checking that its parts fit together."""
        from dropglm.text.ngrams.features import NgramFeatures

        settings = state["settings"]
        shared = {name: settings[name] for name in (*FEATURES, *SELECTION)}
        shared["ngram_weight"] = state["ngram_weight"]
        table = None if state.get("table") is None else Columns.from_state(state["table"])
        shared["fields"] = None if table is None or table.are_plain_texts else table.text
        vectorizer = NgramFeatures._from_state(shared, state["vocabulary"], state["n_texts"])
        classes, coef, intercept = state["classes"], state["coef"], state["intercept"]
        multilabel, thresholds = state["multi_class"] == MULTILABEL, state.get("thresholds")
        rows, d = 1 if len(classes) == 2 and not multilabel else len(classes), len(vectorizer.ngrams_)
        if thresholds is not None and not (multilabel and thresholds.shape == classes.shape):
            raise InputError("the thresholds do not match the classes")
        if coef.shape != (rows, d) or intercept.shape != (rows,):
            raise InputError("the coefficients do not match the vocabulary and the classes")
        # In this order, SciPy's product with a few rows does not copy all coefficients of several classes.
        coef = np.asfortranarray(coef)
        model = FittedLogistic(classes, coef, intercept, state["multi_class"], d, thresholds)
        vars(model).update(state["chosen"])  # for estimators, and for another file
        embedding, characters = state.get("embedding"), state.get("characters")
        fitted = cls(vectorizer, model, None, Summary(**state["summary"]), settings=settings)
        fitted.head = None if embedding is None else EmbeddingHead.from_state(embedding, rows)
        fitted.table, columns = table, state.get("column_features")
        if (columns is not None) != bool(table and table.others):
            raise InputError("the columns of the table do not match their coefficients")
        if table is not None and columns is not None:
            fitted.columns = ColumnHead.from_state(columns, table, rows)
        if characters is not None:
            fitted.characters = CharacterHead.from_state(characters, vectorizer, rows)
        if state.get("evidence") is not None:
            fitted.evidence = Evidence.from_state(state["evidence"])
        if state.get("typical") is not None:
            fitted.typical = Typical.from_state(state["typical"])
        return fitted._with_columns(state)

    def _with_columns(self, state: dict[str, Any]) -> Self:
        self.text_column_, self.label_column_ = state["columns"]["text"], state["columns"]["label"]
        self.label_separator_ = state["columns"].get("separator")
        return self


def refuse_columns(model: FittedTextModel, target: str) -> None:
    """Raise an error if a model takes several columns, which cannot be exported to this target."""
    if model.row_of is not None:
        raise InputError(
            f"The model takes the columns {quoted(model.row_of.names)}, but {target} takes texts; use "
            "dropglm serve, or train a model on a single column of texts."
        )


def load_fitted_model(
    path: str | PathLike[str],
    embedder: Any = None,
    *,
    trust: bool = False,
    contents: Mapping[str, Record] = MODELS,
) -> FittedTextModel:
    """Read a text model that predicts and explains; files from untrusted sources are safe to open.

    Parameters
    ----------
    path : str or path-like
        A model file.
    embedder : callable, object with a method ``encode``, str or None, default=None
        The embedder that the model was trained with; see ``load_model``.
    trust : bool, default=False
        Whether to open a file that is safe only if you trust its author; see ``load_model``.
    contents : mapping of str to Record
        The kinds of files to accept, and what they may contain.

    Returns
    -------
    FittedTextModel
        An OnlineTextModel, if the model has learnt from a stream.

    See Also
    --------
    load_model : Read an estimator, which can also be fitted.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from dropglm import TextClassifier
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder) / "model.skops")
    ...     load_fitted_model(pathlib.Path(folder) / "model.skops").predict(["a good story"])
    array(['pos'], dtype='<U3')
    """
    kind, state = model_files.read(path, contents, trust=trust)
    with model_files.reporting_damage(path):
        if kind == FittedTextModel.kind:
            model = FittedTextModel.from_state(state)
        else:
            from dropglm.text.online_text_model import OnlineTextModel

            model = OnlineTextModel.from_state(state)
    return model.with_embedder(embedder, trust=trust)
