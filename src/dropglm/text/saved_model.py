"""Text models from files that predict and explain; they need neither scikit-learn nor its estimators.

``load_model`` returns estimators, which can also be fitted and saved. Importing scikit-learn takes longer
than everything else that a prediction needs, so the commands ``predict`` and ``explain`` use these instead.
"""

from dataclasses import dataclass, fields, replace
from importlib import import_module
from os import PathLike
from typing import Any, Self

import numpy as np

from dropglm import model_files
from dropglm.text.embedded_predictions import EmbeddedPredictions, FittedState
from dropglm.text.embedding_head import EmbeddingHead
from dropglm.text.features import NgramFeatures
from dropglm.text.file_contents import MODELS
from dropglm.text.predictions import TextPredictions
from dropglm.text.restoring import restore_coefficients, restore_features
from dropglm.text.summary import Summary
from dropglm.text.tokens import WORDS_AND_PUNCTUATION

# The classes of saved models, and the modules that have them; one that is not needed is not imported.
SAVED_MODELS = {
    "OnlineTextClassifier": ("dropglm.text.saved_online_model", "SavedOnlineTextModel"),
    "TextClassifier": ("dropglm.text.saved_model", "SavedTextModel"),
}


@dataclass(eq=False)
class SavedFeatures(NgramFeatures):
    """N-grams of a file, with the settings of ``NgramVectorizer``."""

    ngram_range: tuple[int, int] = (1, 1)
    min_df: Any = 1
    max_df: float = 1.0
    max_features: int | None = None
    binary: bool = True
    use_idf: bool = False
    smooth_idf: bool = True
    sublinear_tf: bool = False
    norm: str | None = None
    idf_power: float = 1.0
    ngram_weight: float = 1.0
    lowercase: bool = True
    token_pattern: Any = WORDS_AND_PUNCTUATION
    strip_html: bool = True
    strip_accents: Any = None
    stop_words: Any = None
    analyzer: Any = "word"
    preprocessor: Any = None
    tokenizer: Any = None
    vocabulary: Any = None
    input: str = "content"
    encoding: str = "utf-8"
    decode_error: str = "strict"
    dtype: Any = np.float32
    n_jobs: int | None = None
    verbose: int = 0

    @classmethod
    def with_settings(cls, settings: dict[str, Any]) -> Self:
        """Return features with those of the settings of a classifier that are theirs."""
        return cls(**{field.name: settings[field.name] for field in fields(cls) if field.name in settings})


class SavedTextModel(EmbeddedPredictions):
    """A ``TextClassifier`` from a file."""

    def __init__(self, fitted: FittedState) -> None:
        self._fitted = fitted
        self.embedder: Any = None
        self.n_jobs: int | None = None
        self.verbose = 0
        self.vectorizer_, self.model_ = fitted.vectorizer, fitted.model
        self.classes_, self.summary_ = fitted.model.classes_, fitted.summary

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the model from what a file holds."""
        features = SavedFeatures.with_settings(state["settings"] | {"ngram_weight": state["ngram_weight"]})
        restore_features(features, state)
        model = restore_coefficients(state, len(features.ngrams_))
        # In this order, SciPy's product with a few rows does not copy all coefficients of several classes.
        model = replace(model, coef_=np.asfortranarray(model.coef_))
        summary, head = Summary.of_state(state), EmbeddingHead.of_state(state, len(model.coef_))
        return cls(FittedState(features, model, None, summary, head))._restore_columns(state)

    def _fitted_state(self) -> FittedState:
        return self._fitted


def load_saved_model(
    path: str | PathLike[str], embedder: Any = None, *, trust: bool = False
) -> TextPredictions:
    """Read a text model that predicts and explains; files from untrusted sources are safe to open.

    Parameters
    ----------
    path : str or path-like
        A model file.
    embedder : callable or object with a method ``encode``, default=None
        The embedder that the model was trained with.
    trust : bool, default=False
        Whether to open a file that is safe only if you trust its author; see ``load_model``.

    Returns
    -------
    SavedTextModel or SavedOnlineTextModel

    See Also
    --------
    load_model : Read an estimator, which can also be fitted and saved.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from dropglm import TextClassifier
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder) / "model.skops")
    ...     load_saved_model(pathlib.Path(folder) / "model.skops").predict(["a good story"])
    array(['pos'], dtype='<U3')
    """
    kind, state = model_files.read(path, MODELS, trust=trust)
    module, name = SAVED_MODELS[kind]
    with model_files.reporting_damage(path):
        model: Any = getattr(import_module(module), name).from_state(state)
    return model if embedder is None else model._with_embedder(embedder)
