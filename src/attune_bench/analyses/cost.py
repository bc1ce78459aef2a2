"""What results cost: calls, tokens, money and seconds, and which models no other beats on both cost and score.

Everything here is what the results themselves record. A number that one call lacks is unknown for the whole, never 0.

Usage
-----
The runner notes under ``usage`` what each kind of call took: ``{"model/read": {"calls": 12, "prompt_tokens": ...}}``.
Results without this note have the cost of each role (``api_cost``, ``judge_cost``) and ``duration_seconds`` at most.
"""

from collections.abc import Iterable, Mapping
from math import fsum, isfinite
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks import benchmark_in_use
from attune_bench.scores.columns import FrameColumn, build_frame, columns, share, text, true_false, whole
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import KEYS, ScoreTable
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.options import (
    MIN_CLUSTERS,
    AnalysisKeywords,
    Mask,
    SamplingKeywords,
    ScoreSeries,
    begin,
    direction,
    interval_ends,
)
from attune_bench.stats.summary import per_unit
from attune_data.record import Record
from attune_data.references import resolve
from attune_data.text import plural
from attune_metrics.metric import Metric, MetricInputError, nan_to_none
from attune_metrics.stats.bootstrap import Interval, bootstrap, bootstrap_distribution
from attune_metrics.stats.pareto import pareto_front
from attune_metrics.stats.sums import Floats

_AMOUNTS = ("calls", "prompt_tokens", "completion_tokens", "cost", "seconds")
_ALL = "all"
_Usage = Mapping[tuple[str, str], Mapping[str, float | None]]


def _amount(value: object) -> float | None:
    """Return an amount that a result records; None for what is no amount."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value >= 0
    return float(value) if known else None  # type: ignore[arg-type]


def _total(amounts: Iterable[float | None]) -> float | None:
    """Return a sum; None where a part is unknown, and where there is no part."""
    found = list(amounts)
    return None if not found or None in found else fsum(one for one in found if one is not None)


def usage_of(result: Record) -> _Usage:
    """Return by role and kind of call what a result took; the kind is ``all`` where the result tells roles alone.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> run = load_runs("demo")[0].model_copy(update={"api_cost": 0.5, "judge_cost": 0.1})
    >>> {key: amounts["cost"] for key, amounts in usage_of(run).items()}
    {('model', 'all'): 0.5, ('judge', 'all'): 0.1}
    """
    noted = {name: getattr(result, name, None) for name in type(result).model_fields} | (result.model_extra or {})
    if isinstance(usage := noted.get("usage"), Mapping) and usage:
        parts = {name.partition("/")[::2]: entry for name, entry in usage.items() if isinstance(entry, Mapping)}
        return {part: {name: _amount(entry.get(name)) for name in _AMOUNTS} for part, entry in parts.items()}
    costs = {name: _amount(value) for name, value in noted.items() if name.endswith("_cost")}
    roles = {"model" if name == "api_cost" else name.removesuffix("_cost"): cost for name, cost in costs.items()}
    empty: dict[str, float | None] = dict.fromkeys(_AMOUNTS)
    return {(role, _ALL): empty | {"cost": cost} for role, cost in roles.items() if cost is not None}


def _scored(scores: ScoreTable, results: Iterable[Record]) -> dict[tuple[str, str | None, str], list[Record]]:
    """Return the results of each row of the scores, one for each repeat."""
    benchmark = benchmark_in_use(scores.provenance.benchmark)
    if benchmark is None or benchmark.row is None:
        raise MetricInputError(f"{scores.provenance.title}: only scores of a benchmark tell which result is of a row")
    row = resolve(benchmark.row)
    found: dict[tuple[str, str | None, str], list[Record]] = {key: [] for key in scores.values.select(KEYS).iter_rows()}
    for result in results:
        if (key := row(result)) in found:
            found[key].append(result)
    for (model, condition, unit), own in found.items():
        if not own:
            under = "" if condition is None else f", {scores.provenance.condition} {condition!r}"
            raise MetricInputError(
                f"the result of model {model!r}{under} on {scores.provenance.unit} {unit!r} was scored and is not "
                "among the results; are these the results of these scores?"
            )
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
        The columns `COST`; ``all`` first, then each role and kind of call. A sum is null where one result lacks the
        number. No row for a model of which no result records anything.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, the scores are of no benchmark, or a result that was scored is not
        there.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> runs = [run.model_copy(update={"api_cost": 0.25}) for run in load_runs("demo")]
    >>> cost(score(load("demo"), runs), results=runs).select("model", "role", "cost", "calls").rows()[:2]
    [('synthetic/attentive', 'all', 10.0, None), ('synthetic/attentive', 'model', 10.0, None)]
    """
    _, series, _ = begin(scores, options)
    by_group: dict[tuple[str, str | None], list[Record]] = {group: [] for group in series.groups}
    for (model, condition, _), own in _scored(scores, results).items():
        by_group[model, condition] += own
    rows: list[tuple[Any, ...]] = []
    for condition, groups in series.by_condition().items():
        for group in groups:
            own = by_group[series.groups[group]]
            usages = [usage_of(result) for result in own]
            seconds = [_amount(getattr(result, "duration_seconds", None)) for result in own]
            if not any(usages) and not any(one is not None for one in seconds):
                continue
            whole_of = [
                _total(_total(entry[name] for entry in usage.values()) for usage in usages) for name in _AMOUNTS
            ]
            whole_of[-1] = _total(seconds) if whole_of[-1] is None else whole_of[-1]
            # Where one result tells roles alone, so do the sums.
            if any(kind == _ALL for usage in usages for _, kind in usage):
                usages = [_by_role(usage) for usage in usages]
            parts = sorted({part for usage in usages for part in usage}, key=lambda part: (part[0] != "model", part))
            sums = {
                part: [_total(_of_part(usage, part, name) for usage in usages) for name in _AMOUNTS] for part in parts
            }
            for part, amounts in {(_ALL, _ALL): whole_of, **sums}.items():
                counts = [None if one is None else int(one) for one in amounts[:3]]
                lacking = sum(_of_part(usage, part, "cost") is None for usage in usages)
                why = None if amounts[3] is not None else f"{plural(lacking, 'result')} of {len(own)} without a cost"
                rows.append((condition, series.groups[group][0], *part, *counts, *amounts[3:], len(own), why))
    return build_frame(COST, rows)


def _by_role(usage: _Usage) -> _Usage:
    """Return the usage of each role, whatever the kind of call."""
    return {
        (role, _ALL): {
            name: _total(entry[name] for (own, _), entry in usage.items() if own == role) for name in _AMOUNTS
        }
        for role, _ in usage
    }


def _of_part(usage: _Usage, part: tuple[str, str], name: str) -> float | None:
    """Return an amount of a part of a result: 0 for a kind of call that a result with a note of all calls lacks."""
    if part == (_ALL, _ALL):
        return _total(entry[name] for entry in usage.values())
    if part in usage:
        return usage[part][name]
    return 0.0 if usage and part[1] != _ALL else None


COST_FRONT = columns(
    "condition metric model value value_low value_high cost low high per_dollar per_dollar_low per_dollar_high front "
    "front_share settled below n clusters reason",
    value="The score, on the units that every model of the condition has.",
    value_low="Lower end of the interval of the score.",
    value_high="Upper end of the interval of the score.",
    cost=FrameColumn(
        "US dollars for the model's own calls of 1,000 units, without judges. Empty where one result lacks its cost.",
        low=0, shown="plain",
    ),
    low=FrameColumn("Lower end of the interval of the cost.", low=0, shown="plain"),
    high=FrameColumn("Upper end of the interval of the cost.", low=0, shown="plain"),
    per_dollar=FrameColumn(
        "Sum of scores for a US dollar. Empty where 0 is not the worst score, or nothing was paid.", low=0
    ),
    per_dollar_low=FrameColumn("Lower end of the interval of the score for a dollar.", low=0),
    per_dollar_high=FrameColumn("Upper end of the interval of the score for a dollar.", low=0),
    front=true_false("Whether no other model of a known cost has a better or equal score at a lower or equal cost."),
    front_share=share("Share of the resamples in which this is so."),
    settled=true_false("Whether this stays so whatever the models without a cost would cost."),
    below=FrameColumn(
        "Of a model without a cost: the least cost of 1,000 units among the models of as good a score; at more it is "
        "not on the front. Empty where the cost is known, or where no model of a known cost has as good a score.",
        low=0, shown="plain",
    ),
)  # fmt: skip
_PER = 1000


def cost_front(scores: ScoreTable, *, results: Iterable[Record], **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return what each model's score costs, and which models no other model beats on both score and cost.

    Models are a fixed list. Baselines and people, see `attune_bench.scores.provenance.kind_of_group`, are left out.

    Parameters
    ----------
    scores, results
        As for `cost`.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. The metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        The columns `COST_FRONT`; see `attune_metrics.stats.pareto.pareto_front`. No row where no model has a cost.

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
    >>> found.select("model", "cost", "front", "front_share").rows()
    [('synthetic/attentive', 20.0, True, 1.0), ('synthetic/hasty', 50.0, False, 0.0)]
    """
    chosen, series, draws = begin(scores, options)
    metrics = chosen.names(scores, [scores.primary])
    check_within_conditions(scores, metrics)
    prices = _prices(series, results)
    rows: list[tuple[Any, ...]] = []
    for condition, present_groups in series.by_condition().items():
        groups = [group for group in present_groups if kind_of_group(series.groups[group][0]) == "model"]
        for metric in metrics:
            of = scores.metrics[metric]
            values = series.values(per_unit(scores, metric, "cost_front"))[groups, 0]
            mask: Mask = np.logical_and.reduce(~np.isnan(values), axis=0)
            both = np.stack([values, _PER * prices[groups]], axis=1)[:, :, mask]
            known: Mask = np.logical_and.reduce(~np.isnan(both[:, 1]), axis=1)
            if not groups or not mask.any() or not known.any():
                continue
            clusters, points = series.count(mask), both.mean(axis=2)
            quality = direction(of) * points[:, 0]
            front = np.zeros(len(groups), dtype=np.bool_)
            front[known] = pareto_front(quality[known], points[known, 1])
            often = np.full(len(groups), np.nan)
            if clusters >= MIN_CLUSTERS:
                drawn = [bootstrap_distribution(both[known, term], draws.of(mask)).T for term in (0, 1)]
                often[known] = pareto_front(direction(of) * drawn[0], drawn[1]).mean(axis=0)
            ends = [draws.intervals(bootstrap, both[:, term], mask) for term in (0, 1)]
            ratios = _ratios(of, both, known)
            per_dollar: dict[int, Interval] = dict(
                zip(ratios, draws.intervals(bootstrap, both[ratios], mask, statistic=_ratio), strict=True)
                if ratios else ()
            )  # fmt: skip
            for place, group in enumerate(groups):
                judged: tuple[Any, ...]
                cells = [points[place, 0], *interval_ends(ends[0][place], clusters, scores)[:2]]
                if known[place]:
                    low, high, reason = interval_ends(ends[1][place], clusters, scores)
                    cells += [points[place, 1], low, high]
                    rivals = ~known & (quality >= quality[place])
                    judged = bool(front[place]), often[place], not (front[place] and rivals.any()), None
                else:
                    rivals = known & (quality >= quality[place])
                    below = points[rivals, 1].min() if rivals.any() else None
                    best = not (np.delete(quality, place) >= quality[place]).any()
                    cells += [None, None, None]
                    judged, reason = (best or None, None, best, below), "a result without a cost"
                ratio = per_dollar.get(place)
                cells += [None] * 3 if ratio is None else [ratio.estimate, *interval_ends(ratio, clusters, scores)[:2]]
                numbers = [nan_to_none(one) if isinstance(one, float) else one for one in (*cells, *judged)]
                rows.append((condition, metric, series.groups[group][0], *numbers, int(mask.sum()), clusters, reason))
    return build_frame(COST_FRONT, rows)


def _prices(series: ScoreSeries, results: Iterable[Record]) -> Floats:
    """Return what the model's own calls cost (groups, units), the mean over repeats; nan where that is not known."""
    place_of = {unit: place for place, unit in enumerate(series.units)}
    group_of = {group: place for place, group in enumerate(series.groups)}
    found = np.full((len(series.groups), len(series.units)), np.nan)
    for (model, condition, unit), own in _scored(series.table, results).items():
        total = _total(_by_role(usage_of(result)).get(("model", _ALL), {}).get("cost") for result in own)
        if total is not None:
            found[group_of[model, condition], place_of[unit]] = total / len(own)
    return found


def _ratio(sums: Floats, _: Any) -> Floats:
    """Return the score for a dollar, of sums of scores and of dollars for 1,000 units."""
    return np.divide(_PER * sums[..., 0], sums[..., 1], out=np.full_like(sums[..., 0], np.nan), where=sums[..., 1] > 0)


def _ratios(of: Metric, both: Floats, known: Mask) -> list[int]:
    """Return the models of which a score for a dollar means something."""
    if of.low != 0 or not of.higher_is_better:
        return []
    return np.flatnonzero(known & (both[:, 1].sum(axis=1) > 0)).tolist()
