"""Pipelines of scikit-learn in files: skops archives, which hold no code, or pickles."""

import pickle
from collections.abc import Callable
from os import PathLike
from pathlib import PurePath
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np

from dropglm.base.files import replacing
from dropglm.base.imports import import_extra
from dropglm.base.registry import lookup
from dropglm.text.fitted_model import AnyTextModel

WIDEST = 1 << 28  # characters of an array in which all n-grams have the width of the longest


def write_sklearn(model: AnyTextModel, path: str | PathLike[str]) -> list[str]:
    """Write a text model as a pipeline of scikit-learn.

    Parameters
    ----------
    model : TextClassifier or OnlineTextClassifier
        A fitted model, without embeddings and hashing.
    path : str or path-like
        The suffix says how: ``.skops`` is a file without code, to be read with ``skops.io.load``; ``.pkl`` is
        a pickle, and whoever opens it runs the code in it.

    Returns
    -------
    list of str
        What the file needs besides scikit-learn: names of functions and classes of dropglm or of yours, which
        are given to ``skops.io.load`` as ``trusted``. Empty for the default settings.

    See Also
    --------
    TextClassifier.to_sklearn : The pipeline itself.
    write_onnx : The same for onnxruntime.
    write_json : The same for other languages.

    Examples
    --------
    >>> import tempfile, pathlib, skops.io
    >>> from dropglm import TextClassifier
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_sklearn(model, pathlib.Path(folder) / "model.skops")
    ...     skops.io.load(pathlib.Path(folder) / "model.skops").predict(["a good story"])
    []
    array(['pos'], dtype='<U3')
    """
    from dropglm.text.sklearn_pipeline import sklearn_pipeline, vectorizers

    dump = lookup(FORMATS, PurePath(path).suffix.lower(), "suffix")
    pipeline = sklearn_pipeline(model._fitted_model())
    content = dump(pipeline)
    with replacing(path) as stream:
        stream.write(content)
    functions = [function for one in vectorizers(pipeline) for function in _functions(one)]
    return list(dict.fromkeys(_name(function) for function in functions if callable(function)))


def _functions(vectorizer: Any) -> list[Any]:
    """Return the settings of a vectorizer that may be functions."""
    settings = vectorizer.get_params()
    functions = [settings[name] for name in ("preprocessor", "strip_accents", "analyzer", "tokenizer")]
    return [*functions, getattr(settings["preprocessor"], "strip_accents", None)]


def _name(function: Any) -> str:
    """Return the full name of a function, or of the class of an object that can be called."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _to_skops(pipeline: Any) -> bytes:
    from dropglm.text.sklearn_pipeline import vectorizers

    skops = import_extra("skops.io", "export", "Files of scikit-learn's models need")
    for vectorizer in vectorizers(pipeline):
        names = vectorizer.vocabulary
        # 200,000 n-grams took 7.5 s as a dictionary, 1.8 s as a list and 0.04 s as an array.
        if len(names) * max(map(len, names)) < WIDEST:
            vectorizer.vocabulary = np.array(names)
        del vectorizer.vocabulary_  # the first text makes it again
    content: bytes = skops.dumps(pipeline, compression=ZIP_DEFLATED)
    return content


def _to_pickle(pipeline: Any) -> bytes:
    return pickle.dumps(pipeline, protocol=pickle.HIGHEST_PROTOCOL)


FORMATS: dict[str, Callable[[Any], bytes]] = {".skops": _to_skops, ".pkl": _to_pickle}
