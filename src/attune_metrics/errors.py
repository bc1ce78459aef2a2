"""What a metric says when it cannot give a number."""

__all__ = [
    "MetricInputError",
    "SkewedScoresWarning",
    "UndefinedMetricWarning",
    "UnknownEmotionWarning",
    "UnreliableIntervalWarning",
]


class MetricInputError(ValueError):
    """The input breaks the metric's contract; the message names the value and guesses the mistake."""


class UndefinedMetricWarning(UserWarning):
    """The metric has no value for this input and returned nan."""


class UnknownEmotionWarning(UserWarning):
    """A word was predicted that is no emotion of the benchmark nor one that the participant named: it can only lose."""


class UnreliableIntervalWarning(UserWarning):
    """The interval was computed, but of such data it covers the truth far less often than its level says."""


class SkewedScoresWarning(UnreliableIntervalWarning):
    """So few far scores decide the number that its interval and its test err more often than they say."""
