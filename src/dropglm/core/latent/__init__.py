"""Latent features: the first singular vectors of a large sparse matrix, and rows in their coordinates."""

from dropglm.core.latent.decomposition import SingularVectors, singular_vectors
from dropglm.core.latent.features import LatentFeatures

__all__ = ["LatentFeatures", "SingularVectors", "singular_vectors"]
