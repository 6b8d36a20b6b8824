"""A scikit-learn pipeline behind the service of ``dropglm serve``: only the model differs.

python -m benchmarks.sklearn_service pipeline.joblib
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from dropglm.text.fitted_model import FittedTextModel


def train(texts: Sequence[str], y: Sequence[str], path: Path) -> None:
    """Fit tf-idf of words and pairs of words with logistic regression, and store the pipeline."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1000))
    joblib.dump(pipeline.fit(texts, y), path)


class PipelineModel(FittedTextModel):
    """What the service needs of a model; its ``model`` is the pipeline."""

    def predict_proba(self, X: Iterable[str], embeddings: Any = None) -> np.ndarray:
        """Return the probability of each class."""
        return self.model.predict_proba(X)


def main() -> None:
    from dropglm.web.application import application
    from dropglm.web.running import address_of, listen, run
    from dropglm.web.serving import TextService

    model = PipelineModel(None, joblib.load(sys.argv[1]))
    with listen(port=0) as listener:
        print(f"serving on {address_of(listener, '127.0.0.1')}", file=sys.stderr, flush=True)
        run(application(TextService(model, "pipeline").routes()), listener)


if __name__ == "__main__":
    main()
