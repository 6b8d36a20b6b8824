"""Latent features: the first singular vectors of a large sparse matrix, and rows in their coordinates."""

from dropglm.latent.decomposition import SingularVectors, singular_vectors
from dropglm.latent.features import LatentFeatures

__all__ = ["LatentFeatures", "SingularVectors", "singular_vectors"]
