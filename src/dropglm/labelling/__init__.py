"""Labelling texts: what to label next, how accurate the model is so far, and which labels look wrong."""

from typing import TYPE_CHECKING

from dropglm.base.imports import lazy_names

if TYPE_CHECKING:
    from dropglm.labelling.journal import Journal, JournalError
    from dropglm.labelling.panels import AccuracyEstimate, estimate_accuracy, labels_for_one_point
    from dropglm.labelling.pool import PoolModel, TextPool, choose_texts, suspicious
    from dropglm.labelling.session import LabellingSession

__all__ = [
    "AccuracyEstimate",
    "Journal",
    "JournalError",
    "LabellingSession",
    "PoolModel",
    "TextPool",
    "choose_texts",
    "estimate_accuracy",
    "labels_for_one_point",
    "suspicious",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "panels": ("AccuracyEstimate", "estimate_accuracy", "labels_for_one_point"),
        "pool": ("PoolModel", "TextPool", "choose_texts", "suspicious"),
        "journal": ("Journal", "JournalError"),
        "session": ("LabellingSession",),
    },
)
