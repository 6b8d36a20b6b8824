"""The embeddings of the training texts, as a block of features beside the n-grams."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.blocks import Blocks
from dropglm.errors import InputError
from dropglm.estimators import LogisticRegression, LogisticRegressionCV
from dropglm.text.embeddings import EmbeddingHead, Fingerprint, Scaling, check_embeddings, embed
from dropglm.text.tuning import BY_BLOCK, add_blocks, without_last

# Values that a search chooses from: standard deviations of the noise, relative to the root mean square of the
# columns, and l2 weights relative to those of the n-grams. With word vectors of 384 numbers and 300 labels,
# the log loss of imdb2k is 0.393, and 0.405 if the noise is always 1; that of subj is 0.266 and 0.270.
# Further l2 weights of 0.1 or 10 gained nothing on average over four sets: both blocks have rows of length 1.
NOISE = (1.0, 3.0)
EMBEDDING_L2_WEIGHTS = (1.0,)


class EmbeddingBlock(NamedTuple):
    """The block of embeddings: what they were computed with, and how they are scaled."""

    fingerprint: Fingerprint
    scaling: Scaling

    @classmethod
    def of(cls, embedder: Any, scaling: Scaling) -> Self:
        """Return the block of embeddings with this scaling, by an embedder or, if None, given ones."""
        width = len(scaling.mean)
        fingerprint = Fingerprint(width) if embedder is None else Fingerprint.of(embedder, width)
        if fingerprint.dimension != width:
            raise InputError(
                f"embeddings has {width} numbers per text, but the embedder gives {fingerprint.dimension}."
            )
        return cls(fingerprint, scaling)

    @property
    def width(self) -> int:
        """Numbers per text."""
        return self.fingerprint.dimension

    def split(self, model: LogisticRegression) -> tuple[LogisticRegression, EmbeddingHead]:
        """Return a model of the n-grams alone, and the head, from one that was fitted to both."""
        size = np.float32(self.scaling.size)
        coef = np.asarray(model.coef_[:, -self.width :] / size, np.float32)
        settings = {name: without_last(getattr(model, name)) for name in BY_BLOCK}
        words = LogisticRegression(**model.get_params() | settings)
        for name in ("classes_", "intercept_", "multi_class_", "n_iter_", "result_"):
            setattr(words, name, getattr(model, name))
        words.coef_ = np.ascontiguousarray(model.coef_[:, : -self.width])
        words.n_features_in_ = words.coef_.shape[1]
        return words, EmbeddingHead(self.fingerprint, self.scaling.mean, coef)

    def summary(self, model: LogisticRegression) -> dict[str, Any]:
        """Return what the summary says of embeddings, given a model that was fitted to the block."""
        return {
            "dimension": self.width,
            "name": self.fingerprint.name,
            "noise": float(np.round(_last(model.noise_std) * np.sqrt(self.width), 6)),
            "l2_weight": float(_last(model.l2_weights)),
        }


def embeddings_of(
    labeled: Sequence[str],
    unlabeled: Sequence[str],
    *,
    embedder: Any,
    embeddings: Any,
    embeddings_unlabeled: Any,
    shown: bool,
) -> np.ndarray | None:
    """Return the embeddings of all texts, given or else by the embedder; None if there are neither."""
    if embeddings is None:
        if embeddings_unlabeled is not None:
            raise InputError("embeddings_unlabeled needs embeddings, those of X, as well.")
        return None if embedder is None else embed(embedder, [*labeled, *unlabeled], shown=shown)
    E = check_embeddings(embeddings, len(labeled))
    return np.vstack([E, _given_unlabeled(embeddings_unlabeled, len(unlabeled), E.shape[1])])


def with_embeddings(features: Any, E: np.ndarray | None) -> Any:
    """Return the features with the embeddings as one more block; features may have several blocks.

    Without embeddings, return the features as they are.
    """
    if E is None:
        return features
    return Blocks(*(features.blocks if isinstance(features, Blocks) else [features]), E)


def set_embedding_values(estimator: LogisticRegression | LogisticRegressionCV, width: int) -> None:
    """Give an estimator values for one more block, which has Gaussian noise instead of dropout."""
    tuned = isinstance(estimator, LogisticRegressionCV)
    # The columns of scaled embeddings have a root mean square of 1/√width.
    stds = [std / np.sqrt(width) for std in (NOISE if tuned else NOISE[:1])]
    weights = EMBEDDING_L2_WEIGHTS if tuned else EMBEDDING_L2_WEIGHTS[:1]
    last = {"dropout": [0.0], "noise_std": stds, "l2_weights": weights}
    add_blocks(estimator, lambda name, _: [(value,) for value in last[name]])


def _last(value: Any) -> Any:
    return value.values[-1]


def _given_unlabeled(given: Any, m: int, k: int) -> np.ndarray:
    """Return the embeddings of m unlabelled texts, which must have k numbers each."""
    if given is None:
        if m:
            raise InputError(
                "embeddings were given for X but not for X_unlabeled; pass those as embeddings_unlabeled."
            )
        return np.empty((0, k), np.float32)
    E = check_embeddings(given, m, name="embeddings_unlabeled", rows_of="X_unlabeled")
    if E.shape[1] != k:
        raise InputError(f"embeddings_unlabeled has {E.shape[1]} numbers per text, but embeddings has {k}.")
    return E
