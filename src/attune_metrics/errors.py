"""What a metric says when it cannot give a number."""

__all__ = ["MetricInputError", "UndefinedMetricWarning", "UnreliableIntervalWarning"]


class MetricInputError(ValueError):
    """The input breaks the metric's contract; the message names the value and guesses the mistake."""


class UndefinedMetricWarning(UserWarning):
    """The metric has no value for this input and returned nan."""


class UnreliableIntervalWarning(UserWarning):
    """The interval was computed, but of such data it covers the truth far less often than its level says."""
