"""Answers judged in pairs: a judge sees the answers of two models to one unit, in both orders.

Which answers are judged next follows from the verdicts so far: the answers of the models whose order is least decided.
It ends where the order is decided, or after a number of calls.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from attune_bench.runner.calls import Call, Endpoint
from attune_bench.runner.cost import Meter, RunOptions, RunOutcome, Watch
from attune_bench.runner.running import run
from attune_bench.runner.task import S, Task
from attune_data.collection import Kind
from attune_data.comparisons import Comparison
from attune_data.loading import load_records
from attune_data.record import repeat_suffix

if TYPE_CHECKING:
    from attune_metrics.stats.pairwise import ComparisonFit

PENALTY = 0.1
"""The penalty of the fit that decides what is judged next, with which a model that won everything has a strength."""

_PAIRS, _ANSWERS = 2, 4  # of a round: pairs of models, and answers of each that are judged in both orders


@dataclass(frozen=True)
class Match:
    """The answers of two models to one unit, in the order in which the judge is shown them.

    Attributes
    ----------
    unit : Record
        What both answered.
    first, second : Record
        The results of the two models.
    models : tuple of str
        Their names, which the judge is not told.
    repeat : int
        Which time both were asked.
    """

    unit: Any
    first: Any
    second: Any
    models: tuple[str, str]
    repeat: int = 1

    @cached_property
    def id(self) -> str:
        """The unit, and both models in this order."""
        return f"{self.unit.id}{repeat_suffix(self.repeat)}/{self.models[0]} before {self.models[1]}"

    @property
    def answer(self) -> tuple[str, int]:
        """The id of the unit and the number of the repeat."""
        return self.unit.id, self.repeat

    def to_json(self) -> bytes:
        """Return all that the judge may be shown."""
        return b"\n".join(one.to_json() for one in (self.unit, self.first, self.second))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing(Generic[S]):
    """How a judge compares two answers of a benchmark.

    Attributes
    ----------
    task : Task
        Asks a judge about a `Match` and makes a verdict. The model of its settings is the judge.
    settings : callable
        ``settings(own)`` returns the settings of the task from the settings of the run that made the answers; raises a
        ValueError where they do not name one judge.
    kind : Kind
        The kind of the verdicts.
    comparisons : callable
        Returns of verdicts those that count, as comparisons.
    """

    task: Task[Match, S]
    settings: Callable[[S], S]
    kind: Kind[Any, Any]
    comparisons: Callable[[Iterable[Any]], list[Comparison]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of judging a model in pairs.

    Attributes
    ----------
    outcome : RunOutcome or None
        Of all rounds together; None where nothing was to be judged.
    opponents : tuple of str
        The models that it could be judged against.
    undecided : tuple of str
        Those of them whose order with the model is not decided, the least decided first.
    verdicts : int
        How many verdicts on the model there are.
    is_exhausted : bool
        Whether every answer of the undecided ones was judged in both orders.
    """

    outcome: RunOutcome | None
    opponents: tuple[str, ...]
    undecided: tuple[str, ...]
    verdicts: int
    is_exhausted: bool


def matches_with(
    model: str, units: Iterable[Any], results: Iterable[Any], row: Callable[[Any], tuple[str, str | None, str]]
) -> list[Match]:
    """Return the pairs of answers of a model and every other one, each in both orders.

    Parameters
    ----------
    model : str
        The model.
    units : iterable of Record
        The units; answers to others are left out.
    results : iterable of Record
        The results of any number of models.
    row : callable
        Returns the model, the condition and the unit of a result.
    """
    answers: defaultdict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
    for one in results:
        name, _, unit = row(one)
        answers[unit, getattr(one, "repeat", 1)][name] = one
    known = {unit.id: unit for unit in units}
    found: list[Match] = []
    for (unit, repeat), by_model in answers.items():
        for other in sorted(by_model.keys() - {model}) if model in by_model and unit in known else ():
            orders = (model, other), (other, model)
            found += (Match(known[unit], by_model[one], by_model[two], (one, two), repeat) for one, two in orders)
    return found


async def judge_pairs(
    pairing: Pairing[S],
    matches: Sequence[Match],
    settings: S,
    server: Endpoint,
    *,
    model: str,
    calls: int,
    output: Path,
    options: RunOptions | None = None,
    watch: Watch | None = None,
) -> Judged:
    """Judge a model against others until their order is decided, with at most so many calls.

    Parameters
    ----------
    pairing : Pairing
        How answers are compared.
    matches : sequence of Match
        From `matches_with`.
    settings : RunSettings
        From `Pairing.settings`.
    server : Endpoint
        Where the judge is served.
    model : str
        The model.
    calls : int
        The most verdicts on the model, those from before in the folder included. An answer of the judge that could not
        be read is one, and asking for it again is not.
    output : Path
        Folder of the verdicts, one in a file, and of all responses. The same call goes on from there.
    options, watch
        As of `attune_bench.runner.run`, for each round.

    Returns
    -------
    Judged
        It ends early where a call failed or no answer of the judge could be read.

    Raises
    ------
    RunError, PriceError
        As of `attune_bench.runner.run`.
    """
    task = pairing.task
    matches = [one for one in matches if not task.unusable(one)]
    chosen = [one for one in matches if (output / task.file_name(one, settings)).exists()]
    total, first, outcome = Meter(0, 0, task.unit), None, None
    while True:
        if chosen:
            outcome = await run(task, chosen, settings, server, output=output, options=options, watch=watch)
            first = first or outcome
            total.add(outcome.meter)
        undecided, left = _state(pairing, matches, chosen, settings, model, output)
        stops = outcome is not None and (outcome.skipped or outcome.stopped or outcome.is_unreadable)
        more = [] if stops else [*_next(undecided, left, calls - len(chosen))]
        if not more:
            break
        chosen += more
    if outcome is not None and first is not None:
        outcome = replace(outcome, meter=total, earlier=first.earlier, replaced=first.replaced, extended=first.extended)
    opponents = dict.fromkeys(side for one in matches for side in one.models if side != model)
    exhausted = not any(left[name] for name in undecided)
    return Judged(outcome, tuple(opponents), tuple(undecided), len(chosen), exhausted)


def _state(
    pairing: Pairing[S], matches: Sequence[Match], chosen: Sequence[Match], settings: S, model: str, output: Path
) -> tuple[list[str], dict[str, list[Match]]]:
    """Return the undecided opponents, the least decided first, and by opponent what is not judged."""
    done = {one.id for one in chosen}
    left: dict[str, list[Match]] = {}
    for one in matches:
        [other] = {*one.models} - {model}
        left.setdefault(other, [])
        if one.id not in done:
            left[other].append(one)
    records = load_records(output, pairing.kind) if any(output.glob("[!._]*.json")) else []
    return least_decided(pairing.comparisons(records), model, [*left], judge=settings.model), left


def least_decided(
    comparisons: Iterable[Comparison], model: str, opponents: Sequence[str], *, judge: str | None = None
) -> list[str]:
    """Return the models whose order with a model is not decided, the least decided first.

    Parameters
    ----------
    comparisons : iterable of Comparison
        The verdicts so far, of any models; only verdicts on these models count, and of a named judge.
    model : str
        The model.
    opponents : sequence of str
        The models that it is compared with. Those without a verdict come first, where others have some.
    judge : str, optional
        The judge.

    Examples
    --------
    >>> votes = [Comparison(unit=f"q{n}", a="new", b="old", winner="new") for n in range(30)]
    >>> least_decided(votes, "new", ["old", "other"])
    ['other']
    """
    known = {model, *opponents}
    held = [one for one in comparisons if {one.a, one.b} <= known and (judge is None or one.judge in (judge, None))]
    rated = {side for one in held for side in (one.a, one.b)}
    new = [name for name in opponents if name not in rated]
    if not held:
        return new
    fit = _fit(held)
    from attune_metrics.stats.pair_planning import next_pairs

    pairs = next_pairs(fit, models=[model], n=len(known))
    planned = [str(pair.second if pair.first == model else pair.first) for pair in pairs]
    return [*new, *(name for name in planned if name not in new)]


def _fit(comparisons: Sequence[Comparison]) -> "ComparisonFit":
    from attune_metrics.stats.pairwise import fit_comparisons

    return fit_comparisons(
        [one.a for one in comparisons],
        [one.b for one in comparisons],
        [nan if one.outcome is None else one.outcome for one in comparisons],
        clusters=[one.cluster or one.unit for one in comparisons],
        penalty=PENALTY,
    )


def _next(undecided: Sequence[str], left: Mapping[str, Sequence[Match]], most: int) -> Iterator[Match]:
    """Yield the matches of the next round, at most so many: the least decided opponents, some answers of each."""
    for other in [name for name in undecided if left[name]][:_PAIRS]:
        answers: dict[tuple[str, int], list[Match]] = {}
        for one in sorted(left[other], key=_place):
            answers.setdefault(one.answer, []).append(one)
        for orders in [*answers.values()][:_ANSWERS]:
            if (most := most - len(orders)) < 0:
                return
            yield from orders


def _place(match: Match) -> tuple[str, int]:
    """Return what puts matches into an order that mixes units of all kinds, the same in every run."""
    return sha256(json.dumps(match.answer).encode()).hexdigest(), match.models[0] > match.models[1]


def most_calls(
    model: str,
    units: Iterable[Any],
    results: Iterable[Any],
    row: Callable[[Any], tuple[str, str | None, str]],
    *,
    repeats: int,
    calls: int,
) -> int:
    """Return how many calls there can be about a model that will answer all units, where others have answered.

    Parameters
    ----------
    model, units, results, row
        As for `matches_with`.
    repeats : int
        How often the model will answer each unit.
    calls : int
        The most calls that are asked for, and what is returned where no other model has answered yet.
    """
    known = {unit.id for unit in units}
    others = {
        (name, unit, repeat)
        for one in results
        for (name, _, unit), repeat in [(row(one), getattr(one, "repeat", 1))]
        if name != model and unit in known and repeat <= repeats
    }
    return min(calls, 2 * len(others)) if others else calls


def planned_calls(pairing: Pairing[S], task: Task[Any, S], units: Sequence[Any], own: S, calls: int) -> list[Call]:
    """Return as many calls of the judge as there may be, before there are answers to quote.

    Parameters
    ----------
    pairing : Pairing
        How answers are compared.
    task : Task
        The task that makes the answers.
    units : sequence of Record
        The units, which the calls go through.
    own : RunSettings
        The settings of the task.
    calls : int
        How many calls.
    """
    assert task.assemble is not None  # noqa: S101 - answers of a task that is played are not judged in pairs
    settings = pairing.settings(own)
    found: list[Call] = []
    for unit in units:
        empty = task.assemble(unit, {}, own)
        quoted = 2 * sum(call.role == "model" for call in task.planned(unit, own))
        match = Match(unit, empty, empty, ("first", "second"))
        found += (replace(call, pending=quoted) for call in pairing.task.planned(match, settings))
    return [found[number % len(found)] for number in range(calls)] if found else []
