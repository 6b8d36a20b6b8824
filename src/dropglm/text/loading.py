"""Models of texts from files, whichever kind they are."""

from os import PathLike

from dropglm import model_files
from dropglm.text.classifier import TextClassifier
from dropglm.text.model import TextModel, opened
from dropglm.text.online_classifier import OnlineTextClassifier

MODELS: dict[str, type[TextModel]] = {
    "OnlineTextClassifier": OnlineTextClassifier,
    "TextClassifier": TextClassifier,
}


def load_model(path: str | PathLike[str]) -> TextModel:
    """The model that ``save`` wrote, of either kind."""
    kind, state = model_files.read(path, *MODELS)
    return opened(MODELS[kind], path, state)
