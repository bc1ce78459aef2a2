"""Analyses of comparisons in pairs: what decides beside the models, how far orders agree, and how far judges do.

Points are points of Elo: 400 for odds of 10 to 1. Every interval resamples clusters of units.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import exp, fsum, inf, isfinite, isnan
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.report.columns import Section, with_note
from attune_bench.report.page_scores import PageScores
from attune_bench.report.tables import analysis_note, analysis_tables
from attune_bench.scores.columns import Analysis, FrameColumn, build_frame, columns, share, text, whole
from attune_bench.scores.pairwise import (
    ELO,
    PEOPLE,
    comparisons_of,
    fit_of,
    fitted,
    in_both_orders,
    judged_by,
    largest_group,
    rating_line,
    whole_verdicts,
)
from attune_bench.scores.pairwise import ORDERS as OUTCOMES
from attune_bench.scores.parts import KEYS
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import AnalysisOptions, ResampleCache, SamplingKeywords, ScoreSeries, interval_ends
from attune_bench.stats.summary import summary
from attune_metrics.metric import PSEUDO_VALUES, Metric, MetricInputError, nan_to_none
from attune_metrics.stats.agreement import cohen_kappa_interval
from attune_metrics.stats.pair_planning import next_pairs as planned_pairs
from attune_metrics.stats.pairwise import ComparisonFit
from attune_metrics.stats.sums import Floats

Terms = Mapping[str, Floats]
TERMS = ("position", "length", "self-preference")
_ALL = "all models"


def _parts(scores: ScoreTable) -> Iterator[tuple[str | None, pl.DataFrame]]:
    """Yield each condition with its verdicts on answers as a whole, people first."""
    verdicts = whole_verdicts(comparisons_of(scores), fit_of(scores))
    for condition in scores.conditions:
        yield condition, verdicts.filter(pl.col("condition").eq_missing(pl.lit(condition)))


def _terms(part: pl.DataFrame) -> tuple[dict[str, Floats], dict[str, str]]:
    """Return the terms that the verdicts allow, with ``a`` on the left, and why others are left out."""
    terms: dict[str, Floats] = {}
    why: dict[str, str] = {}
    unknown = part["shown"].null_count()
    if unknown:
        why["position"] = f"{unknown} of {part.height} comparisons do not say which answer was shown first"
    else:
        terms["position"] = np.where(part["shown"] == part["a"], 1.0, -1.0)
    known = (part["length_a"] > 0) & (part["length_b"] > 0)
    if not known.fill_null(value=False).all():
        why["length"] = f"{part.height - known.sum()} of {part.height} comparisons have no two lengths above 0"
    else:
        terms["length"] = (part["length_a"] / part["length_b"]).log(2).to_numpy()
    own_a, own_b = ((part[side] == part["judge_family"]).fill_null(value=False) for side in ("family_a", "family_b"))
    families = pl.concat([part["family_a"], part["family_b"]])
    if not part["judge_family"].count():
        why["self-preference"] = "no comparison says the family of its judge (column judge_family)"
    elif not families.count():
        why["self-preference"] = "no comparison says the families of its models (columns family_a, family_b)"
    elif not (own_a ^ own_b).any():
        of_one = not families.has_nulls() and families.n_unique() == 1
        alone = f"all models are of one family, {families[0]}"
        none = "no judge compared a model of its own family with a model of another one"
        why["self-preference"] = alone if of_one else none
    elif part["judge_family"].n_unique() == 1:
        why["self-preference"] = (
            f"all verdicts are by judges of one family, {part['judge_family'][0]}, so that what they add for it cannot "
            "be told from how good its models are; pooled with judges of other families, or people, it can: score "
            "--judges pooled"
        )
    else:
        terms["self-preference"] = own_a.cast(pl.Float64).to_numpy() - own_b.cast(pl.Float64).to_numpy()
    return terms, why


def _table(scores: ScoreTable, rows: Sequence[Mapping[str, Any]], statistic: str, names: Sequence[str]) -> ScoreTable:
    """Return values of units as scores, so that they are summarised as any scores are."""
    schema = dict.fromkeys(KEYS, pl.String) | dict.fromkeys(names, pl.Float64)
    metrics = {name: Metric(name=name, label=name, statistic=statistic) for name in names}
    provenance = scores.provenance.model_copy(update={"primary": names[0], "headline": ()})
    values = pl.DataFrame(rows, schema=schema)
    return ScoreTable(values=values, units=scores.units, metrics=metrics, provenance=provenance)


def _pseudo_values(fit: ComparisonFit, value: float, influence: Floats, scale: float) -> list[float]:
    found: list[float] = (scale * (value + len(fit.clusters) * influence)).tolist()
    return found


BIAS = columns(
    "condition term value low high chance n clusters reason",
    term=text(
        "`position`: the answer shown first. `length`: an answer twice as long. `self-preference`: a model of the "
        "judge's family."
    ),
    value=FrameColumn("What the term adds to the side that has it, in points of Elo.", shown="rank", signed=True),
    chance=share("How often the side that has it wins against an equal answer, ties half."),
    n="How many units were judged.",
)


def bias(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return what decides beside the models, for each judge: position, length and the judge's own family.

    All are estimated in one fit with the strengths of the models, so that a model that is long and good is not taken
    for a judge who prefers length. What judges add for models of their own family can be told from the strengths only
    where judges of other families, or people, are pooled with them.

    Parameters
    ----------
    scores : ScoreTable
        Scores of comparisons.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see `AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `BIAS`.

    Raises
    ------
    MetricInputError
        Where the scores are not of comparisons, or an option is unknown.
    """
    rows: list[dict[str, Any]] = []
    without: dict[tuple[str | None, str], str] = {}
    for condition, part in _parts(scores):
        terms, why = _terms(part)
        fit, refused = _fit(part, scores, terms)
        without |= {(condition, name): reason for name, reason in (why | refused).items()}
        if fit is None:
            continue
        found = {name: _pseudo_values(fit, fit.terms[name], fit.term_influence[name], ELO) for name in fit.terms}
        for place, unit in enumerate(fit.clusters):
            of_unit = {name: values[place] for name, values in found.items()}
            rows.append({"model": _ALL, "condition": condition, "unit": unit, **of_unit})
    made: dict[tuple[str | None, str], Mapping[str, Any]] = {}
    if rows:
        frame = summary(_table(scores, rows, PSEUDO_VALUES, TERMS), **options)
        made = {(row["condition"], row["metric"]): row for row in frame.iter_rows(named=True)}
    result = []
    for condition in scores.conditions:
        for name in TERMS:
            row = made.get((condition, name), {})
            value = row.get("value")
            chance = None if value is None else 1 / (1 + exp(-value / ELO))
            reason = without.get((condition, name), row.get("reason"))
            result.append(
                (condition, name, value, row.get("low"), row.get("high"), chance, row.get("n", 0),
                 row.get("clusters", 0), reason)
            )  # fmt: skip
    return build_frame(BIAS, result)


def _fit(part: pl.DataFrame, scores: ScoreTable, terms: Terms) -> tuple[ComparisonFit | None, dict[str, str]]:
    """Return the fit of verdicts with those terms that can be estimated, and why others cannot."""
    found, kept, why = None, dict[str, Floats](), dict[str, str]()
    for name, values in terms.items():
        try:
            fit = fitted(part, fit_of(scores), {**kept, name: values})
        except MetricInputError as error:
            why[name] = str(error)
            continue
        if largest_group(fit):
            found, kept[name] = fit, values
        else:
            [(group, size)] = Counter(fit.groups.tolist()).most_common(1)
            reason = fit.reasons[fit.groups.tolist().index(group)]
            why[name] = reason if size > 1 and reason else "no two models are joined by chains of wins"
            if name == "position":  # what the position decides would be put down to the other terms
                return None, why | dict.fromkeys(set(terms) - {name}, "cannot be told from the position, which decides")
    return found, why


WITHOUT_BIAS = columns(
    "condition model rating value low high shift shift_low shift_high n clusters reason",
    rating=FrameColumn("The rating as judged.", shown="rank"),
    value=FrameColumn(
        "The rating of equally long answers, each shown first as often, by judges of other families.", shown="rank"
    ),
    shift=FrameColumn("The rating without bias minus the rating as judged.", shown="rank", signed=True),
    shift_low=FrameColumn("Lower end of the interval of the shift.", shown="rank", signed=True),
    shift_high=FrameColumn("Upper end of the interval of the shift.", shown="rank", signed=True),
    n="How many units were judged.",
)


def ratings_without_bias(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return the ratings of models with the bias of each judge removed, as far as its comparisons tell it.

    Parameters
    ----------
    scores, **options
        As for `bias`.

    Returns
    -------
    polars.DataFrame
        The columns `WITHOUT_BIAS`, by judge and rating without bias. Judges whose comparisons tell no
        bias are left out; `bias` says why.

    Raises
    ------
    MetricInputError
        As `bias`.
    """
    rows: list[dict[str, Any]] = []
    ratings: dict[tuple[str | None, str], float] = {}
    for condition, part in _parts(scores):
        fit, _ = _fit(part, scores, _terms(part)[0])
        if fit is None:
            continue
        plain = fitted(part, fit_of(scores))
        kept = largest_group(fit)
        try:
            line = rating_line(plain, fit_of(scores))
        except MetricInputError:  # which a note of the scores has
            continue
        for place in kept:
            model = str(fit.labels[place])
            without, as_judged = (
                _pseudo_values(
                    one, one.strengths[place] - one.strengths[kept].mean(), one.influence[:, place], line.slope
                )
                for one in (fit, plain)
            )
            ratings[condition, model] = line.intercept + float(np.mean(as_judged))
            of = {"model": model, "condition": condition}
            rows += [
                {**of, "unit": unit, "value": line.intercept + one, "shift": one - its}
                for unit, one, its in zip(fit.clusters, without, as_judged, strict=True)
            ]
    if not rows:
        return build_frame(WITHOUT_BIAS, [])
    frame = summary(_table(scores, rows, PSEUDO_VALUES, ("value", "shift")), **options)
    shifts = {(row["condition"], row["model"]): row for row in frame.filter(metric="shift").iter_rows(named=True)}
    result = []
    for row in frame.filter(metric="value").iter_rows(named=True):
        shift = shifts[row["condition"], row["model"]]
        result.append(
            (row["condition"], row["model"], ratings[row["condition"], row["model"]], row["value"], row["low"],
             row["high"], shift["value"], shift["low"], shift["high"], row["n"], row["clusters"], row["reason"])
        )  # fmt: skip
    order = {condition: place for place, condition in enumerate(scores.conditions)}
    result.sort(key=lambda row: (order[row[0]], -row[3], row[1]))
    return build_frame(WITHOUT_BIAS, result)


ORDERS = columns(
    "condition outcome value value_low value_high n clusters reason",
    outcome=text(
        "`same verdict` in both orders; `first both times`, `second both times`: the answer in this place won in both "
        "orders; `a tie once`: one of the orders was a tie."
    ),
    value=share("The share of pairs of answers that were judged in both orders."),
    value_low=share("Lower end of the interval of the share."),
    value_high=share("Upper end of the interval of the share."),
    n="How many pairs of answers were judged in both orders.",
)


def orders(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how often judges say the same of two answers in both orders.

    Parameters
    ----------
    scores, **options
        As for `bias`.

    Returns
    -------
    polars.DataFrame
        The columns `ORDERS`, four rows a judge. Judges without a pair of answers in both orders are left out.

    Raises
    ------
    MetricInputError
        As `bias`.
    """
    found = in_both_orders(comparisons_of(scores)).with_row_index("pair")
    if found.is_empty():
        return build_frame(ORDERS, [])
    made = summary(_of_pairs(scores, found, OUTCOMES), **options)
    rows = [
        (row["condition"], row["metric"], *(row[name] for name in ("value", "low", "high", "n", "clusters", "reason")))
        for condition in scores.conditions
        for row in made.filter(pl.col("condition").eq_missing(pl.lit(condition))).iter_rows(named=True)
    ]
    return build_frame(ORDERS, rows)


def _of_pairs(scores: ScoreTable, pairs: pl.DataFrame, shares: Sequence[str]) -> ScoreTable:
    """Return shares of pairs of answers as scores: a pair is a unit, what it was drawn with is its cluster.

    `pairs` has ``pair``, a number, ``condition``, ``unit`` and a column of true and false for each share.
    """
    of_pairs = pairs.with_columns(pl.lit(_ALL).alias("model"), pl.col("pair").cast(pl.String))
    named = of_pairs.join(_clusters(scores), on="unit")
    units = named.select(unit="pair", cluster="cluster")
    values = named.select("model", "condition", unit="pair", **{name: pl.col(name).cast(pl.Float64) for name in shares})
    table = _table(scores, values.to_dicts(), "share", shares)
    provenance = table.provenance.model_copy(update={"unit": "pair", "cluster": scores.provenance.cluster})
    return replace(table, units=units, provenance=provenance)


def _clusters(scores: ScoreTable) -> pl.DataFrame:
    """Return each unit and its cluster as texts, as comparisons name them."""
    return scores.units.cast({"unit": pl.String}).select("unit", pl.coalesce("cluster", "unit").alias("cluster"))


JUDGES = columns(
    "judge_a judge_b value value_low value_high kappa kappa_low kappa_high n clusters reason",
    judge_a=text("The first judge; `human` are all people together, by majority.", "A"),
    judge_b=text("The second judge.", "B"),
    value=share("Accuracy: the share of pairs of answers on which both say the same: one side, the other, or a tie."),
    value_low=share("Lower end of the interval of the share."),
    value_high=share("Upper end of the interval of the share."),
    kappa=FrameColumn("Cohen's kappa: agreement beyond chance; 0 is chance, 1 perfect.", high=1, shown="plain"),
    kappa_low=FrameColumn("Lower end of the interval of kappa.", high=1, shown="plain"),
    kappa_high=FrameColumn("Upper end of the interval of kappa.", high=1, shown="plain"),
    n="How many pairs of answers both judged.",
)


def judges(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how often every two judges say the same of the same two answers.

    A judge's verdict on two answers is the mean over orders and repeats: the side above one half won. People, judges
    called ``human`` or ``human/NAME``, are one judge, so that the verdict is their majority's.

    Parameters
    ----------
    scores, **options
        As for `bias`.

    Returns
    -------
    polars.DataFrame
        The columns `JUDGES`, people first.

    Raises
    ------
    MetricInputError
        As `bias`.
    """
    chosen = AnalysisOptions(**options)
    frame = comparisons_of(scores).drop_nulls("judge")
    one = pl.min_horizontal("a", "b")
    keys: list[Any] = ["unit", "criterion", one.alias("one"), pl.max_horizontal("a", "b").alias("other")]
    won = pl.when(pl.col("a") == one).then("outcome").otherwise(1 - pl.col("outcome"))
    verdicts = frame.group_by(judged_by(), *keys).agg((won.mean() - 1 / 2).sign().alias("verdict"))
    on = ["unit", "criterion", "one", "other"]
    names = sorted(verdicts["judge"].unique(), key=lambda name: (name != PEOPLE, name))
    rows: list[tuple[Any, ...]] = []
    for a, b in combinations(names, 2):
        both = (
            verdicts.filter(judge=a).join(verdicts.filter(judge=b), on=on, nulls_equal=True, suffix="_b").sort(on)
        ).with_row_index("pair")
        if both.is_empty():
            rows.append((a, b, None, None, None, None, None, None, 0, 0, "no two answers that both judged"))
            continue
        agreed = both.select(
            "pair", "unit", pl.lit(None, dtype=pl.String).alias("condition"),
            (pl.col("verdict") == pl.col("verdict_b")).alias("agreement"),
        )  # fmt: skip
        table = _of_pairs(scores, agreed, ("agreement",))
        row = summary(table, **options).row(0, named=True)
        series = ScoreSeries(table)
        order = both[[int(unit) for unit in series.units]]
        drawn = ResampleCache(series, chosen).of(np.ones(both.height, dtype=np.bool_))
        kappa = cohen_kappa_interval(
            order["verdict"].to_list(), order["verdict_b"].to_list(), drawn, method=chosen.interval,
            confidence=chosen.level,
        )  # fmt: skip
        low, high, why = interval_ends(kappa, row["clusters"], table)
        rows.append(
            (a, b, row["value"], row["low"], row["high"], nan_to_none(kappa.estimate), low, high, row["n"],
             row["clusters"], row["reason"] or why)
        )  # fmt: skip
    return build_frame(JUDGES, rows)


OPPONENTS = columns(
    "condition model_a model_b comparisons wins ties losses rate expected n reason",
    comparisons=whole("How often the two were compared."),
    wins=whole("How often A won."),
    ties=whole("How many were ties."),
    losses=whole("How often B won."),
    rate=share("The share that A won, ties half, weighted as the ratings are."),
    expected=share("The share that the ratings of the two expect; far from `rate` where ratings do not tell who wins."),
    n="How many units both were judged on.",
)


def opponents(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how often every two models were compared, who won, and what their ratings expect.

    Parameters
    ----------
    scores : ScoreTable
        Scores of comparisons.
    **options
        Not used, as no number has an interval.

    Returns
    -------
    polars.DataFrame
        The columns `OPPONENTS`, A the better-rated of the two. Pairs of models that never met are left out.

    Raises
    ------
    MetricInputError
        Where the scores are not of comparisons, or an option is unknown.
    """
    AnalysisOptions(**options)
    rows: list[tuple[Any, ...]] = []
    for condition, part in _parts(scores):
        fit = fitted(part, fit_of(scores))
        order = sorted(
            range(len(fit.labels)), key=lambda place: (-_known(float(fit.strengths[place])), fit.labels[place])
        )
        rank = {fit.labels[place]: number for number, place in enumerate(order)}
        strength = dict(zip(fit.labels, fit.strengths.tolist(), strict=True))
        kept = {fit.labels[place] for place in largest_group(fit)}
        met: dict[tuple[str, str], list[tuple[float, float, str]]] = {}
        for a, b, outcome, weight, unit in part.select("a", "b", "outcome", "weight", "unit").iter_rows():
            pair, won = ((a, b), outcome) if rank[a] < rank[b] else ((b, a), 1 - outcome)
            met.setdefault(pair, []).append((won, weight, unit))
        for (a, b), found in sorted(met.items(), key=lambda item: (rank[item[0][0]], rank[item[0][1]])):
            outcomes = [won for won, _, _ in found]
            both = {a, b} <= kept
            rows.append(
                (condition, a, b, len(found), outcomes.count(1), outcomes.count(0.5), outcomes.count(0),
                 fsum(won * weight for won, weight, _ in found) / fsum(weight for _, weight, _ in found),
                 _expected(strength[a] - strength[b], fit.tie or 0) if both else None,
                 len({unit for _, _, unit in found}), None if both else "one of the two has no rating")
            )  # fmt: skip
    return build_frame(OPPONENTS, rows)


def _expected(difference: float, tie: float) -> float:
    """Return how often the first of two models wins, ties half, by the difference of strengths and Davidson's nu."""
    ahead = exp(difference / 2)
    return (ahead + tie / 2) / (ahead + 1 / ahead + tie)


def _known(strength: float) -> float:
    return -inf if isnan(strength) else strength


NEXT_PAIRS = columns(
    "condition model_a model_b difference difference_low difference_high comparisons left reason",
    difference=FrameColumn(
        "Strength of A minus strength of B, in points of Elo, without anchors.", shown="rank", signed=True
    ),
    difference_low=FrameColumn("Lower end of the interval of the difference.", shown="rank", signed=True),
    difference_high=FrameColumn("Upper end of the interval of the difference.", shown="rank", signed=True),
    comparisons=whole("How often the two were compared so far."),
    left=whole("On how many units of the scores the two were not compared; with 0 only new units can decide."),
)
_MOST_PAIRS = 20


def next_pairs(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return which pairs of models to judge next so that the order is decided, the least decided pair first.

    Two models are in a decided order where the interval of their difference excludes 0; see
    `attune_metrics.stats.pair_planning.next_pairs`.

    Parameters
    ----------
    scores : ScoreTable
        Scores of comparisons.
    **options
        ``level``; see `AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `NEXT_PAIRS`, at most 20 rows a judge; no row of a judge who has decided the order.

    Raises
    ------
    MetricInputError
        As `opponents`.
    """
    chosen = AnalysisOptions(**options)
    rows: list[tuple[Any, ...]] = []
    clusters = _clusters(scores)
    for condition, part in _parts(scores):
        met = part.group_by(pl.concat_list("a", "b").list.sort().alias("pair")).agg("unit")
        compared = {tuple(pair): units for pair, units in met.iter_rows()}
        fit = fitted(part.join(clusters, on="unit").with_columns(unit="cluster"), fit_of(scores))
        for one in planned_pairs(fit, n=_MOST_PAIRS, level=chosen.level):
            ends = [ELO * end if isfinite(end) else None for end in (one.difference, one.low, one.high)]
            why = "one of the two has no rating" if ends[0] is None else None
            pair = str(one.first), str(one.second)
            units = compared.get(tuple(sorted(pair)), [])
            rows.append((condition, *pair, *ends, len(units), clusters.height - len({*units}), why))
    return build_frame(NEXT_PAIRS, rows)


_OF_SHARES = "its interval is by Student's t over clusters on the logit scale"

ANALYSES: Mapping[str, Analysis] = {
    "bias": Analysis(
        function=bias,
        title="Bias of judges",
        note="Value: what the term adds to the side that has it, in points of Elo (400 are odds of 10 to 1) also with "
        "anchors, in one fit with the models. Chance: how often that side wins against an equal answer.",
        takes_metrics=False,
        estimate="value",
        row="a judge and term",
        columns=BIAS,
    ),
    "ratings_without_bias": Analysis(
        function=ratings_without_bias,
        title="Ratings without bias",
        note="Value: the rating of equally long answers, each shown first as often, by judges of other families, as "
        "far as Bias of judges has these terms; they are estimated in the same fit. Shift: the rating without bias "
        "minus the rating as judged, which alone goes through the anchors.",
        takes_metrics=False,
        rows_need="comparisons that say which answer was shown first, how long the answers are, or the families, and "
        "in which the order does not decide alone",
        estimate="value",
        row="a judge and model",
        columns=WITHOUT_BIAS,
    ),
    "orders": Analysis(
        function=orders,
        title="Agreement of the two orders",
        note=f"Value: the share of pairs of answers that were judged in both orders; {_OF_SHARES}.",
        takes_metrics=False,
        rows_need="pairs of answers that were judged in both orders",
        row="a judge and outcome",
        columns=ORDERS,
    ),
    "judges": Analysis(
        function=judges,
        title="Agreement of judges",
        note="Value: the share of pairs of answers on which both judges say the same; orders and repeats of a judge "
        f"are one verdict, people one judge; {_OF_SHARES}, of kappa by resampling. rank_shifts says how far ranks move "
        "by judge.",
        takes_metrics=False,
        rows_need="comparisons that name at least two judges",
        row="a pair of judges",
        columns=JUDGES,
    ),
    "opponents": Analysis(
        function=opponents,
        title="Opponents",
        note="Rate: the share of their comparisons that A won, ties half. Expected: the share that their ratings "
        "expect.",
        takes_metrics=False,
        row="a judge and pair of models that met",
        columns=OPPONENTS,
    ),
    "next_pairs": Analysis(
        function=next_pairs,
        title="Pairs to judge next",
        note="Pairs of models without a decided order, the least decided first: judge each on units on "
        "which it was not judged, and ask again. Difference: A minus B in points of Elo; its interval is by Student's "
        "t over clusters, with the standard error of independent comparisons where this is larger. Left: units of the "
        "scores on which the two were not compared; with 0 left, only new units can decide.",
        takes_metrics=False,
        rows_need="two models without a decided order",
        row="a judge and pair of models",
        columns=NEXT_PAIRS,
    ),
}


_MOST_ROWS = 200  # of a table on a page


def sections(page: PageScores, *, data: object, results: object) -> list[Section]:
    """Return what a page says of the judges: bias, ratings without it, agreement of orders and of judges."""
    del data, results
    found = []
    for name, entry in ANALYSES.items():
        frame = page.hide_small_cells(entry.function(page.table, **page.options))
        if frame.is_empty():
            found.append(Section(entry.title, left_out=f"needs {entry.rows_need}"))
            continue
        if entry.estimate and not frame[entry.estimate].count():
            found.append(
                Section(entry.title, left_out="; ".join(frame["reason"].drop_nulls().unique(maintain_order=True)))
            )
            continue
        if frame.height > _MOST_ROWS:
            found.append(Section(entry.title, left_out=f"{frame.height:,} rows; attune-bench analyze {name} has them"))
            continue
        tables = analysis_tables(page.table, name, entry, frame)
        found.append(Section(entry.title, with_note(tables, analysis_note(page.table, entry, frame, page.chosen))))
    return found
