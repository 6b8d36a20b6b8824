"""The final fit of a search: its best settings on all rows, with what held-out rows say about them."""

from typing import Any

import numpy as np

from dropglm.estimators.choice import beyond_edge
from dropglm.estimators.cv_results import results_table
from dropglm.estimators.fold_fits import FoldFits
from dropglm.estimators.held_out import HeldOut
from dropglm.estimators.logistic import LogisticRegression
from dropglm.estimators.model_search import Searched
from dropglm.estimators.paths import Fit
from dropglm.estimators.rounds import Member, Round, Rounds
from dropglm.estimators.search import Search
from dropglm.gpu_arrays import like, to_host
from dropglm.progress import Progress


def fit_best(estimator: Any, searched: Searched) -> None:
    """Fit the best settings of a search to all rows, and set all fitted attributes of its estimator."""
    search, best = searched.search, searched.best
    assert best is not None
    chosen, results = search.grid[best], results_table(search, best)
    data, features, held_out = search.fits.data, search.fits.features, search.held_out

    # Fit the best settings to all rows, and blend.
    problems = search.fits.problems(chosen.l2_weights)
    model = best_model(estimator, chosen.params, joint=problems[0].family.several)
    model._solve(problems, chosen.penalty, problems[0].features, data, search.solver)
    _, blend, eta, best_scores, _ = search.outcomes[best]
    if estimator.calibrate or estimator.naive_bayes:
        ratios = features.expand(held_out.naive_bayes_ratios(data.weights)) if estimator.naive_bayes else None
        blend.apply_to(model, ratios)

    # Blend in naive Bayes of the unlabelled rows, with predicted labels.
    rounds: list[Round] = []
    if searched.counts_predicted and 0 not in chosen.l2_weights.left_out:
        with Progress("Rounds of naive Bayes", shown=bool(estimator.verbose)):
            X_unlabeled = to_host(data.X_unlabeled)
            predictors = _predictors(search, X_unlabeled, best)
            coef = np.ascontiguousarray(to_host(model.coef_).T)
            predictors.append(X_unlabeled @ coef + to_host(model.intercept_))
            rounds = _rounds(search).run(estimator.rounds, eta, predictors)
        for one in rounds:
            one.blend.apply_to(model, like(model.coef_, one.ratios.T))
    if rounds:
        eta = rounds[-1].eta
        best_scores = held_out.scores(eta)

    estimator._set_fitted(
        **fitted_attributes(search, best, model, results),
        best_score_=float(best_scores.mean()),
        best_scores_=best_scores,
        cv_probabilities_=held_out.probabilities(eta),
        rounds_=[one.blend for one in rounds],
        **data.feature_attributes,
    )


def best_model(estimator: Any, params: dict[str, Any], *, joint: bool) -> LogisticRegression:
    """Return a model with the settings of a search and of its best candidate, to be fitted to all rows."""
    shared = LogisticRegression().get_params().keys() & estimator.get_params().keys()
    settings = {name: getattr(estimator, name) for name in shared} | params
    settings |= {"multi_class": "multinomial" if joint else "ovr", "verbose": 0}
    return LogisticRegression(**settings)


def fitted_attributes(
    search: Search[Any, Any], best: int, model: LogisticRegression, results: dict[str, Any]
) -> dict[str, Any]:
    """Return the fitted attributes that do not depend on where the rows are, given ``cv_results_``."""
    scores, params = np.array([outcome.scores for outcome in search.outcomes]), results["params"][best]
    names = ("classes_", "coef_", "intercept_", "n_iter_", "multi_class_", "result_")
    return {
        "best_estimator_": model,
        "best_params_": params,
        "best_index_": best,
        "cv_results_": results,
        "scale_": search.outcomes[best].blend.scale,
        "naive_bayes_": search.outcomes[best].blend.naive_bayes,
        "l2_at_edge_": bool(beyond_edge(search.grid, scores, best)),
        **{f"{name}_": value for name, value in params.items()},
        **{name: getattr(model, name) for name in names},
    }


def _predictors(search: Search[FoldFits, HeldOut], X: Any, number: int) -> list[np.ndarray]:
    """Return the blended predictors of further rows X by the fit of a candidate to every fold."""
    features, held_out = search.fits.features, search.held_out
    blend, kept = search.outcomes[number].blend, features.without(search.grid[number].l2_weights.left_out)

    def one(item: tuple[int, Fit]) -> np.ndarray:
        fold, fit = item
        beta, intercept = fit.coefficients
        r = held_out.naive_bayes_ratios(search.fits.weights(fold)) if held_out.naive_bayes else None
        coef = to_host(blend(kept.expand(beta), None if r is None else features.expand(r)))
        return X @ np.ascontiguousarray(coef.T, X.dtype) + blend.scale * intercept

    return features.each(one, list(enumerate(search.outcomes[number].fits)))


def _rounds(search: Search[FoldFits, HeldOut]) -> Rounds:
    """Return the rounds that follow a search with unlabelled rows."""
    data, held_out = search.fits.data, search.held_out
    assert data.unlabeled_weights is not None
    folds = [Member(fold.times * data.weights, fold.test) for fold in search.fits.folds]
    return Rounds(
        to_host(data.X),
        to_host(data.X_unlabeled),
        data.y,
        len(data.classes),
        [*folds, Member(data.weights, held_out.rows[:0])],
        data.unlabeled_weights,
        held_out.weights,
        search.fits.features.threads,
    )
