"""Embedders in local folders, as sentence-transformers and model2vec save them. Nothing is downloaded."""

import json
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from dropglm.errors import InputError, MissingPackageError
from dropglm.text.embeddings import encoder_of


class FolderEmbedder:
    """An embedder that was read from a folder; its name is that of the folder."""

    def __init__(self, name: str, model: Any) -> None:
        self.name, self.model = name, model

    def encode(self, texts: list[str]) -> Any:
        """Return the embeddings of the texts."""
        return encoder_of(self.model)(texts)


def _with_sentence_transformers(folder: str) -> Any:
    return import_module("sentence_transformers").SentenceTransformer(folder, local_files_only=True)


def _with_model2vec(folder: str) -> Any:
    return import_module("model2vec").StaticModel.from_pretrained(folder)


# The modules that can read a folder, and how.
READERS: dict[str, Callable[[str], Any]] = {
    "model2vec": _with_model2vec,
    "sentence_transformers": _with_sentence_transformers,
}


def load_embedder(folder: str | PathLike[str]) -> FolderEmbedder:
    """Read an embedder from a local folder.

    Parameters
    ----------
    folder : str or path-like
        A folder that ``SentenceTransformer.save_pretrained`` or model2vec's ``StaticModel.save_pretrained``
        wrote, or a copy of a repository of such a model.

    Returns
    -------
    FolderEmbedder
        An object with ``encode`` and ``name``.

    Raises
    ------
    ImportError
        If the package that can read the folder is not installed.
    ValueError
        If this is not such a folder.

    Examples
    --------
    >>> load_embedder("no/such/folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dropglm.errors.InputError: no/such/folder is not a folder; name that of a ...
    """
    path = Path(folder)
    kind = "sentence-transformers or model2vec"
    if not path.is_dir():
        raise InputError(f"{path} is not a folder; name that of a {kind} model.")
    modules, config = (_json(path / name) for name in ("modules.json", "config.json"))
    if modules is None and config is None:
        raise InputError(f"{path} has no modules.json or config.json, so it is not a {kind} model.")
    # Both packages can read static models; only sentence-transformers reads others.
    static = "StaticEmbedding" in json.dumps(modules) or "model2vec" in json.dumps(config)
    able = ("model2vec", "sentence_transformers") if static else ("sentence_transformers",)
    installed = [module for module in able if find_spec(module) is not None]
    if not installed:
        first, *others = (module.replace("_", "-") for module in able)
        needed = " or ".join((first, *others))
        raise MissingPackageError(
            f"The embedder {path} needs {needed}; install it with: pip install {first}."
        )
    reader = installed[0]
    try:
        model = READERS[reader](str(path))
    except Exception as error:  # of any type, from a package that we do not know
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(f"{reader} cannot read the embedder {path}: {reason}.") from error
    return FolderEmbedder(path.resolve().name, model)


def _json(path: Path) -> Any:
    """Return the content of a JSON file; None if there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
