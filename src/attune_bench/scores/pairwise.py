"""Scores of comparisons in pairs: a rating fitted to all verdicts, and the share of comparisons that a model won.

A rating is no mean of values of units, but it is nearly one: the fit says how much each unit moved each model's
strength (its influence), and a unit's pseudo-value is the strength plus that influence times the number of units. The
mean of the pseudo-values is the rating, their spread its sampling error. So ratings are compared, ranked and reported
as any metric, on all units of a fit. A part of the units has ratings of its own, see `on_units`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isnan, log
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import polars as pl
from numpy.typing import ArrayLike

from attune_bench.scores.columns import misspelt_columns
from attune_bench.scores.parts import KEYS, Provenance
from attune_bench.scores.table import JsonColumn, ScoreTable
from attune_data.text import did_you_mean, listed, plural
from attune_metrics.comparisons import RATING, WIN_RATE
from attune_metrics.metric import PSEUDO_VALUES, Metric, MetricInputError
from attune_metrics.stats.pairwise import AnchorLine, ComparisonFit, anchor_line, fit_comparisons
from attune_metrics.stats.pairwise_ratings import FEW_CLUSTERS

if TYPE_CHECKING:
    from attune_data.collection import Collection
    from attune_data.comparisons import Comparison

T = TypeVar("T", bound=ScoreTable)

Judges = Literal["each", "pooled"]
Margins = Literal["verdicts", "weights"]
Ties = Literal["half", "davidson"]

ELO = 400 / log(10)
"""Points of Elo in a unit of log odds: 400 for odds of 10 to 1."""

MEAN_RATING = 1000.0
"""The mean rating of the models of a fit."""

FEW_UNITS = 3
"""A model that lost, or won, on fewer units is named."""

MANY_JUDGES = 10
"""More judges than these are probably people, each with few verdicts."""

PEOPLE = "human"
"""All people, who are one judge; the judge that others are set against."""

_FRAME = {
    "unit": pl.String,
    "a": pl.String,
    "b": pl.String,
    "outcome": pl.Float64,
    "margin": pl.Float64,
    "shown": pl.String,
    "judge": pl.String,
    "criterion": pl.String,
    "length_a": pl.Float64,
    "length_b": pl.Float64,
    "family_a": pl.String,
    "family_b": pl.String,
    "judge_family": pl.String,
    "repeat": pl.Int64,
}
_OF_ROW = ("unit", "a")  # what the row of `values` says in which a comparison is kept


@dataclass(frozen=True, slots=True)
class Fit:
    """How ratings are fitted: the choices of `score`."""

    judges: Judges = "each"
    margins: Margins = "verdicts"
    ties: Ties = "half"
    penalty: float | None = None
    anchors: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for name, known in (("judges", Judges), ("margins", Margins), ("ties", Ties)):
            if getattr(self, name) not in get_args(known):
                raise MetricInputError(f"{name} is {getattr(self, name)!r}; expected {' or '.join(get_args(known))}")

    @property
    def protocol(self) -> str:
        """The choices in words, as signatures state them."""
        ties = "half" if self.ties == "half" else "by Davidson"
        weights = ", margins as weights" if self.margins == "weights" else ""
        pooled = ", judges pooled" if self.judges == "pooled" else ""
        penalty = "" if self.penalty is None else f", penalty {self.penalty:g}"
        anchors = f", anchors {self.anchored_at}" if self.anchors else ""
        return f"Bradley-Terry, ties {ties}{weights}{pooled}{penalty}{anchors}"

    @property
    def anchored_at(self) -> str:
        """The anchors in words."""
        return " and ".join(f"{model} {rating:g}" for model, rating in sorted((self.anchors or {}).items()))


def score(
    comparisons: "Iterable[Comparison]",
    *,
    judges: Judges = "each",
    margins: Margins = "verdicts",
    ties: Ties = "half",
    penalty: float | None = None,
    anchors: Mapping[str, float] | None = None,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Score comparisons in pairs.

    Parameters
    ----------
    comparisons : iterable of Comparison
        The verdicts of any number of judges. Comparisons without a verdict are left out, and a note counts them.
    judges : {"each", "pooled"}
        Whether each judge is a condition of its own, with ratings of its own, or all verdicts are one set. People,
        judges called ``human`` or ``human/NAME``, are one judge.
    margins : {"verdicts", "weights"}
        Whether a win counts 1, or as much as its margin. A tie has no margin and counts 1 either way.
    ties : {"half", "davidson"}
        Whether a tie is half a win for each side, or an outcome of its own in Davidson's model.
    penalty : float, optional
        Above 0, the precision of a normal prior of the strengths in log odds: it gives models that won, or lost, every
        comparison a rating, and draws all ratings together. Without it such models have none, and a note names them.
    anchors : mapping of str to float, optional
        The ratings that one or two models shall have. With two, the line through both maps all ratings and the ends of
        their intervals; with one, all are shifted. By default ratings have the mean 1000, in points of Elo.
    progress : callable, optional
        Called with the number of comparisons in the end.

    Returns
    -------
    ScoreTable
        The metrics ``rating`` and ``win_rate``, with several criteria also ``rating_<criterion>`` and
        ``win_rate_<criterion>``. A row is a model and a unit; a model has a pseudo-value of the rating on every unit.

    Raises
    ------
    MetricInputError
        Where a comparison has a `fault`, only some name their judge, a margin lacks, a unit has two clusters, a model
        or a judge two families, an anchor is no model, or an option is unknown. The text names the comparison, with its
        place where the records know it.
    """
    fit = Fit(judges, margins, ties, penalty, anchors)
    given = list(comparisons)
    places: Mapping[str, str] = getattr(comparisons, "files", {})
    for one in given:
        if one.fault:
            raise MetricInputError(f"{places.get(one.id, 'a comparison')}: {one.fault} ({one.id})")
    decided = [one for one in given if one.outcome is not None]
    if not decided:
        raise MetricInputError(f"none of {plural(len(given), 'comparison')} has a verdict: a winner or a margin")
    _check_families(decided, places)
    models = sorted({model for one in decided for model in (one.a, one.b)})
    if unknown := sorted({*(anchors or {})} - {*models}):
        raise MetricInputError(f"anchors: no model {unknown[0]!r}; {did_you_mean(unknown[0], models)}")
    units, left_out = _units(decided)
    frame = comparison_frame(decided)
    made = rated(frame, fit=fit, units=units, by_judge=judges == "each" and len(frame.select(judged_by()).unique()) > 1)
    if anchors and not made.values[RATING.name].count():
        raise MetricInputError(" ".join(made.provenance.notes))
    if progress:
        progress(len(given))
    unnamed = next((one for one in decided if one.judge is None), None)
    if unnamed is not None and frame["judge"].count():
        raise MetricInputError(
            f"{places.get(unnamed.id, 'a comparison')}: judge is empty; every comparison names its judge, or none does"
        )
    notes = [f"{question[:1].upper()}{question[1:]}" for question in misspelt_columns(given)] + _on_judges(frame, fit)
    if undecided := len(given) - len(decided):
        notes.append(f"Left out: {plural(undecided, 'comparison')} without a verdict.")
    if _one_order(frame):
        notes.append(
            "Each pair of models was shown in one order only, so that what the order adds cannot be separated from the "
            "models."
        )
    notes += _orders_that_decide(frame)
    if left_out:
        notes.append(f"Columns left out, as they differ between the comparisons of a unit: {listed(left_out, 12)}.")
    return made.note(*notes) if notes else made


def _check_families(comparisons: "Iterable[Comparison]", places: Mapping[str, str]) -> None:
    """Raise where a model or a judge is of one family in one comparison, and of another or of none in another one."""
    families: dict[str, str | None] = {}
    for one in comparisons:
        judge = f"judge {one.judge!r}" if one.judge else "judge"
        own = {f"model {one.a!r}": one.family_a, f"model {one.b!r}": one.family_b, judge: one.judge_family}
        for name, family in own.items():
            if (before := families.setdefault(name, family)) != family:
                said = " and ".join("empty" if given is None else repr(given) for given in (before, family))
                place = places.get(one.id, "a comparison")
                raise MetricInputError(
                    f"{place}: the family of {name} is {said}; it is the same in all rows ({one.id})"
                )


ORDERS = ("same verdict", "first both times", "second both times", "a tie once")
"""What a judge says of two answers in both orders: which of them won, or the place in which both won."""


def in_both_orders(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of answers that a judge compared in both orders, with a column of true and false for `ORDERS`.

    `frame` is as from `comparison_frame` or `comparisons_of`.
    """
    keys = [name for name in ("condition", "judge", "criterion", "unit", "repeat") if name in frame.columns]
    one = pl.min_horizontal("a", "b")
    sided = frame.drop_nulls("shown").with_columns(
        one.alias("one"),
        pl.max_horizontal("a", "b").alias("other"),
        pl.when(pl.col("a") == one).then("outcome").otherwise(1 - pl.col("outcome")).alias("won"),
    )
    first, x, y = pl.col("shown") == pl.col("one"), pl.col("x"), pl.col("y")
    found = (x == y, (x == 1) & (y == 0), (x == 0) & (y == 1), (x - y).abs() == 1 / 2)
    return (
        sided.group_by([*keys, "one", "other"], maintain_order=True)
        .agg(pl.col("won").filter(first).first().alias("x"), pl.col("won").filter(~first).first().alias("y"))
        .drop_nulls(["x", "y"])
        .with_columns(is_so.alias(name) for name, is_so in zip(ORDERS, found, strict=True))
    )


def _orders_that_decide(frame: pl.DataFrame) -> list[str]:
    """Return a sentence on each judge for whom the place of an answer decides most pairs of answers."""
    return [
        f"{f'Judge {judge}: the' if judge else 'The'} answer shown {place} won in both orders in {count} of "
        f"{plural(pairs.height, 'pair')} of answers, whichever it was: these verdicts say more about the order than "
        "about the models."
        for [judge], pairs in in_both_orders(frame).group_by("judge", maintain_order=True)
        for place in ("first", "second")
        if (count := pairs[f"{place} both times"].sum()) > pairs.height / 2
    ]


def judged_by() -> pl.Expr:
    """Return the judge, all people being one."""
    is_person = (pl.col("judge") == PEOPLE) | pl.col("judge").str.starts_with(f"{PEOPLE}/")
    return pl.when(is_person).then(pl.lit(PEOPLE)).otherwise("judge").alias("judge")


def _on_judges(frame: pl.DataFrame, fit: Fit) -> list[str]:
    """Return the sentences about several judges."""
    names = frame.select("judge", judged_by().alias("by")).unique().sort("judge")
    found, people = names["judge"].to_list(), names.filter(by=PEOPLE)["judge"].to_list()
    several = names["by"].unique().sort().to_list()
    if fit.judges == "pooled" and len(found) > 1:
        return [f"The verdicts of {len(found)} judges are pooled: {listed(found, 6)}."]
    notes = []
    if len(several) > 1:
        people_too = "attune-bench score --judges pooled takes the verdicts of many people together."
        hint = f" {people_too}" if len(several) > MANY_JUDGES else ""
        notes.append(f"{len(several)} judges, each with ratings of its own: {listed(several, 6)}.{hint}")
    if len(people) > 1:
        notes.append(f"People are one judge: {listed(people, 6)}.")
    return notes


def comparison_frame(comparisons: "Iterable[Comparison]") -> pl.DataFrame:
    """Return comparisons as a frame: ``unit, a, b``, the ``outcome`` for ``a``, and what else they say."""
    rows = [[getattr(one, name) for name in _FRAME] for one in comparisons]
    return pl.DataFrame(rows, schema=_FRAME, orient="row")


def _one_order(frame: pl.DataFrame) -> bool:
    """Tell whether the order is known, and each pair of models always had the same one."""
    known = frame.drop_nulls("shown")
    pair = pl.min_horizontal("a", "b").alias("one"), pl.max_horizontal("a", "b").alias("other")
    orders = known.group_by(*pair).agg(pl.col("shown").n_unique())
    return not known.is_empty() and bool((orders["shown"] == 1).all())


def _units(comparisons: "Sequence[Comparison]") -> tuple[pl.DataFrame, list[str]]:
    """Return units with their clusters and traits, and the names of columns that are no traits of units."""
    found: dict[str, dict[str, Any]] = {}
    differing: dict[str, None] = {}
    for one in comparisons:
        own = {name: value for name, value in (one.model_extra or {}).items() if isinstance(value, str | int | float)}
        unit = found.setdefault(one.unit, {"unit": one.unit, "cluster": one.cluster, **own})
        if unit["cluster"] != one.cluster:
            raise MetricInputError(
                f"cluster of unit {one.unit!r} is {unit['cluster']!r} and {one.cluster!r}; a unit is in one cluster"
            )
        differing |= {name: None for name, value in own.items() if unit.setdefault(name, value) != value}
    names = dict.fromkeys(name for unit in found.values() for name in unit if name not in differing)
    rows = [{name: unit.get(name) for name in names} for unit in found.values()]
    frame = pl.DataFrame(rows, schema_overrides={"unit": pl.String, "cluster": pl.String}, infer_schema_length=None)
    return frame.sort("unit"), [*differing]


def rated(frame: pl.DataFrame, *, fit: Fit, units: pl.DataFrame, by_judge: bool) -> ScoreTable:
    """Return the scores of comparisons.

    Parameters
    ----------
    frame : polars.DataFrame
        As from `comparison_frame`.
    fit : Fit
        How ratings are fitted.
    units : polars.DataFrame
        The units: ``unit, cluster``, then their traits.
    by_judge : bool
        Whether each judge is a condition with ratings of its own.
    """
    condition = judged_by() if by_judge else pl.lit(None, dtype=pl.String)
    frame = frame.with_columns(condition.alias("condition"))
    criteria = frame["criterion"].drop_nulls().unique(maintain_order=True).to_list()
    weighted = frame.with_columns(_weights(frame, fit).alias("weight"))
    parts = {"": whole_verdicts(frame, fit)} | {f"_{one}": weighted.filter(criterion=one) for one in criteria}
    metrics: dict[str, Metric] = {}
    notes: list[str] = []
    columns: list[pl.DataFrame] = []
    for suffix, part in parts.items():
        for metric in (RATING, WIN_RATE):
            name, by = f"{metric.name}{suffix}", suffix.removeprefix("_")
            named = replace(metric, name=name, label=f"{metric.label}, {by}", short=f"{metric.short} {by}")
            metrics[name] = named if suffix else metric
            if fit.anchors and is_fitted(metric):
                source = f"strength by Bradley and Terry (1952), on the line through {fit.anchored_at}"
                metrics[name] = replace(metrics[name], source=source)
        ratings, unrated = _ratings(part, fit, f"{RATING.name}{suffix}")
        columns.append(ratings)
        notes += unrated
        columns.append(_win_rates(part, f"{WIN_RATE.name}{suffix}"))
    values = columns[0]
    for other in columns[1:]:
        values = values.join(other, on=KEYS, how="full", coalesce=True, nulls_equal=True)
    values = values.select(*KEYS, *metrics).sort(KEYS)
    provenance = Provenance(
        title="Comparisons",
        protocol=fit.protocol,
        unit="prompt",
        condition="judge",
        primary=RATING.name,
        reference=PEOPLE if by_judge and PEOPLE in frame["condition"] else None,
        notes=tuple(notes),
        fit=asdict(fit),
    )
    if units["cluster"].is_null().all():
        provenance = provenance.model_copy(update={"cluster": provenance.unit})
    kept = units.filter(pl.col("unit").is_in(values["unit"].implode()))
    return ScoreTable(values=values, units=kept, metrics=metrics, provenance=provenance, detail=_detail(values, frame))


def _weights(frame: pl.DataFrame, fit: Fit) -> pl.Series:
    """Return how much each comparison counts."""
    if fit.margins == "verdicts":
        return pl.repeat(1.0, frame.height, eager=True)
    for row in frame.filter(pl.col("margin").is_null()).head(1).iter_rows(named=True):
        of = f"{row['a']!r} against {row['b']!r} on {row['unit']!r}"
        raise MetricInputError(f"the comparison of {of} has no margin; leave out margins, or judge with margins")
    return frame["margin"].abs().replace(0.0, 1.0)


def whole_verdicts(frame: pl.DataFrame, fit: Fit) -> pl.DataFrame:
    """Return the verdicts on answers as a whole, with their ``weight``.

    Where all verdicts are by criterion, they are these, and each comparison counts as much as one verdict.
    """
    frame = frame.with_columns(_weights(frame, fit).alias("weight"))
    if frame["criterion"].null_count():
        return frame.filter(pl.col("criterion").is_null())
    comparison = ["condition", "judge", "unit", "a", "b", "shown", "repeat"]
    return frame.with_columns(pl.col("weight") / pl.len().over(comparison))


def _win_rates(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the share of comparisons that each model won on each unit, ties half."""
    keys = ("condition", "unit", "weight")
    sides = pl.concat(
        [
            frame.select(pl.col("a").alias("model"), *keys, won="outcome"),
            frame.select(pl.col("b").alias("model"), *keys, won=1 - pl.col("outcome")),
        ]
    )
    share = (pl.col("won") * pl.col("weight")).sum() / pl.col("weight").sum()
    return sides.group_by(*KEYS).agg(share.alias(name))


def fitted(frame: pl.DataFrame, fit: Fit, terms: Mapping[str, ArrayLike] | None = None) -> ComparisonFit:
    """Return the fit of verdicts, as from `whole_verdicts`, with the units as clusters.

    Parameters
    ----------
    frame : polars.DataFrame
        The verdicts of one condition.
    fit : Fit
        The choices.
    terms : mapping, optional
        As for `attune_metrics.stats.pairwise.fit_comparisons`, with ``a`` on the left.
    """
    return fit_comparisons(
        frame["a"].to_list(), frame["b"].to_list(), frame["outcome"].to_numpy(), clusters=frame["unit"].to_list(),
        weights=frame["weight"].to_numpy(), ties=fit.ties, terms=terms, penalty=fit.penalty,
    )  # fmt: skip


def _ratings(frame: pl.DataFrame, fit: Fit, name: str) -> tuple[pl.DataFrame, list[str]]:
    """Return the pseudo-values of the rating of each model on each unit, and sentences on models without a rating."""
    empty = pl.DataFrame(schema=dict.fromkeys(KEYS, pl.String) | {name: pl.Float64})
    parts, notes = [empty], []
    for [condition], part in frame.group_by("condition", maintain_order=True):
        made = fitted(part, fit)
        kept = largest_group(made)
        of = f"{name}{'' if condition is None else f', judge {condition}'}"
        if any(made.reasons):
            notes.append(_unrated(made, kept, of))
        notes += _rests_on_few(part, [str(made.labels[place]) for place in kept], of)
        if not kept:
            continue
        try:
            line = rating_line(made, fit)
        except MetricInputError as error:
            notes.append(f"{of}: no ratings, {error}.")
            continue
        pseudo = made.strengths[kept] + len(made.clusters) * made.influence[:, kept]
        rows = {
            "model": [made.labels[place] for place in kept for _ in made.clusters],
            "condition": [condition] * pseudo.size,
            "unit": [*made.clusters] * len(kept),
            name: line.intercept + line.slope * (pseudo - made.strengths[kept].mean()).T.ravel(),
        }
        parts.append(pl.DataFrame(rows, schema=empty.schema))
    return pl.concat(parts), notes


def rating_line(made: ComparisonFit, fit: Fit) -> AnchorLine:
    """Return the line that maps strengths to ratings; the strengths are of rated models, less their mean.

    Raises `MetricInputError` where an anchor has no rating, or anchors turn the order of their ratings.
    """
    kept = largest_group(made)
    centred = made.strengths[kept] - made.strengths[kept].mean()
    line = AnchorLine(ELO, MEAN_RATING)
    if not fit.anchors:
        return line
    ratings = {str(made.labels[place]): MEAN_RATING + ELO * one for place, one in zip(kept, centred, strict=True)}
    to_anchors = anchor_line(ratings, fit.anchors)
    if to_anchors.slope <= 0:
        low, high = sorted(fit.anchors, key=lambda name: ratings[name])
        raise MetricInputError(f"anchors: {high!r} is rated above {low!r}, and its anchor is not above the other's")
    return AnchorLine(to_anchors.slope * ELO, to_anchors.intercept + to_anchors.slope * MEAN_RATING)


def largest_group(fit: ComparisonFit) -> list[int]:
    """Return the models that are rated: those of the group with most models that have a strength."""
    known = [place for place, strength in enumerate(fit.strengths) if not isnan(strength)]
    groups = [[place for place in known if fit.groups[place] == number] for number in sorted({*fit.groups[known]})]
    return max(groups, key=len, default=[])


def _unrated(fit: ComparisonFit, kept: Sequence[int], of: str) -> str:
    """Return the sentence on models without a rating, or with one that the penalty alone makes finite."""
    models: dict[str, list[str]] = {}
    for place, (label, why) in enumerate(zip(fit.labels, fit.reasons, strict=True)):
        if place not in kept or fit.penalty:
            models.setdefault(why or "in a smaller group of models", []).append(str(label))
    named = "; ".join(f"{listed(labels, 6)} ({why})" for why, labels in models.items())
    if fit.penalty:
        return f"{of}: {named}."
    return f"{of}, without a rating: {named}. attune-bench score --penalty 0.1 rates every model."


def _rests_on_few(frame: pl.DataFrame, models: Sequence[str], of: str) -> list[str]:
    """Return sentences on few units: of all comparisons, and of models that did not win, or did not lose, on others."""
    sides = pl.concat(
        [
            frame.select(pl.col("a").alias("model"), "unit", won="outcome"),
            frame.select(pl.col("b").alias("model"), "unit", won=1 - pl.col("outcome")),
        ]
    ).filter(pl.col("model").is_in(models))
    units = sides.group_by("model").agg(
        pl.col("unit").filter(pl.col("won") < 1).n_unique().alias("lost"),
        pl.col("unit").filter(pl.col("won") > 0).n_unique().alias("won"),
    )
    few = [
        f"{model} ({what} or tied on {count})"
        for model, lost, won in units.sort("model").iter_rows()
        for what, count in (("lost", lost), ("won", won))
        if count < FEW_UNITS
    ]
    notes = [f"{of}: few units decide the ratings of {listed(few, 6)}."] if few else []
    if (count := frame["unit"].n_unique()) < FEW_CLUSTERS:
        notes.append(
            f"{of}: {plural(count, 'unit')}, and with fewer than {FEW_CLUSTERS} intervals of ratings are rough: in "
            "simulations, 95% intervals cover up to 98% of true ratings."
        )
    return notes


def _detail(values: pl.DataFrame, frame: pl.DataFrame) -> JsonColumn:
    """Return the comparisons of each row of `values`, as columns: those in which its model is ``a``."""
    kept = [name for name in _FRAME if name not in _OF_ROW and frame[name].count()]
    own = frame.group_by("a", "condition", "unit", maintain_order=True).agg(pl.col(kept))
    found = {key[:3]: dict(zip(kept, key[3:], strict=True)) for key in own.iter_rows()}
    return JsonColumn.of(found.get(key, {}) for key in values.select(KEYS).iter_rows())


def is_fitted(metric: Metric) -> bool:
    """Tell whether a metric is fitted to all units, so that a unit's value is a pseudo-value."""
    return metric.statistic == PSEUDO_VALUES


def comparisons_of(table: ScoreTable) -> pl.DataFrame:
    """Return the comparisons that ratings were fitted to, as from `comparison_frame`, with their ``condition``.

    Raises
    ------
    MetricInputError
        Where the scores are not of comparisons, or are without them.
    """
    if table.detail is None or not any(map(is_fitted, table.metrics.values())):
        raise MetricInputError(f"{table.provenance.title}: the scores are not of comparisons in pairs")
    rows = [
        (model, condition, unit, dict(zip(detail, one, strict=True)))
        for (model, condition, unit), detail in zip(table.values.select(KEYS).iter_rows(), table.detail, strict=True)
        for one in zip(*detail.values(), strict=True)
    ]
    names = [name for name in _FRAME if name not in _OF_ROW]
    columns = {"condition": [condition for _, condition, _, _ in rows], "unit": [unit for _, _, unit, _ in rows]}
    columns |= {"a": [model for model, *_ in rows]} | {name: [one.get(name) for *_, one in rows] for name in names}
    return pl.DataFrame(columns, schema={"condition": pl.String, **_FRAME})


def on_units(table: T, units: Iterable[str]) -> T:
    """Return scores on a part of the units: ratings are fitted anew to their comparisons, other metrics are kept.

    Parameters
    ----------
    table : ScoreTable
        Any scores; those without fitted metrics are `ScoreTable.keep` of them.
    units : iterable of str
        The units to keep.

    Raises
    ------
    MetricInputError
        Where the ratings cannot be fitted, see `score`.
    """
    chosen = [*units]
    if not any(map(is_fitted, table.metrics.values())):
        return table.keep(units=chosen)
    frame = comparisons_of(table).filter(pl.col("unit").is_in(chosen)).drop("condition")
    if frame.is_empty() or {*table.units["unit"]} <= {*chosen}:
        return table.keep(units=chosen)
    made = rated(frame, fit=fit_of(table), units=table.units, by_judge=table.conditions != (None,))
    lacking = [pl.lit(None, dtype=pl.Float64).alias(name) for name in table.metrics if name not in made.metrics]
    about = {"notes": (*table.provenance.notes, *made.provenance.notes), "data": None, "runs": None, "expected": None}
    provenance = table.provenance.model_copy(update=about)
    return replace(
        table,
        values=made.values.with_columns(lacking).select(*KEYS, *table.metrics),
        units=made.units,
        provenance=provenance,
        detail=made.detail,
    )


def fit_of(table: ScoreTable) -> Fit:
    """Return how the ratings of scores were fitted."""
    return Fit(**(table.provenance.model_extra or {})["fit"])


_ABOUT = ("title", "unit", "cluster", "condition", "private", "synthetic")


def described(
    table: ScoreTable,
    comparisons: "Collection[Comparison]",
    metrics: Mapping[str, Any],
    about: Mapping[str, Any],
    name: str,
    assumed: Sequence[str] = (),
) -> ScoreTable:
    """Return scores of a table of comparisons with what its TOML file, or its reader, says of it.

    Raises
    ------
    MetricInputError
        Where a key is unknown or of another type, or metrics are described.
    """
    if metrics:
        raise MetricInputError(f"{name}: metrics are described; the metrics of comparisons are known, leave these out")
    about = dict(about)
    if (largest := about.pop("largest_margin", None)) is not None:
        _check_margins(comparisons, largest, name)
    for key, value in about.items():
        if key not in _ABOUT:
            raise MetricInputError(f"{name}: {key}: no such key; {did_you_mean(key, (*_ABOUT, 'largest_margin'))}")
        is_flag = key in ("private", "synthetic")
        if isinstance(value, bool) != is_flag or not (is_flag or (isinstance(value, str) and value.strip())):
            raise MetricInputError(
                f"{name}: {key}: {value!r:.60} is {'neither true nor false' if is_flag else 'no text'}"
            )
    provenance = table.provenance.model_copy(update=about)
    if table.units["cluster"].is_null().all():
        provenance = provenance.model_copy(update={"cluster": provenance.unit})
    made = replace(table, provenance=provenance)
    return made.note(f"Assumed of the table: {'; '.join(assumed)}.") if assumed else made


def _check_margins(comparisons: "Collection[Comparison]", largest: object, name: str) -> None:
    """Raise where a margin is beyond the largest one, below 0 too."""
    if isinstance(largest, bool) or not (isinstance(largest, int | float) and 0 < largest < inf):
        raise MetricInputError(f"{name}: largest_margin: {largest!r:.60} is no number above 0")
    for one in comparisons:
        if one.margin is not None and abs(one.margin) > largest:
            raise MetricInputError(
                f"{comparisons.files.get(one.id, name)}: margin is {one.margin:g}; the largest margin is {largest:g}, "
                f"as largest_margin says ({one.id})"
            )
