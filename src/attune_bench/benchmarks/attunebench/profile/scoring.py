"""How well profiles were predicted, beside what a constant guess would reach."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from statistics import fmean, median
from textwrap import fill
from typing import Any

from attune_bench.benchmarks.attunebench.profile.asking import CHOICES, LISTS, SCORES, ProfilePrediction, profile_values
from attune_bench.report.columns import UNDEFINED
from attune_data import Conversation
from attune_data.text import WIDTH, grid
from attune_metrics.attunebench.preferences import jaccard

__all__ = ["TraitScore", "profile_table", "read_predictions", "score_profiles"]

_LEGEND = (
    "Told, predicted: conversations whose participant told the trait, and of these those with a prediction, over "
    "which the score is the mean. Accuracy and jaccard (the share of two lists that they have in common): from 0 to "
    "1, higher is better. mae, mean absolute error in points of the questionnaire: lower is better. Constant guess: "
    "the score of the most frequent value, or of the median, guessed for everybody; a model that does not beat it has "
    "read nothing from the conversations."
)


@dataclass(frozen=True, slots=True)
class TraitScore:
    """One trait over all participants who told it.

    Attributes
    ----------
    trait, measure : str
        What was predicted; ``accuracy`` and ``jaccard`` are better when higher, ``mae`` when lower.
    n, answered : int
        Conversations with the trait, and of these those with a prediction.
    score : float
        Mean over those with a prediction; nan where there is none.
    constant : float
        The same of the best constant guess on the same conversations: the most frequent value, or the median.
    """

    trait: str
    measure: str
    n: int
    answered: int
    score: float
    constant: float


def read_predictions(folder: Path, model: str) -> list[ProfilePrediction]:
    """Read the predictions of a model from a folder that `profile` wrote."""
    found = [json.loads(path.read_bytes()) for path in sorted(folder.glob("_profile_*.json"))]
    return [ProfilePrediction.model_validate(content) for content in found if content.get("em_model") == model]


def score_profiles(conversations: Iterable[Conversation], predictions: Iterable[ProfilePrediction]) -> list[TraitScore]:
    """Score predictions trait by trait.

    Parameters
    ----------
    conversations : iterable of Conversation
        With the profiles of their participants.
    predictions : iterable of ProfilePrediction
        Of one model.

    Returns
    -------
    list of TraitScore
        Those of traits that somebody told. A prediction that is missing does not count as wrong, see `answered`.

    Examples
    --------
    >>> from attune_data import load
    >>> first, second = load("demo")[:2]
    >>> said = {"gender": first.participant_profile.demographics.gender}
    >>> predictions = [ProfilePrediction(conversation_id=first.id, em_model="m", predicted=said)]
    >>> [(one.n, one.answered, one.score) for one in score_profiles([first, second], predictions) if one.answered]
    [(2, 1, 1.0)]
    """
    predicted = {one.conversation_id: one.predicted for one in predictions}
    known = {conversation.id: profile_values(conversation) for conversation in conversations}
    scores = []
    for trait in (*CHOICES, *LISTS, *SCORES):
        told = {name: values[trait] for name, values in known.items() if trait in values}
        pairs = [(told[name], predicted[name][trait]) for name in told if trait in predicted.get(name, {})]
        if told:
            scores.append(_score(trait, len(told), pairs))
    return scores


def _score(trait: str, n: int, pairs: Sequence[tuple[Any, Any]]) -> TraitScore:
    truths = [truth for truth, _ in pairs]
    if trait in SCORES:
        middle = median(truths) if truths else nan
        of, measure = [abs(truth - guess) for truth, guess in pairs], "mae"
        constant = [abs(truth - middle) for truth in truths]
    elif trait in LISTS:
        usual = Counter(map(frozenset, truths)).most_common(1)[0][0] if truths else frozenset()
        of, measure = [jaccard(frozenset(truth), frozenset(guess)) for truth, guess in pairs], "jaccard"
        constant = [jaccard(frozenset(truth), usual) for truth in truths]
    else:
        most = Counter(truths).most_common(1)[0][0] if truths else None
        of, measure = [float(truth == guess) for truth, guess in pairs], "accuracy"
        constant = [float(truth == most) for truth in truths]
    return TraitScore(trait, measure, n, len(pairs), _mean(of), _mean(constant))


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else nan


def profile_table(scores: Sequence[TraitScore], columns: int = WIDTH) -> str:
    """Return scores as a table for a terminal of some width, and what its columns mean."""
    head = ["trait", "measure", "told", "predicted", "score", "constant guess"]
    rows = [
        [one.trait, one.measure, str(one.n), str(one.answered), _shown(one.score), _shown(one.constant)]
        for one in scores
    ]
    undefined = f" {UNDEFINED}: no prediction." if any(isnan(one.score) for one in scores) else ""
    return f"{grid(head, rows)}\n\n{fill(f'{_LEGEND}{undefined}', columns)}"


def _shown(value: float) -> str:
    return UNDEFINED if isnan(value) else f"{value:.3f}"
