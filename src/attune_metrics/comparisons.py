"""Metrics of comparisons in pairs: a rating fitted to all verdicts, and the share of comparisons that a model won."""

from math import inf

from attune_metrics.metric import Metric

WIN_RATE = Metric(
    name="win_rate",
    label="Win rate",
    short="wins",
    low=0,
    high=1,
    scale=100,
    digits=1,
    group="Comparisons",
    family="comparisons",
    source="wins and half of the ties per comparison of the model, whoever the opponents are",
)

RATING = Metric(
    name="rating",
    label="Rating",
    short="rating",
    low=-inf,
    high=inf,
    digits=0,
    statistic="pseudo_values",
    group="Comparisons",
    family="comparisons",
    source="strength by Bradley and Terry (1952), in points of Elo: 400 for odds of 10 to 1, 1000 for the mean model",
)

METRICS: tuple[Metric, ...] = (RATING, WIN_RATE)
