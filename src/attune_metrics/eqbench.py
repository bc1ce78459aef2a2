"""EQ-Bench v2: how near a model's intensities of a character's emotions come to the reference.

Conventions
-----------
A question is a dialogue and four emotions of one character, each with a reference intensity from 0 to 10. A model rates
them twice in one answer, in a first pass and revised after a critique. An answer is parseable where its emotions are
exactly the emotions of the reference, by spelling. A run asks every question once [1]_, [2]_.

References
----------
.. [1] Paech (2023), EQ-Bench: An Emotional Intelligence Benchmark for Large Language Models, arXiv:2312.06281.
.. [2] EQ-Bench v2, repository EQ-bench/EQ-Bench: intensities on the full scale, published code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, fsum, inf, isnan, nan
from types import MappingProxyType
from typing import Literal

from attune_metrics.metric import Metric, MetricInputError, check_mapping, check_number, warn_undefined

CONSTANTS: Mapping[str, float] = MappingProxyType({"repository": 0.7477})
"""By the name of a protocol, what the sum of the scaled differences is multiplied by; the repository publishes one."""


def eqbench_score(
    reference: Mapping[str, float], predicted: Mapping[str, float], *, protocol: str = "repository"
) -> float:
    """Nearness of the intensities that a model rates to the reference, over the emotions of a question.

    This is ``10 - 0.7477 * sum(scaled(abs(predicted - reference)))``, where ``scaled(d)`` is 0 for
    ``d = 0``, ``6.5 / (1 + exp(-1.2 * (d - 4)))`` for ``d <= 5``, and ``d`` beyond.

    Parameters
    ----------
    reference : mapping of str to float
        Intensity of each of four emotions, 0 to 10.
    predicted : mapping of str to float
        As the model rates them, 0 or more; the published code scores more than 10 too.
    protocol : {"repository"}
        The constant, 0.7477 in the published code.

    Returns
    -------
    float
        At most 10, higher is better; unbounded below, and -19.908 at the least for intensities up to 10. nan, with
        `UndefinedMetricWarning`, where the answer is not parseable.

    Raises
    ------
    MetricInputError
        If an argument is no mapping of texts to numbers in range, the reference has not four emotions, or there is no
        such protocol.

    Examples
    --------
    >>> reference = {"Annoyed": 7, "Indifferent": 6, "Remorseful": 0, "Tender": 0}
    >>> eqbench_score(reference, {"Annoyed": 7, "Indifferent": 0, "Remorseful": 0, "Tender": 0})  # 10 - 0.7477 * 6
    5.5138
    """
    if protocol not in CONSTANTS:
        raise MetricInputError(f"unknown protocol {protocol!r}; known: {', '.join(CONSTANTS)}")
    expected, given = _intensities(reference, "reference", 10), _intensities(predicted, "predicted", inf)
    if len(expected) != 4:
        raise MetricInputError(f"the reference has {len(expected)} emotions; expected 4")
    if given.keys() != expected.keys():
        found = ", ".join(given) or "no emotions"
        warn_undefined("eqbench_score", f"the answer has {found}, not {', '.join(expected)}")
        return nan
    return 10 - CONSTANTS[protocol] * fsum(_scaled(abs(given[name] - expected[name])) for name in expected)


def _intensities(value: object, name: str, high: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for emotion, intensity in check_mapping(value, name, "of emotions to intensities").items():
        if not isinstance(emotion, str):
            raise MetricInputError(f"{name} has the emotion {emotion!r:.60}; expected a text")
        found[emotion] = check_number(intensity, name, 0, high)
    return found


def _scaled(difference: float) -> float:
    if difference == 0:
        return 0.0
    return 6.5 / (1 + exp(-1.2 * (difference - 4))) if difference <= 5 else difference


@dataclass(frozen=True, slots=True)
class EQBenchRun:
    """A run: ten times the mean of the pass that counts, and the larger number of parseable answers of both passes."""

    score: float
    counts: Literal["first_pass", "revised"]
    parseable: int


def score_run(first_pass: Sequence[float], revised: Sequence[float]) -> EQBenchRun:
    """Score a run from the scores of its questions, nan where an answer is not parseable; the input is not checked.

    The revised pass counts if its mean is at least the first's and it has at least 95% as many parseable answers,
    or where the first has none.

    Examples
    --------
    >>> score_run([4.0, 6.0], [5.0, 7.0])
    EQBenchRun(score=60.0, counts='revised', parseable=2)
    """
    first, second = ([score for score in scores if not isnan(score)] for scores in (first_pass, revised))
    before, after = (10 * fsum(scores) / len(scores) if scores else nan for scores in (first, second))
    parseable = max(len(first), len(second))
    if (second and not first) or (after >= before and len(second) >= 0.95 * len(first)):
        return EQBenchRun(after, "revised", parseable)
    return EQBenchRun(before, "first_pass", parseable)


def score_runs(runs: Sequence[EQBenchRun], questions: int) -> float:
    """Score a model: the mean of its runs, each of so many `questions`, 171 as published; the input is not checked.

    Returns
    -------
    float
        At most 100, higher is better. nan where the benchmark is failed, that is where the parseable answers of a run
        are on average fewer than 83% of the questions, or where a run has none.

    Examples
    --------
    >>> score_runs([score_run([4.0, 6.0], []), score_run([5.0, 7.0], [])], 2)
    55.0
    """
    if sum(run.parseable for run in runs) / (len(runs) * questions) < 0.83:
        return nan
    return fsum(run.score for run in runs) / len(runs)


_SOURCE = "EQ-Bench v2 (arXiv:2312.06281), repository EQ-bench/EQ-Bench"
_entry = partial(Metric, high=10, scale=10, digits=2, nullable=True, family="eqbench")
_share = partial(Metric, low=0, high=1, scale=100, digits=1, family="eqbench")

METRICS: tuple[Metric, ...] = (
    _entry("eqbench_score", "EQ-Bench score", function=eqbench_score, source=_SOURCE),
    _entry("eqbench_first_pass", "First pass", source=f"eqbench_score of the first pass; {_SOURCE}"),
    _entry("eqbench_revised", "Revised", source=f"eqbench_score of the revised pass; {_SOURCE}"),
    _share("eqbench_parseable", "Parseable", source=f"Share of answers in the pass that counts; {_SOURCE}"),
)
"""The catalogue's entries of this module."""
