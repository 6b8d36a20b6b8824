"""Latent features: the first singular vectors of a large sparse matrix, and rows in their coordinates."""

from dropglm.latent.features import LatentFeatures
from dropglm.latent.singular_vectors import SingularVectors, singular_vectors

__all__ = ["LatentFeatures", "SingularVectors", "singular_vectors"]
