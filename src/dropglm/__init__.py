"""Generalized linear models with dropout and other feature noise integrated out."""

from importlib.metadata import version

from dropglm.noising import noising_penalty

__version__ = version("dropglm")

__all__ = ["__version__", "noising_penalty"]
