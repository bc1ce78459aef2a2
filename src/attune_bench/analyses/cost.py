"""What results cost: calls, tokens, money and seconds, and which models no other beats on both cost and score.

Everything here is what the results themselves record. A sum is null, never 0, where one result lacks the number.
"""

from collections.abc import Iterable, Mapping
from math import fsum, inf
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks import benchmark_in_use
from attune_bench.runner.cost import PROBE
from attune_bench.scores.columns import FrameColumn, build_frame, columns, share, text, whole
from attune_bench.scores.parts import KEYS
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable, metrics_per_unit
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.options import MIN_CLUSTERS, AnalysisKeywords, SamplingKeywords, begin, direction, interval_ends
from attune_bench.stats.summary import per_unit
from attune_data.record import Record
from attune_data.references import resolve
from attune_data.text import plural
from attune_metrics.metric import MetricInputError, nan_to_none
from attune_metrics.stats.bootstrap import bootstrap, bootstrap_distribution
from attune_metrics.stats.pareto import pareto_front

_AMOUNTS = ("calls", "prompt_tokens", "completion_tokens", "cost", "seconds")
_ALL = "all"
_Usage = dict[tuple[str, str], dict[str, float | None]]


def _amount(value: object) -> float | None:
    """Return an amount that a result records; None for what is no amount."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        return None
    return float(value)


def _total(amounts: Iterable[float | None]) -> float | None:
    """Return a sum; None where a part is unknown, and where there is no part."""
    found = list(amounts)
    return fsum(one for one in found if one is not None) if found and None not in found else None


def _sum_of(usage: _Usage, role: str = "", *, but: str = "") -> dict[str, float | None]:
    """Return the sums over calls, of one role or of all, but for one kind of call."""
    own = [amounts for (of, kind), amounts in usage.items() if role in ("", of) and kind != but]
    return {name: _total(amounts[name] for amounts in own) for name in _AMOUNTS}


def _usage_of(result: Record) -> _Usage:
    """Return by role and kind of call what a result took; the kind is ``all`` where the result tells roles alone."""
    noted = {name: getattr(result, name, None) for name in type(result).model_fields} | (result.model_extra or {})
    usage, parts = noted.get("usage"), _Usage()
    for name, entry in usage.items() if isinstance(usage, Mapping) else ():
        known = entry if isinstance(entry, Mapping) else {}
        parts[name.partition("/")[::2]] = {amount: _amount(known.get(amount)) for amount in _AMOUNTS}
    costs = {name: _amount(noted[name]) for name in noted if name.endswith("_cost") and name in result.model_fields_set}
    # Beside a known cost, one that the result says is unknown is a part of the sum.
    for name, cost in costs.items() if not parts and any(one is not None for one in costs.values()) else ():
        role = "model" if name == "api_cost" else name.removesuffix("_cost")
        parts[role, _ALL] = dict.fromkeys(_AMOUNTS) | {"cost": cost}
    everything = _sum_of(parts)
    if everything["seconds"] is None:
        everything["seconds"] = _amount(noted.get("duration_seconds"))
    return {(_ALL, _ALL): everything, **parts} if parts or everything["seconds"] is not None else {}


def _usages(scores: ScoreTable, results: Iterable[Record]) -> dict[tuple[str, str | None, str], list[_Usage]]:
    """Return the usage of the results of each row of the scores, one for each repeat."""
    benchmark = benchmark_in_use(scores.provenance.benchmark)
    if benchmark is None:
        raise MetricInputError(f"{scores.provenance.title}: only scores of a benchmark tell which result is of a row")
    if benchmark.row is None:
        return {}
    found: dict[tuple[str, str | None, str], list[_Usage]] = {key: [] for key in scores.values.select(KEYS).iter_rows()}
    row = resolve(benchmark.row)
    for result in results:
        if (key := row(result)) in found:
            found[key].append(_usage_of(result))
    for (model, condition, unit), own in found.items():
        if not own:
            under = "" if condition is None else f", {scores.provenance.condition} {condition!r}"
            what = f"the result of model {model!r}{under} on {scores.provenance.unit} {unit!r}"
            raise MetricInputError(f"{what} was scored and is missing; are these the results of these scores?")
    return found


COST = columns(
    "condition model role part calls prompt_tokens completion_tokens cost seconds results reason",
    role=text("Who was asked: `model`, `judge`, `simulator`; `all` is everybody."),
    part=text("The kind of call, such as `read_hp`; `all` is every kind."),
    calls=whole("Calls that were answered, further attempts counted. Empty where results do not record them."),
    prompt_tokens=whole("Tokens of requests, as the server counted them.")._replace(head="tokens in"),
    completion_tokens=whole("Tokens of answers.")._replace(head="tokens out"),
    cost=FrameColumn("US dollars. Empty where the price of a call is not known.", low=0, shown="plain"),
    seconds=FrameColumn("Seconds that calls took, one after another.", low=0, shown="plain"),
    results=whole("How many results the sums are of, each repeat counted."),
)


def cost(scores: ScoreTable, *, results: Iterable[Record], **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return the calls, tokens, dollars and seconds of each model, by who was asked and by kind of call.

    Parameters
    ----------
    scores : ScoreTable
        Scores of a benchmark.
    results : iterable of record
        The results that were scored; others do not count.
    **options
        As for every analysis; nothing is drawn at random.

    Returns
    -------
    polars.DataFrame
        The columns `COST`; ``all`` first, then each role and kind of call. No row for a model where no result records
        anything.

    Raises
    ------
    MetricInputError
        Where an option is wrong, the scores are of no benchmark, or a result that was scored is missing.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> runs = [run.model_copy(update={"api_cost": 0.25}) for run in load_runs("demo")]
    >>> cost(score(load("demo"), runs), results=runs).select("model", "role", "cost", "calls").rows()[:2]
    [('synthetic/attentive', 'all', 10.0, None), ('synthetic/attentive', 'model', 10.0, None)]
    """
    _, series, _ = begin(scores, options)
    by_group: dict[tuple[str, str | None], list[_Usage]] = {group: [] for group in series.groups}
    for (model, condition, _), own in _usages(scores, results).items():
        by_group[model, condition] += own
    rows: list[tuple[Any, ...]] = []
    for model, condition in (series.groups[place] for own in series.by_condition().values() for place in own):
        usages = by_group[model, condition]
        # Where one result tells roles alone, so do the sums.
        if any(kind == _ALL for usage in usages for role, kind in usage if role != _ALL):
            usages = [{(role, _ALL): _sum_of(usage, role) for role, _ in usage} for usage in usages]
        parts = {part for usage in usages for part in usage}
        for part in sorted(parts, key=lambda one: (one != (_ALL, _ALL), one[0] != "model", one)):
            sums = [_total(_of_part(usage, part, name) for usage in usages) for name in _AMOUNTS]
            counts = [None if one is None else int(one) for one in sums[:3]]
            lacking = sum(_of_part(usage, part, "cost") is None for usage in usages)
            why = f"{plural(lacking, 'result')} of {len(usages)} without a cost" if lacking else None
            rows.append((condition, model, *part, *counts, *sums[3:], len(usages), why))
    return build_frame(COST, rows)


def _of_part(usage: _Usage, part: tuple[str, str], name: str) -> float | None:
    """Return an amount of a part of a result; 0 for a kind of call that a result which notes all its calls lacks."""
    if part in usage:
        return usage[part][name]
    return 0.0 if any(kind != _ALL for _, kind in usage) else None


COST_FRONT = columns(
    "condition metric model value low high cost cost_low cost_high per_dollar front share below n clusters reason",
    cost=FrameColumn("US dollars for the model's own calls of 1,000 units, without judges.", low=0, shown="plain"),
    cost_low=FrameColumn("Lower end of the interval of the cost.", low=0, shown="files"),
    cost_high=FrameColumn("Upper end of the interval of the cost.", low=0, shown="files"),
    per_dollar="Sum of scores for a US dollar. Empty where 0 is not the worst score, or nothing was paid.",
    front=text("Whether no other model scores as well at the same cost or less; `open` where unknown costs decide."),
    share=share("Share of the resamples in which the model is on the front of the models of a known cost."),
    below=FrameColumn(
        "Of a model without a cost: the least cost among models of as good a score; at more it is not on the front.",
        low=0, shown="plain",
    ),
)  # fmt: skip
_PER = 1000


def cost_front(scores: ScoreTable, *, results: Iterable[Record], **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return what each model's score costs, and which models no other model beats on both score and cost.

    Parameters
    ----------
    scores, results, **options
        As for `cost`; ``metrics`` are by default the primary one.

    Returns
    -------
    polars.DataFrame
        The columns `COST_FRONT`; see `attune_metrics.stats.pareto.pareto_front`. No row for baselines and people, see
        `attune_bench.scores.provenance.kind_of_group`, and none where no model has a cost.

    Raises
    ------
    MetricInputError
        As `cost`, and where a metric has no better direction or no value of each unit.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> price = {"synthetic/attentive": 0.02, "synthetic/hasty": 0.05}
    >>> runs = [run.model_copy(update={"api_cost": price[run.em_model]}) for run in load_runs("demo")]
    >>> found = cost_front(score(load("demo"), runs), results=runs, resamples=200)
    >>> found.select("model", "cost", "front", "share").rows()
    [('synthetic/attentive', 20.0, 'yes', 1.0), ('synthetic/hasty', 50.0, 'no', 0.0)]
    """
    chosen, series, draws = begin(scores, options)
    metrics = chosen.names(scores, [name for name in metrics_per_unit(scores) if name == scores.primary])
    check_within_conditions(scores, metrics)
    prices = np.full((len(series.groups), len(series.units)), np.nan)
    column = {unit: place for place, unit in enumerate(series.units)}
    for (model, asked, unit), own in _usages(scores, results).items():
        if (total := _total(_sum_of(usage, "model", but=PROBE)["cost"] for usage in own)) is not None:
            prices[series.groups.index((model, asked)), column[unit]] = total / len(own)
    rows: list[tuple[Any, ...]] = []
    for condition, present in series.by_condition().items():
        models = [group for group in present if kind_of_group(series.groups[group][0]) == "model"]
        for metric in metrics:
            of = scores.metrics[metric]
            values = series.values(per_unit(scores, metric, "cost_front"))[:, 0]
            groups = [group for group in models if not np.isnan(values[group]).all()]
            mask = np.logical_and.reduce(~np.isnan(values[groups]), axis=0)
            both = np.stack([values[groups], _PER * prices[groups]], axis=1)[:, :, mask]
            known = np.logical_and.reduce(~np.isnan(both[:, 1]), axis=1) & mask.any()
            if not known.any():
                continue
            both[~known, 1] = np.nan
            points, clusters = both.mean(axis=2), series.count(mask)
            quality, often = direction(of) * points[:, 0], np.full(len(groups), np.nan)
            front = known.copy()
            front[known] = pareto_front(quality[known], points[known, 1])
            if clusters >= MIN_CLUSTERS:
                drawn = [bootstrap_distribution(both[known, term], draws.of(mask)).T for term in (0, 1)]
                often[known] = pareto_front(direction(of) * drawn[0], drawn[1]).mean(axis=0)
            ends = [draws.intervals(bootstrap, both[:, term], mask) for term in (0, 1)]
            per_dollar: Any = [None] * len(groups)
            if of.low == 0 and of.higher_is_better:
                per_dollar = [_PER * value / cost if cost > 0 else None for value, cost in points.tolist()]
            for place, group in enumerate(groups):
                (*of_score, why), (*of_cost, unpriced) = (interval_ends(own[place], clusters, scores) for own in ends)
                reason = why or (unpriced if known[place] else "a result without a cost")
                rivals = (quality >= quality[place]) & (np.arange(len(groups)) != place)
                beaten, undecided = known[place] and not front[place], rivals & ~(known & known[place])
                state = "no" if beaten else "open" if undecided.any() else "yes"
                below = None if known[place] else min(points[rivals & known, 1].tolist(), default=None)
                value, price, often_on = (nan_to_none(one) for one in (*points[place], often[place]))
                named = (condition, metric, series.groups[group][0], value, *of_score, price, *of_cost)
                rows.append((*named, per_dollar[place], state, often_on, below, int(mask.sum()), clusters, reason))
    return build_frame(COST_FRONT, rows)
