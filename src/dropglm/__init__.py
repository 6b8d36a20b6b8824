"""Generalized linear models with dropout and other feature noise integrated out."""

from typing import TYPE_CHECKING, Any

from dropglm.lazy import lazy_names

if TYPE_CHECKING:
    from dropglm.blocks import Blocks, PerBlock
    from dropglm.datasets import load_dataset
    from dropglm.estimators import (
        BlockTransformer,
        LinearRegression,
        LogisticRegression,
        LogisticRegressionCV,
        OnlineLogisticRegression,
        PoissonRegressor,
    )
    from dropglm.latent import LatentFeatures
    from dropglm.noising import noising_penalty
    from dropglm.text import (
        NgramHasher,
        NgramVectorizer,
        OnlineTextClassifier,
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
        "baselines": (),
        "dask": (),
        "blocks": ("Blocks", "PerBlock"),
        "datasets": ("load_dataset",),
        "estimators": (
            "BlockTransformer",
            "LinearRegression",
            "LogisticRegression",
            "LogisticRegressionCV",
            "OnlineLogisticRegression",
            "PoissonRegressor",
        ),
        "exports": (),
        "labelling": (),
        "latent": ("LatentFeatures",),
        "noising": ("noising_penalty",),
        "partitions": (),
        "plots": (),
        "text": (
            "NgramHasher",
            "NgramVectorizer",
            "OnlineTextClassifier",
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
