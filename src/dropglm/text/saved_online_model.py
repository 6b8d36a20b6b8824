"""Online text models from files that predict and explain, without scikit-learn."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from dropglm.estimators.online_model import OnlineModel
from dropglm.text.hashed_features import HashedFeatures
from dropglm.text.online_predictions import OnlinePredictions
from dropglm.text.online_restoring import restore_hashed, restore_online, restored_online_settings
from dropglm.text.restoring import restore_features
from dropglm.text.saved_model import SavedFeatures
from dropglm.text.tokens import WORDS_AND_PUNCTUATION


@dataclass(eq=False)
class SavedHashedFeatures(HashedFeatures):
    """Hashed n-grams of a file, with the settings of ``NgramHasher``."""

    bits: int = 20
    ngram_range: tuple[int, int] = (1, 2)
    lowercase: bool = True
    token_pattern: Any = WORDS_AND_PUNCTUATION
    strip_html: bool = True
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(eq=False)
class SavedOnlineModel(OnlineModel):
    """The model of a file, with the settings of ``OnlineLogisticRegression``."""

    rule: Any = "adagrad"
    rate: float | None = None
    l2: float = 0.0
    power: float = 1.0
    average: bool = False
    epochs: int = 5
    shuffle: bool = True
    fit_intercept: bool = True
    random_state: Any = None


class SavedOnlineTextModel(OnlinePredictions):
    """An ``OnlineTextClassifier`` from a file."""

    counts_: np.ndarray

    def __init__(self) -> None:
        self.n_jobs: int | None = None
        self.verbose = 0

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the model from what a file holds."""
        settings, classifier = restored_online_settings(state), cls()
        model = SavedOnlineModel(**_shared(settings, SavedOnlineModel))
        model._checked_rule()
        features: SavedFeatures | SavedHashedFeatures
        if settings["bits"] is None:
            features = SavedFeatures.with_settings(settings | state.get("vectorizer", {}))
            restore_features(features, state["features"] | {"n_texts": state["n_texts"]})
        else:
            features = SavedHashedFeatures(**_shared(settings, SavedHashedFeatures))
            restore_hashed(features, state)
        restore_online(classifier, model, features, state)
        return classifier


def _shared(settings: dict[str, Any], kind: Any) -> dict[str, Any]:
    """Return those of the settings of a classifier that this class also has."""
    return {field.name: settings[field.name] for field in fields(kind) if field.name in settings}
