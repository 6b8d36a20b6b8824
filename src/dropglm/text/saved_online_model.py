"""Online text models without scikit-learn, from files or in training."""

from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, Self

from dropglm import model_files
from dropglm.estimators.online_model import OnlineModel
from dropglm.text.file_contents import MODELS
from dropglm.text.hashed_features import HashedFeatures
from dropglm.text.online_learning import OnlineLearning
from dropglm.text.online_restoring import restore_hashed, restore_online, restored_online_settings
from dropglm.text.online_saving import online_state
from dropglm.text.tokens import WORDS_AND_PUNCTUATION

KIND = "OnlineTextClassifier"


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


@dataclass(eq=False)
class SavedOnlineTextModel(OnlineLearning):
    """A model that learns, predicts and explains like an ``OnlineTextClassifier``, with its settings.

    It comes from a file, or is trained by a command.
    """

    rule: Any = "adagrad"
    rate: float | None = None
    l2: float = 0.0
    power: float = 1.0
    average: bool = False
    bits: int | None = 20
    ngram_range: tuple[int, int] = (1, 2)
    lowercase: bool = True
    token_pattern: Any = WORDS_AND_PUNCTUATION
    strip_html: bool = True
    epochs: int = 5
    shuffle: bool = True
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def get_params(self) -> dict[str, Any]:
        """Return the settings."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, as ``OnlineTextClassifier.save`` does."""
        model_files.write(path, KIND, self._to_state(), MODELS[KIND])

    def _to_state(self) -> dict[str, Any]:
        return online_state(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the model from what a file holds."""
        settings = restored_online_settings(state)
        classifier = cls(**_shared(settings, cls))
        features: Any
        if settings["bits"] is None:
            # Imported here, since they take longer than what hashed n-grams need.
            from dropglm.text.restoring import restore_features
            from dropglm.text.saved_model import SavedFeatures

            features = SavedFeatures.with_settings(state["vectorizer"])
            restore_features(features, state)
        else:
            features = SavedHashedFeatures(**_shared(settings, SavedHashedFeatures))
            restore_hashed(features, state)
        restore_online(classifier, classifier._model_with_current_settings(), features, state)
        return classifier._restore_columns(state)

    def _new_hasher(self) -> SavedHashedFeatures:
        hasher = SavedHashedFeatures(**_shared(self.get_params(), SavedHashedFeatures))
        hasher._forget_names()
        return hasher

    def _model_with_current_settings(self) -> SavedOnlineModel:
        model = SavedOnlineModel(**_shared(self.get_params(), SavedOnlineModel))
        model._checked_rule()
        return model


def _shared(settings: dict[str, Any], kind: Any) -> dict[str, Any]:
    """Return those of the settings of a classifier that this class also has."""
    return {field.name: settings[field.name] for field in fields(kind) if field.name in settings}
