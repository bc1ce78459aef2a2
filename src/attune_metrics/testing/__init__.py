"""Check a metric of your own: property-based tests that shrink what breaks it to the smallest input.

`check_metric` calls a metric with random input from a strategy of calls and looks for input that breaks what the metric
declares. The strategies `tags`, `answers`, `ratings` and `texts` draw what people and models answer; any other strategy
of hypothesis [1]_ works too. Hypothesis comes with an extra: ``pip install 'attune-bench[testing]'``.

References
----------
.. [1] MacIver, Hatfield-Dodds (2019), Hypothesis: a new approach to property-based testing, J. Open Source Softw. 4,
   1891.
"""

from attune_metrics.testing.checking import Declared, check_metric
from attune_metrics.testing.strategies import Call, answers, calls, perfect_calls, ratings, tags, texts

__all__ = ["Call", "Declared", "answers", "calls", "check_metric", "perfect_calls", "ratings", "tags", "texts"]
