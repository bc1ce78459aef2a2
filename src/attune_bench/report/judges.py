"""Tables of judges beside people: scores corrected by ratings, ratings needed, agreement with experts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from attune_bench.report.columns import (
    UNDEFINED,
    Cell,
    Column,
    Row,
    Table,
    count_column,
    estimate_column,
    interval_words,
    label,
    number,
    number_column,
    size_column,
    text_column,
    under_condition,
)
from attune_bench.report.tables import frame_columns, group_name, significant_words, with_frame
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.compare import count_significant
from attune_bench.stats.debias import JUDGED_MODELS, JUDGED_PAIRS
from attune_bench.stats.labels import has_judges
from attune_bench.stats.options import AnalysisOptions
from attune_data.text import joined, plural, pluralize
from attune_metrics.metric import Metric
from attune_metrics.stats.judges import MIN_LABELS

_KINDS = {
    "judge": ("judge", "judge_low", "judge_high", "n", "clusters"),
    "people": ("people", "people_low", "people_high", "labels", "label_clusters"),
    "corrected": ("corrected", "low", "high", "labels", "label_clusters"),
}


def judged_tables(table: ScoreTable, key: str, frame: pl.DataFrame) -> list[Table]:
    """Return a table for each condition of `frame`, from `debias` or `debias_pairs`: three rows a model or pair.

    A table of pairs is followed by a table of their tests. Several judges share a table, with a row for each, and the
    tests are of all judges together.
    """
    paired = "model_a" in frame.columns
    models = ["model_a", "model_b"] if paired else ["model"]
    names = frame_columns(table, JUDGED_PAIRS | JUDGED_MODELS, models)

    def of_group(metric: Metric, condition: str | None, rows: pl.DataFrame) -> Iterator[Table]:
        columns = [
            *names,
            text_column("according to", "kind"),
            estimate_column("value", "value", lambda _: metric, signed=paired),
            size_column(),
            *(_of_corrected(*column) for column in _OF_CORRECTED),
        ]
        under = under_condition(table, condition)
        made = [one for row in rows.to_dicts() for one in _three(row, models)]
        yield Table(key, f"{_title(metric, paired=paired)}{under}", columns, made)
        yield from tests(metric, under, rows)

    def of_judges(metric: Metric, rows: pl.DataFrame) -> Iterator[Table]:
        uncorrected = number_column("", "judge", lambda _: metric, signed=paired)
        columns = [
            *names,
            text_column("according to", "kind"),
            Column("uncorrected", lambda row: uncorrected.cell(row) if "judge" in row else Cell("")),
            estimate_column("corrected", "corrected", lambda _: metric, signed=paired),
            size_column(),
            *(_of_corrected(*column) for column in (*_OF_CORRECTED[1:], *_OF_JUDGES)),
        ]
        made = [
            one for _, own in rows.group_by(*models, maintain_order=True) for one in _with_judges(table, own, models)
        ]
        yield Table(key, f"{_title(metric, paired=paired)}, corrected", columns, made)
        for (condition,), own in rows.filter(_is_of_all(table)).group_by("condition", maintain_order=True):
            yield from tests(metric, f", {condition}", own)

    def tests(metric: Metric, under: str, rows: pl.DataFrame) -> Iterator[Table]:
        if paired and rows["p"].count():
            [count] = count_significant(rows).to_dicts()
            columns = frame_columns(table, JUDGED_PAIRS, ["p", "p_min", "p_holm", "significant"])
            said = f"{_title(metric, paired=True)} corrected{under}: {significant_words(table, count, rows)}"
            yield Table("tests", said, [*names, *columns], rows.to_dicts())

    tables: list[Table] = []
    for (name,), rows in frame.group_by("metric", maintain_order=True):
        metric = table.metrics[str(name)]
        if is_of_judges(table, rows):
            tables += of_judges(metric, rows)
        else:
            for (condition,), own in rows.group_by("condition", maintain_order=True):
                tables += of_group(metric, condition, own)
    return with_frame(key, frame, tables)


_OF_CORRECTED = ("slope", "slope", 2), ("r", "correlation", 2), ("equivalent", "equivalent_ratings", 0)
_OF_JUDGES = ("weight", "weight", 2), ("adds", "ratings_lost", 0)


def _title(metric: Metric, *, paired: bool) -> str:
    return f"{label(metric)}{', A minus B' if paired else ''}"


def _is_of_all(table: ScoreTable) -> pl.Expr:
    return ~pl.col("condition").is_in([one for one in table.conditions if one is not None])


def is_of_judges(table: ScoreTable, frame: pl.DataFrame) -> bool:
    """Whether rows of `debias` or `debias_pairs` are of several judges, with a row of all together."""
    return has_judges(table) and not frame.filter(_is_of_all(table)).is_empty()


def _with_judges(table: ScoreTable, rows: pl.DataFrame, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return what people say, and what each judge and all judges together say, of a model or a pair."""
    judges, of_all = rows.filter(~_is_of_all(table)).to_dicts(), rows.filter(_is_of_all(table)).to_dicts()
    found = []
    for row in of_all:
        people = {"kind": "people", "corrected": row["people"], "low": row["people_low"], "high": row["people_high"]}
        found += [{name: row[name] for name in (*names, "metric", "labels", "label_clusters")} | people]
    found += [{**row, "kind": row["condition"]} for row in judges]
    found += [
        {name: row[name] for name in row if name not in {"judge", "weight", "ratings_lost"}}
        | {"kind": row["condition"]}
        for row in of_all
    ]
    return [{"reason": None, **row, "n": row["labels"], "clusters": row["label_clusters"]} for row in found]


def _three(row: Row, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the judge says, what people say, and the judge corrected."""
    found = []
    for kind, (value, low, high, n, clusters) in _KINDS.items():
        own = {"kind": kind, "value": row[value], "low": row[low], "high": row[high], "n": row[n]}
        corrected = kind == "corrected"
        of_correction = {name: row[name] for _, name, _ in _OF_CORRECTED if corrected}
        of_correction["reason"] = row["reason"] if corrected else None
        found.append({**{name: row[name] for name in names}, **own, "clusters": row[clusters], **of_correction})
    return found


def _of_corrected(head: str, key: str, digits: int) -> Column:
    """Return a column of numbers; empty in rows that can have none."""

    def cell(row: Row) -> Cell:
        value = row.get(key)
        if value is None:
            return Cell(UNDEFINED if key in row else "")
        value = round(value, digits) + 0.0  # no -0
        return Cell(f"{value:.{digits}f}", value=value)

    return Column(head, cell)


def judged_warnings(table: ScoreTable, frame: pl.DataFrame) -> tuple[str, ...]:
    """Return why not to trust rows of `debias` or `debias_pairs`, each with the name of its model or pair."""
    found = []
    for row in frame.drop_nulls("note").iter_rows(named=True):
        name = row["model"] if "model" in row else f"{row['model_a']} minus {row['model_b']}"
        found.append(f"Warning: {group_name(table, name, row['condition'])}: {row['note']}.")
    return tuple(found)


def judged_note(table: ScoreTable, options: AnalysisOptions, *, tested: bool, several: bool = False) -> str:
    """Return the sentences below tables of corrected judges: with tests of differences or not, of one or several."""
    units = pluralize(table.provenance.unit)
    ratings = f"corrected: what people would have given all {units}, if chance chose the rated ones. "
    of_all = ", of all judges of predicted and given ratings" if several else ""
    last = (
        f"r: correlation of judge and people{of_all}. equivalent: how many ratings without the judge would be as "
        f"precise. In brackets: {interval_words(table, options)}."
    )
    if several:
        note = (
            f"people: mean rating of the rated {units}. uncorrected: the judge's mean of the {units} that it scored. "
            f"{ratings}all judges: corrected by the rating that the judges together predict, fitted to the ratings of "
            f"other {pluralize(table.provenance.cluster)}. weight: by how much this prediction rises with a point of "
            "the judge. adds: by how many equivalent ratings all judges are worse without this one; about 0 or below "
            f"where it adds nothing. {last}"
        )
    else:
        note = (
            f"judge: mean score of all {units}. people: mean rating of the rated ones. {ratings}slope: by how much "
            f"ratings rise with a point of the judge. {last}"
        )
    tests = (
        " p: that the corrected difference is 0; below 0.05 where its 95% interval, of the same resamples, excludes 0. "
        "p min: the smallest p that so many resamples could give. Holm p: corrected for the pairs of the table; two "
        "models differ where it is below 0.05."
    )
    return note + tests if tested else note


def beside_tables(table: ScoreTable, frame: pl.DataFrame) -> list[Table]:
    """Return a table for each metric of `beside_people`: how each judge rates above people, and follows them."""

    def of(metric: Metric, rows: pl.DataFrame) -> Table:
        columns = [
            text_column("judge", "judge", is_name=True),
            estimate_column("shift", "shift", lambda _: metric, signed=True),
            estimate_column("r", "correlation", _kappa, low="correlation_low", high="correlation_high"),
            size_column(),
        ]
        return Table("beside_people", label(metric), columns, rows.to_dicts())

    parts = frame.group_by("metric", maintain_order=True)
    return with_frame("beside_people", frame, [of(table.metrics[str(name)], rows) for (name,), rows in parts])


def beside_finding(table: ScoreTable, frame: pl.DataFrame, people: str) -> str:
    """Return which judges rate the main metric higher or lower than people by the whole interval."""
    rows = frame.filter(metric=table.primary).drop_nulls("low").to_dicts()
    higher, lower = ([row["judge"] for row in rows if sign * row[end] > 0] for sign, end in ((1, "low"), (-1, "high")))
    said = [
        f"{joined(names)} {'rates' if len(names) == 1 else 'rate'} {table.metric(table.primary).label} {way}"
        for names, way in ((higher, "higher"), (lower, "lower"))
        if names
    ]
    return f"{'; '.join(said)} than {people}" if said else ""


def beside_note(table: ScoreTable, options: AnalysisOptions, people: str) -> str:
    """Return the sentences below these tables."""
    return (
        f"shift: mean rating of the judge minus mean rating by {people}, on what both rated. r: correlation of single "
        f"ratings by both. n: answers that both rated, and in parentheses the {pluralize(table.provenance.cluster)} "
        f"that these are of. In brackets: {interval_words(table, options)}."
    )


def plan_table(frame: pl.DataFrame, metrics: Mapping[str, Metric], condition: str = "condition") -> Table:
    """Return the table of how many ratings are needed; without models where the numbers were stated.

    `condition` is what the scores call a condition, such as a rater, which is shown where there are several.
    """
    plain = Metric(name="value", label="Value")

    def of(row: Row) -> Metric:
        return metrics.get(str(row["metric"]), plain)

    columns = [
        *([text_column("model", "model", is_name=True)] if frame["model"].count() else []),
        *([text_column(condition, "condition", is_name=True)] if frame["condition"].n_unique() > 1 else []),
        number_column("width", "width", of),
        number_column("sd", "sd", of),
        _rounded("r", "correlation"),
        _rounded("design effect", "design_effect"),
        count_column("pilot", "pilot"),
        count_column("scored", "n"),
        count_column("ratings needed", "labels"),
    ]
    return Table("plan", "How many ratings", columns, frame.to_dicts(), frame)


def _rounded(head: str, key: str) -> Column:
    return Column(head, lambda row: Cell(UNDEFINED if row[key] is None else f"{row[key]:.2f}", value=row[key]))


_BEST = 5  # panels of a model that a table shows; the frame has all


def panels_tables(table: ScoreTable, frame: pl.DataFrame) -> list[Table]:
    """Return for each model the best panels of `plan_judges`, and people alone."""

    def of(row: Row) -> Metric:
        return table.metrics[row["metric"]]

    columns = [
        text_column("judges", "judges", is_name=True),
        count_column("ratings", "ratings"),
        _rounded("spent", "spent"),
        _rounded("r", "correlation"),
        _rounded("design effect", "design_effect"),
        number_column("width", "width", of),
    ]
    tables = []
    for (model,), rows in frame.group_by("model", maintain_order=True):
        shown = pl.concat([rows.head(_BEST), rows.slice(_BEST).filter(judges="")])
        shown = shown.with_columns(judges=pl.when(judges="").then(pl.lit("people alone")).otherwise("judges"))
        tables.append(Table("panels", f"{of(rows.row(0, named=True)).label}, {model}", columns, shown.to_dicts()))
    return with_frame("panels", frame, tables)


def panels_note(table: ScoreTable, frame: pl.DataFrame, level: float) -> list[str]:
    """Return for each model whether judges are worth their price, and the sentences below the tables."""
    said = []
    for (model,), rows in frame.group_by("model", maintain_order=True):
        best = rows.row(0, named=True)
        metric = table.metrics[best["metric"]]
        width, alone = number(best["width"], metric), number(best["alone"], metric)
        panels = rows.filter(pl.col("judges") != "")
        if panels.is_empty():
            said.append(
                f"{model}: no judge is left that can be paid beside two ratings; people alone give an interval {alone} "
                "wide."
            )
        elif best["judges"] == "":
            said.append(
                f"{model}: no panel of judges is worth its price: people alone give the shortest interval, {alone} "
                "wide."
            )
        else:
            said.append(
                f"{model}: {best['judges']} and {plural(best['ratings'], 'rating')} give the shortest interval, "
                f"{width} wide; people alone, at this price, one {alone} wide."
            )
    units = pluralize(table.provenance.unit)
    said.append(
        f"ratings: what the judges' scores of all {units} leave of the price. r: correlation of people and of what the "
        f"judges predict without their ratings, in the pilot. width: expected, from end to end of the {100 * level:g}% "
        "interval of the corrected mean. The pilot says r only roughly, and the best of many panels is partly best by "
        f"chance: prefer fewer judges where widths are close. Rate at least {MIN_LABELS}, drawn at random by judge "
        "draw."
    )
    return said


def plan_note(level: float, fewest: int) -> str:
    """Return the sentences below a plan."""
    return (
        f"width: from end to end of the {100 * level:g}% interval of the corrected mean. sd: of the ratings. r: "
        "correlation of judge and people. A pilot says both only roughly: plan for a lower r. Rate at least "
        f"{fewest}, drawn at random by judge draw."
    )


def closeness_tables(judges: pl.DataFrame, pairs: pl.DataFrame, *, all_pairs: bool) -> list[Table]:
    """Return the tables of `attune_bench.stats.judges.compare_judges`, for each data set; pairs where asked for."""
    agreement = [
        text_column("dimension", "dimension", is_name=True),
        text_column("judge", "judge", is_name=True),
        number_column("with", "with_experts", _kappa),
        number_column("among", "among_experts", _kappa),
        estimate_column("difference", "difference", _kappa, signed=True),
        text_column("verdict", "verdict"),
        size_column(),
    ]
    shifts = [
        *agreement[:2],
        _shift(),
        number_column("of two experts", "expert_shift", rating_metric),
        number_column("of two judges", "judge_shift", rating_metric),
    ]
    twos = [
        agreement[0],
        text_column("A", "rater_a", is_name=True),
        text_column("B", "rater_b", is_name=True),
        estimate_column("kappa", "kappa", _kappa),
        _shift("B minus A"),
        size_column(),
    ]
    title = "Kappa of a judge with experts, and of experts among themselves"
    tables = with_frame("judges", judges, by_dataset("judges", title, agreement, judges))
    # The first tables have their frame and footnotes already.
    moved = judges.filter(pl.col("shift").is_not_null()).with_columns(reason=pl.lit(None, dtype=pl.String))
    tables += by_dataset("judges", "Mean rating, judge minus experts", shifts, moved)
    of_pairs = by_dataset("pairs", "Kappa of every two raters", twos, pairs) if all_pairs else ()
    return [*tables, *with_frame("pairs", pairs, of_pairs)]


def _kappa(_: Row) -> Metric:
    return Metric(name="kappa", label="Kappa", digits=3)


def rating_metric(_: Row) -> Metric:
    """Return how a mean of ratings is shown."""
    return Metric(name="rating", label="Rating", digits=2)


def _shift(head: str = "shift") -> Column:
    return estimate_column(head, "shift", rating_metric, low="shift_low", high="shift_high", signed=True)


def by_dataset(key: str, title: str, columns: list[Column], frame: pl.DataFrame) -> Iterator[Table]:
    """Yield a table for each data set, which its title names."""
    for (dataset,), rows in frame.group_by("dataset", maintain_order=True):
        yield Table(key, title if dataset is None else f"{dataset}: {title}", columns, rows.to_dicts())


def closeness_note(judges: pl.DataFrame, *, weights: str | None, by: str, margin: float | None, level: float) -> str:
    """Return the sentences below the tables."""
    drawn = "items" if judges["clusters"].equals(judges["n"]) else "clusters of items"
    weighting = f"{weights} weights by {by}" if weights else "unweighted"
    given = judges["verdict"].count()
    within = "" if margin is None else f"as close: it is above -{margin:g}, the largest loss that does not matter. "
    return (
        f"Cohen's kappa, {weighting}. with: mean of the judge's kappas with each expert. among: mean over every two "
        f"experts. In brackets: {100 * level:g}% intervals by resampling {drawn} (expanded percentile). closer, less "
        f"close: the interval of the difference is above 0, below 0. {within}undecided: the data do not tell, which "
        f"is no sign that judge and experts are equal. Of {plural(given, 'verdict')}, about {given * (1 - level):.1f} "
        "would be closer or less close by chance if every judge were as close as an expert. shift: by how much a mean "
        "score moves where the judge takes the place of an expert; of two experts, of two judges: by how much at most "
        "where one takes the place of another."
    )
