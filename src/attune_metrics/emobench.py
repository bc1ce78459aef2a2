"""EmoBench: whether a model's most frequent answer to a question of several choices is the right one.

Conventions
-----------
An answer is the place of a choice among those shown, from 0; -1 where it cannot be read; None where it is missing. A
part is one question of an item: emotion and cause of EU, the answer of EA. Sabour et al., ACL 2024 (arXiv:2402.12071).
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from attune_metrics.metric import Metric, MetricInputError, check_list, check_whole


def majority_accuracy(labels: Sequence[int], predictions: Sequence[Sequence[int | None]]) -> float:
    """Whether an item is answered right: 1 if the most frequent answer to each of its parts is the right one, else 0.

    Of answers that are equally frequent the first counts, -1 only where there is no other, and None never: a missing
    sample equals no other one. EmoBench's accuracy is the mean over items, and over orders of their choices.

    Parameters
    ----------
    labels : sequence of int
        For each part the place of the right choice, from 0.
    predictions : sequence of sequence of int or None
        For each part the samples, one or more of them not None.

    Returns
    -------
    float
        0 or 1, higher is better.

    Raises
    ------
    MetricInputError
        If labels and predictions have other parts or none, a label or an answer is no place, or a part has no sample.

    Examples
    --------
    Of two orders; in the second the emotion is wrong.

    >>> majority_accuracy([3, 0], [[3, -1, -1], [0, 2, 0]]), majority_accuracy([3, 0], [[1, 3, 1], [0, 0, 0]])
    (1.0, 0.0)
    """
    places = [check_whole(label, "label", 0) for label in check_list(labels, "labels", "places")]
    named = [_majority(samples) for samples in check_list(predictions, "predictions", "samples")]
    if len(places) != len(named) or not places:
        raise MetricInputError(f"{len(places)} labels and samples of {len(named)} parts; expected as many, one or more")
    return float(places == named)


def _majority(samples: object) -> int:
    given = check_list(samples, "samples", "answers")
    counts = Counter(check_whole(one, "answer", -1) for one in given if one is not None)
    if not counts:
        missing = f" but {len(given)} missing (None)" if given else ""
        raise MetricInputError(f"samples has no answer{missing}; expected one or more, -1 for one that cannot be read")
    if len(counts) > 1:
        counts.pop(-1, None)
    return counts.most_common(1)[0][0]  # Equal counts keep the order of their first occurrence.


_SOURCE = "Share of correct answers, the most frequent of each order of choices; EmoBench (arXiv:2402.12071)"
_of = partial(Metric, low=0, high=1, scale=100, digits=1, family="emobench", source=_SOURCE, nullable=True)

METRICS: tuple[Metric, ...] = (
    _of("item_accuracy", "Accuracy", "all"),
    _of("eu_accuracy", "EU accuracy", "EU"),
    _of("ea_accuracy", "EA accuracy", "EA"),
    _of("eu_emotion_accuracy", "EU emotion accuracy", "emotion"),
    _of("eu_cause_accuracy", "EU cause accuracy", "cause"),
)
"""The catalogue's entries of this module; those of EU are undefined for items of EA and the reverse."""
