"""Generalized linear models with dropout and other feature noise integrated out."""

from typing import TYPE_CHECKING, Any

from dropglm.base.imports import lazy_names

if TYPE_CHECKING:
    from dropglm.base.blocks import Blocks, PerBlock
    from dropglm.core.settings import noising_penalty
    from dropglm.datasets import load_dataset
    from dropglm.linear import (
        BlockTransformer,
        LatentFeatures,
        LinearRegression,
        LogisticRegression,
        OnlineLogisticRegression,
        PoissonRegressor,
    )
    from dropglm.search import LogisticRegressionCV
    from dropglm.sequences import SequenceTagger
    from dropglm.text import (
        NgramHasher,
        NgramVectorizer,
        OnlineTextClassifier,
        TableClassifier,
        TextClassifier,
        load_model,
        save_model,
    )

__version__: str

__all__ = [
    "BlockTransformer",
    "Blocks",
    "LatentFeatures",
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "NgramHasher",
    "NgramVectorizer",
    "OnlineLogisticRegression",
    "OnlineTextClassifier",
    "PerBlock",
    "PoissonRegressor",
    "SequenceTagger",
    "TableClassifier",
    "TextClassifier",
    "__version__",
    "load_dataset",
    "load_model",
    "noising_penalty",
    "save_model",
]

# Imported when first asked for: the command's help and the shell's completion need none of them.
_find, __dir__ = lazy_names(
    __name__,
    {
        "base.blocks": ("Blocks", "PerBlock"),
        "baselines": (),
        "core.settings": ("noising_penalty",),
        "dask": (),
        "datasets": ("load_dataset",),
        "exports": (),
        "labelling": (),
        "linear": (
            "BlockTransformer",
            "LatentFeatures",
            "LinearRegression",
            "LogisticRegression",
            "OnlineLogisticRegression",
            "PoissonRegressor",
        ),
        "places": (),
        "plots": (),
        "search": ("LogisticRegressionCV",),
        "sequences": ("SequenceTagger",),
        "text": (
            "NgramHasher",
            "NgramVectorizer",
            "OnlineTextClassifier",
            "TableClassifier",
            "TextClassifier",
            "load_model",
            "save_model",
        ),
    },
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # takes as long to import as NumPy

        return version("dropglm")
    return _find(name)
