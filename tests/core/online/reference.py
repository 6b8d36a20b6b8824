"""A second implementation of the rules: dense, in plain Python, from their equations."""

import numpy as np

from dropglm.core.online import AdaGrad, Arow, DropoutDescent, Sgd

RULES = [
    Sgd(0.7),
    AdaGrad(0.4, 0.1),
    DropoutDescent(0.8, 0.05),
    DropoutDescent(0.8, 0.5, 0.5),
    Arow(1.0, 2.0),
]


def sigmoid(eta):
    return 1.0 / (1.0 + np.exp(-eta))


class Reference:
    """A learner that updates all coefficients in every step; the last one is the intercept."""

    def __init__(self, rule, d, l2, intercept=1.0):
        self.rule, self.l2, self.intercept = rule, l2, intercept
        self.beta, self.sums, self.t = np.zeros(d + 1), np.zeros(d + 1), 0
        self.betas, self.squares = [], 0.0

    def metric(self):
        rule = self.rule
        if isinstance(rule, Sgd):
            return np.full_like(self.sums, np.sqrt(self.t))
        sums = np.where(
            self.sums > 0, self.sums, 1.0
        )  # the value does not matter for features that have not occurred
        if isinstance(rule, AdaGrad):
            return np.sqrt(sums)
        return sums if isinstance(rule, Arow) else sums**rule.power

    def initial_sum(self, c2):
        rule = self.rule
        if isinstance(rule, Sgd):
            return 0.0
        return rule.initial * c2 if isinstance(rule, DropoutDescent) and rule.power == 1 else rule.initial

    def l2_per_coefficient(self):
        return np.append(np.full(len(self.beta) - 1, self.l2), 0.0)

    def step(self, x, y, w=1.0):
        """Take a step; return the metric and the scaled gradient that it used."""
        if w == 0:
            return None
        self.t += 1
        self.squares += x @ x + 1.0
        x = np.append(x, self.intercept)
        c2 = self.squares / self.t
        new = (self.sums == 0) & (x != 0)
        self.sums[new] = self.initial_sum(c2)
        eta = x @ self.beta
        if isinstance(self.rule, Arow):
            A, sign = self.metric(), 2 * y - 1
            loss = max(0.0, 1.0 - sign * eta)
            g = -w * sign * loss / (self.rule.r + w * (x @ (x / A))) * x
            self.sums += np.where(g != 0, w * x * x / self.rule.r, 0.0)
            scaled = g
        else:
            p = sigmoid(eta)
            g = w * (p - y) * x
            self.sums += g * g if isinstance(self.rule, AdaGrad) else w * p * (1 - p) * x * x
            A = self.metric()
            curvature = isinstance(self.rule, DropoutDescent) and self.rule.power == 1
            scaled = g if curvature else g / np.sqrt(c2)
        self.beta = (A * self.beta - self.rule.rate * scaled) / (
            A + self.rule.rate * self.l2_per_coefficient()
        )
        self.betas.append(self.beta)
        return A, scaled
