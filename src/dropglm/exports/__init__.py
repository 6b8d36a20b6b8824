"""Models for other programs: scikit-learn, ONNX and JSON; and model cards."""

from typing import TYPE_CHECKING

from dropglm.base.imports import lazy_names

if TYPE_CHECKING:
    from dropglm.exports.card import model_card
    from dropglm.exports.json_file import write_json
    from dropglm.exports.onnx_file import write_onnx
    from dropglm.exports.sklearn_file import write_sklearn

__all__ = ["model_card", "write_json", "write_onnx", "write_sklearn"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "card": ("model_card",),
        "json_file": ("write_json",),
        "onnx_file": ("write_onnx",),
        "sklearn_file": ("write_sklearn",),
    },
)
