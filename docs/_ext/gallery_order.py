"""The order of the gallery, and what happens before each example."""

from typing import Any

ORDER = ["dropout_training"]


class Order:
    """Sort key of examples: their place in ``ORDER``, which lists all of them."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> int:
        """Return the place of an example."""
        return ORDER.index(file.removesuffix(".py"))


def clean_up(gallery: dict[str, Any], file: str) -> None:
    """Forget settings of scikit-learn that an example has changed."""
    import sklearn

    sklearn.set_config(enable_metadata_routing=False)
