"""What the exact penalties share: the noises they know."""

from dropglm.noise import Dropout, Gaussian, Noise


def dropout_rate(noise: Noise) -> float:
    """δ of the noise's dropout part, 0 if it has none; additive Gaussian noise may come with it.

    Any other noise is refused: the exact penalties do not know its distribution.
    """
    delta = 0.0
    for part in noise.parts:
        if isinstance(part, Dropout):
            delta = part.delta
        elif not isinstance(part, Gaussian):
            raise ValueError(
                f"No exact penalty is known for {type(part).__name__} noise; use expectation 'monte_carlo'."
            )
    return delta
