"""Tags for the tokens of sentences: conditional random fields, their features, files and scores.

``tagger`` has the estimator, ``model`` the fitted model, which predicts, explains and is written to files
without scikit-learn, ``features`` what turns sentences into rows, ``metrics`` entities and their scores, and
``files`` sentences in files.
"""

from typing import TYPE_CHECKING

from dropglm.base.imports import lazy_names

if TYPE_CHECKING:
    from dropglm.sequences.features import word_features
    from dropglm.sequences.metrics import EntityScores, entities, entity_scores
    from dropglm.sequences.model import TagExplanation
    from dropglm.sequences.tagger import SequenceTagger

__all__ = [
    "EntityScores",
    "SequenceTagger",
    "TagExplanation",
    "entities",
    "entity_scores",
    "word_features",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "features": ("word_features",),
        "metrics": ("EntityScores", "entities", "entity_scores"),
        "model": ("TagExplanation",),
        "tagger": ("SequenceTagger",),
    },
)
