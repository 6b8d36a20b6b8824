"""Unbiased noise on the features: its effect on the predictor's variance, and a sampler.

``NOISES`` lists the kinds of noise; ``Together`` combines independent ones, ``NoiseByBlock`` has one
per block of the features.
"""

from dropglm.noise.base import Noise
from dropglm.noise.by_block import NoiseByBlock
from dropglm.noise.dropout import Dropout
from dropglm.noise.gaussian import Gaussian
from dropglm.noise.together import NO_NOISE, Together

NOISES: dict[str, type[Noise]] = {"dropout": Dropout, "gaussian": Gaussian}

__all__ = ["NOISES", "NO_NOISE", "Dropout", "Gaussian", "Noise", "NoiseByBlock", "Together"]
