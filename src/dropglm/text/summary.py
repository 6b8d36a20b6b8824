"""A summary of a fitted text classifier: its data, its settings and its cross-validated score."""

from dataclasses import asdict, dataclass
from typing import Any

from dropglm.text.search_summary import effect_line, search_line

MAX_CLASSES = 12  # listed on one line


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
        Number of n-grams.
    settings : dict
        The dropout (or the name of the noise), l2, l2_weights and discount of the model, the factors "scale"
        of its predictors and "naive_bayes" of naive Bayes', and "ngram_weight"; None where they have no
        effect.
    search : dict or None
        None if no settings were tuned. Otherwise the scorer ("scoring"), the number of folds ("folds") and of
        candidate settings ("points"), the mean score of the chosen settings ("score") with its standard error
        over the folds ("standard_error"), the number of candidates whose score is within one standard error
        of the best ("within"), the accuracy on held-out texts ("accuracy"), and whether a value of l2 beyond
        those that were tried may be better ("l2_at_edge"),
        and the number of texts that were never held out ("never_held_out").
    iterations : int
        Number of iterations of the final fit.
    converged : bool
        Whether the final fit converged.
    embedding : dict or None
        None if there are no embeddings. Otherwise the numbers per text ("dimension"), the name of the
        embedder ("name"; None if embeddings were given), the standard deviation of the noise relative to the
        root mean square of the columns ("noise"), and the l2 weight relative to that of the n-grams
        ("l2_weight").
    unlabeled_effect : dict or None
        None if there are no unlabelled texts or if nothing was tuned. Otherwise the mean score of the best
        settings that do not use them ("score_without") and its accuracy on held-out texts
        ("accuracy_without"), both None if no such settings were tried; those with unlabelled texts are in
        ``search``. Also how the model uses them: the number of latent features ("n_latent"), whether these
        give rare words more weight ("rare_words"), the number of rounds of naive Bayes ("rounds") and
        "discount".
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

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines of the printed summary, as pairs (heading, text)."""
        total = sum(self.texts.values())
        classes = format_class_counts(self.texts)
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items() if value is not None)
        lines = [
            ("texts", f"{total:,} with labels ({classes}), {self.unlabeled:,} without"),
            ("n-grams", f"{self.features:,}"),
            ("settings", settings),
        ]
        if self.embedding:
            lines.insert(2, ("embeddings", _embedding_line(self.embedding)))
        if self.search:
            lines.append(("cross-validation", search_line(self.search)))
        if self.search and self.unlabeled_effect:
            lines.append(("unlabelled texts", effect_line(self.unlabeled_effect, self.search)))
        status = "converged" if self.converged else "NOT converged"
        return [*lines, ("fit", f"{status} after {self.iterations} iterations")]

    def __str__(self) -> str:
        return "\n".join(f"{heading:<18}{text}" for heading, text in self.lines())


def _embedding_line(embedding: dict[str, Any]) -> str:
    source = "" if embedding["name"] is None else f" from {embedding['name']}"
    return (
        f"{embedding['dimension']:,} numbers per text{source}; noise {embedding['noise']:g}, l2 weight "
        f"{embedding['l2_weight']:g}"
    )


def format_class_counts(texts: dict[str, int]) -> str:
    """Return the number of texts of each class, of the first dozen classes if there are more."""
    first = [f"{label} {count:,}" for label, count in list(texts.items())[:MAX_CLASSES]]
    return ", ".join(first) + (", …" if len(texts) > MAX_CLASSES else "")
