"""The order of the gallery, and what happens before each example."""

from typing import Any

ORDER = [
    *("unlabelled_texts", "compare_with_rivals", "explain_prediction", "words_of_classes"),
    *("trust_probabilities", "wrong_labels", "what_to_label_next", "text_and_numbers"),
    *("embeddings_beside_words", "related_words", "learn_from_stream", "which_settings"),
    *("has_it_converged", "missing_at_prediction", "dropout_for_regression", "dropout_training"),
    "shape_of_penalty",
]


class Order:
    """Sort key of examples: their place in ``ORDER``; those that it does not list come last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> int:
        """Return the place of an example."""
        name = file.removesuffix(".py")
        return ORDER.index(name) if name in ORDER else len(ORDER)


def clean_up(gallery: dict[str, Any], file: str) -> None:
    """Forget settings of scikit-learn that an example has changed."""
    import sklearn

    sklearn.set_config(enable_metadata_routing=False)
