"""Model files of text classifiers, read as estimators."""

from os import PathLike
from typing import Any

from dropglm import model_files
from dropglm.errors import InputTypeError
from dropglm.text.classifier import TextClassifier
from dropglm.text.file_contents import MODELS
from dropglm.text.model import TextModel
from dropglm.text.online_classifier import OnlineTextClassifier

CLASSES: dict[str, type[TextModel]] = {
    "OnlineTextClassifier": OnlineTextClassifier,
    "TextClassifier": TextClassifier,
}


def load_model(path: str | PathLike[str], embedder: Any = None, *, trust: bool = False) -> TextModel:
    """Read a text model from a file. Model files from untrusted sources are safe to open.

    Parameters
    ----------
    path : str or path-like
        A file that ``save_model``, ``TextClassifier.save`` or ``OnlineTextClassifier.save`` wrote.
    embedder : callable or object with a method ``encode``, default=None
        The embedder that the model was trained with, since files do not contain it. You can also set it
        later, with ``set_params(embedder=...)``, or pass embeddings to ``predict``.
    trust : bool, default=False
        Whether to open a file that is safe only if you trust its author: one whose ``token_pattern`` is more
        than classes of characters and their repetition, which can take any time to find in a text, or one
        that needs far more memory than its own size.

    Returns
    -------
    TextClassifier or OnlineTextClassifier
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a dropglm model file, needs trust, or was written by another version.
    ValueError
        If the model was trained with another embedder, or without embeddings.

    See Also
    --------
    save_model : Write a model file.

    Examples
    --------
    >>> import tempfile
    >>> from dropglm import TextClassifier, load_model, save_model
    >>> model = TextClassifier(tune=False).fit(["so lovely", "so dull"], ["good", "bad"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.skops")
    ...     load_model(f"{folder}/model.skops").predict(["lovely"])
    array(['good'], dtype='<U4')
    """
    kind, state = model_files.read(path, MODELS, trust=trust)
    with model_files.reporting_damage(path):
        model = CLASSES[kind]._from_state(state)
    return model if embedder is None else model._with_embedder(embedder)


def save_model(model: TextModel, path: str | PathLike[str]) -> None:
    """Write a fitted text model to a file that contains data only, no code.

    Parameters
    ----------
    model : TextClassifier or OnlineTextClassifier
        A fitted model.
    path : str or path-like
        The file is replaced in one step: if writing fails, the old file is left unchanged.

    Raises
    ------
    TypeError
        If the model is not a text model, or if a setting is an object that no number or name stands for, such
        as your own noise or update rule, since files do not contain code; use joblib.

    See Also
    --------
    load_model : Read a model file.

    Notes
    -----
    A cross-validation splitter, a scorer given as a function and a random generator are not saved. If the
    loaded model is fitted again, it uses the default folds, accuracy and a new random seed instead.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from dropglm import TextClassifier, load_model, save_model
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.skops"
    ...     save_model(model, path)
    ...     load_model(path).predict(["a good story"])
    array(['pos'], dtype='<U3')
    """
    if not isinstance(model, TextModel):
        raise InputTypeError(
            f"model must be a TextClassifier or an OnlineTextClassifier, got {type(model).__name__}; use "
            "skops or joblib for other estimators."
        )
    model.save(path)
