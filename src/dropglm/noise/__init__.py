"""Unbiased noise on the features: its effect on the predictor's variance, and a sampler.

``NOISES`` lists the kinds of noise; ``Together`` combines independent ones.
"""

from dropglm.noise.base import Noise
from dropglm.noise.dropout import Dropout
from dropglm.noise.gaussian import Gaussian
from dropglm.noise.together import Together

NOISES: dict[str, type[Noise]] = {"dropout": Dropout, "gaussian": Gaussian}

__all__ = ["NOISES", "Dropout", "Gaussian", "Noise", "Together"]
