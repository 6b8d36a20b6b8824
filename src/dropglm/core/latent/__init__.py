"""The first singular vectors of a large sparse matrix, which are the axes of latent features."""

from dropglm.core.latent.decomposition import SingularVectors, singular_vectors

__all__ = ["SingularVectors", "singular_vectors"]
