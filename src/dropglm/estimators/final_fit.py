"""The final fit of a search: its best settings on all rows, with what held-out rows say about them."""

from typing import Any

import numpy as np

from dropglm.estimators.choice import beyond_edge
from dropglm.estimators.cv_results import results_table
from dropglm.estimators.logistic import LogisticRegression
from dropglm.estimators.model_search import Searched
from dropglm.estimators.rounds import Round
from dropglm.progress import Progress


def fit_best(estimator: Any, searched: Searched) -> None:
    """Fit the best settings of a search to all rows, and set all fitted attributes of its estimator."""
    search, best = searched.search, searched.best
    assert best is not None
    data, features, held_out = search.fits.data, search.fits.features, search.held_out
    results = results_table(search, best)

    # Fit the best settings to all rows, and blend.
    shared = LogisticRegression().get_params().keys() & estimator.get_params().keys()
    settings = {name: getattr(estimator, name) for name in shared} | results["params"][best]
    settings |= {"multi_class": "multinomial" if searched.joint else "ovr", "verbose": 0}
    model = LogisticRegression(**settings)
    model._one_of_many = True  # the search has compiled what it needs
    model.fit(*searched.rows)
    del model._one_of_many
    _, blend, eta, best_scores, _ = search.outcomes[best]
    if estimator.calibrate or estimator.naive_bayes:
        ratios = features.expand(held_out.naive_bayes_ratios(data.weights)) if estimator.naive_bayes else None
        blend.apply_to(model, ratios)

    # Blend in naive Bayes of the unlabelled rows, with predicted labels.
    rounds: list[Round] = []
    if searched.counts_predicted and 0 not in search.grid[best].l2_weights.left_out:
        with Progress("Rounds of naive Bayes", shown=bool(estimator.verbose)):
            predictors = search.predict(data.X_unlabeled, best)
            coef = np.ascontiguousarray(model.coef_.T)
            predictors.append(data.X_unlabeled @ coef + model.intercept_)
            rounds = search.rounds().run(estimator.rounds, eta, predictors)
        for one in rounds:
            one.blend.apply_to(model, one.ratios.T)
    if rounds:
        eta = rounds[-1].eta
        best_scores = held_out.scores(eta)

    # Store.
    scores = np.array([outcome.scores for outcome in search.outcomes])
    names = ("classes_", "coef_", "intercept_", "n_iter_", "multi_class_", "result_")
    estimator._set_fitted(
        best_estimator_=model,
        best_params_=results["params"][best],
        best_score_=float(best_scores.mean()),
        best_scores_=best_scores,
        best_index_=best,
        cv_results_=results,
        cv_probabilities_=held_out.probabilities(eta),
        scale_=blend.scale,
        naive_bayes_=blend.naive_bayes,
        rounds_=[one.blend for one in rounds],
        l2_at_edge_=bool(beyond_edge(search.grid, scores, best)),
        **{f"{name}_": value for name, value in results["params"][best].items()},
        **{name: getattr(model, name) for name in names},
        **data.feature_attributes,
    )
