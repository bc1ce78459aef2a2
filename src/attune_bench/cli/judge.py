"""The commands about judges: `judge agree`, `consensus`, `draw`, `plan` and `correct`."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import click
import polars as pl

from attune_bench.cli.analysis_options import (
    analysis_options,
    format_option,
    judge_option,
    labels_option,
    mixed_option,
    sampling_options,
)
from attune_bench.cli.documents import print_document
from attune_bench.cli.help import VerbGroup
from attune_bench.cli.options import (
    FILE,
    many,
    option,
    output_option,
    own_benchmark_option,
    scores_argument,
    scores_option,
    verb,
)
from attune_bench.cli.output import UserError, emit, mistakes, page_progress, with_warnings, writing
from attune_bench.cli.scores import check_unstated, read_scores, sampling_of
from attune_bench.report.consensus import consensus_note, consensus_tables, consensus_warnings
from attune_bench.report.document import Document, Format, document
from attune_bench.report.judges import (
    closeness_note,
    closeness_tables,
    is_of_judges,
    judged_note,
    judged_tables,
    panels_note,
    panels_tables,
    plan_note,
    plan_table,
)
from attune_bench.scores.columns import build_frame
from attune_bench.scores.pair_tables import is_comparison_file, read_comparisons
from attune_bench.scores.pairwise import score
from attune_bench.scores.parts import KEYS
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.consensus import judge_consensus
from attune_bench.stats.debias import debias, debias_pairs
from attune_bench.stats.judges import compare_judges
from attune_bench.stats.label_planning import RATINGS_NEEDED, plan_judges, plan_labels
from attune_bench.stats.labels import Labels, draw_labels, kept_judges, rated_answers, read_labels
from attune_bench.stats.options import AnalysisOptions
from attune_bench.verbs.scores import Scores
from attune_data.export import to_csv
from attune_data.io.documents import write_whole
from attune_data.text import joined, plural, pluralize
from attune_metrics.comparisons import WIN_RATE
from attune_metrics.metric import MetricInputError
from attune_metrics.stats.judges import MIN_LABELS
from attune_metrics.stats.power import labels_needed

_people_option = option("--people", "In a table of ratings: the rater who is right, in place of --labels.")

_MOST_WARNINGS = 8
"""So many warnings of rows are printed."""


@verb("judge agree ratings.csv --expert ann bob --judge gpt")
@click.argument("ratings", type=FILE)
@many("--expert", "A rater who is an expert; name at least two.", required=True)
@many("--judge", "A rater who is a judge.", required=True)
@option(
    "--weights",
    "How far two ratings disagree: their distance, its square, or all alike.",
    ("none", "linear", "quadratic"),
    default="quadratic",
)
@option(
    "--by",
    "Distance between the numbers, or between their ranks among those that two raters use.",
    ("value", "rank"),
    default="value",
)
@option("--margin", "The largest loss of kappa that does not matter; without it no judge is called as close.", float)
@option("--pairs", "Print every two raters too; JSON always has them.", bool, folded=True)
@sampling_options("level", "seed", "resamples")
@format_option()
def agree(
    ratings: Path,
    expert: tuple[str, ...],
    judge: tuple[str, ...],
    weights: str,
    pairs: bool,
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Compare judges with experts who rated the same items.

    Is a judge as close to an expert as another expert is? The answer is by dimension, from RATINGS.

    RATINGS is a CSV, XLSX, JSONL or Parquet table with the columns item, rater, dimension, rating, and optional
    responder, whose answer to the item is rated, dataset, and cluster, of items that belong together. No scores are
    needed.

    JSON: under judges dataset, dimension, judge, with_experts, among_experts and shift, each with _low and _high,
    difference, low, high, verdict, expert_shift, judge_shift, n, clusters, reason; under pairs dataset, dimension,
    rater_a, rater_b, kappa, low, high, shift, shift_low, shift_high, n, clusters, reason.
    """
    weighting: Any = None if weights == "none" else weights
    found, warned = with_warnings(
        lambda: compare_judges(ratings, experts=expert, judges=judge, weights=weighting, **given)
    )
    level, by, margin = (given[name] for name in ("level", "by", "margin"))
    notes = [closeness_note(found.judges, weights=weighting, by=by, margin=margin, level=level)]
    if found.unused:
        notes.append(f"Not used, as neither experts nor judges: {', '.join(found.unused)}.")
    notes += found.notes
    about = {"experts": list(expert), "judges": list(judge), "weights": weighting, **given}
    tables = closeness_tables(found.judges, found.pairs, all_pairs=pairs)
    print_document(Document(tables, notes=notes, warnings=warned, metadata=about), format)


@verb("judge consensus ratings.csv")
@click.argument("ratings", type=FILE)
@many("--judge", "A rater who counts; by default all.")
@option("--confusion", "Print how often each judge gives each rating at each level; JSON always has it.", bool)
@sampling_options("level")
@format_option()
def consensus(ratings: Path, judge: tuple[str, ...], confusion: bool, level: float, format: Format) -> None:  # noqa: A002
    """Estimate levels and judges' errors without people.

    At least three judges rated the same responses, and nobody knows the truth. From how the judges agree, by dimension:
    the mean level of each model, and each judge's accuracy, leniency and spread. What all judges share cannot be seen.

    RATINGS is a CSV, XLSX, JSONL or Parquet table with the columns item, rater (or judge), dimension, rating, and
    optional responder (or model), dataset and cluster. No scores are needed.

    JSON: under models dataset, dimension, model, level, low, high, plain, n, clusters, reason; under judges dataset,
    dimension, judge, accuracy, leniency, spread, falls, n, reason; under confusion, pairs and units the judges'
    matrices, tests of shared errors and the level of each unit; attune-bench columns describes them.
    """
    found, warned = with_warnings(lambda: judge_consensus(ratings, judges=judge, level=level))
    notes = [*found.notes, consensus_note(found, level=level)]
    warnings = [*consensus_warnings(found, level=level), *warned]
    about = {"judges": list(judge) or sorted(found.judges["judge"].unique()), "level": level}
    tables = consensus_tables(found, confusion=confusion)
    print_document(Document(tables, notes=notes, warnings=warnings, metadata=about), format)


@verb("judge correct scores.json --labels labels.csv --metric avg_draft_judge_score", variants=True)
@scores_option
@labels_option()
@_people_option
@many("--judge", "In a table of ratings: a judge to use; by default all raters but --people.")
@judge_option
@mixed_option
@analysis_options
def correct(
    scores: Path,
    labels: Path | None,
    people: str | None,
    judge: tuple[str, ...],
    metric: str | None,
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Correct judges' scores by people's ratings of a part.

    The part is a random part of what the judge scored. A table of people's comparisons in pairs gives win rates. In a
    table of ratings by several raters, --people names the rater who is right, and the others are judges; these are
    corrected one by one and all together.

    Prints for every rated model, and for every two that people rated on the same units, what the judge says, what
    people say and the judge corrected; and which corrected differences are significant.

    JSON: rows under models and differences; attune-bench columns judge describes their columns.
    """
    read = read_scores(scores, given)
    sampled = sampling_of(given)
    notes = []
    with mistakes():
        if people is None and labels is not None and is_comparison_file(labels):
            metric = metric or WIN_RATE.name
            rates, left_out = _win_rates(read, labels, metric)
            notes += left_out
            held = read_labels(read, rates, metric=metric)
        else:
            read, held, left_out = _rated(read, labels, people, judge, metric)
            notes += left_out
    with page_progress() as begin:
        begin("models")
        frame, warned = with_warnings(lambda: debias(read, held, **sampled))
        begin("differences")
        pairs, of_pairs = with_warnings(lambda: debias_pairs(read, held, **sampled))
    tables = [*judged_tables(read, "models", frame), *judged_tables(read, "differences", pairs)]
    tested, several = bool(pairs["p"].count()), is_of_judges(read, frame)
    notes.append(judged_note(read, AnalysisOptions(**sampled), tested=tested, several=several))
    models = list(dict.fromkeys(frame["model"]))
    signature = read.sign(models=models, labels=held.hash, of="differences", metrics=[held.metric.name], **sampled)
    said = _shortened([*warned, *of_pairs], {*frame["note"], *pairs["note"]})
    print_document(document(read, tables, notes=notes, warnings=said, signature=signature), format)


def _shortened(warned: Sequence[str], notes: Collection[str | None]) -> list[str]:
    """Return the warnings, and of those that are notes of rows the first ones: ten models have a note in 200 rows.

    Notes that a judge is left out come before others.
    """
    of_rows = [text for text in warned if any(note is not None and text.endswith(f": {note}.") for note in notes)]
    if len(of_rows) <= _MOST_WARNINGS:
        return [*warned]
    left = sorted(of_rows, key=lambda text: "is left out" not in text)[_MOST_WARNINGS:]
    kept = [text for text in warned if text not in left]
    return [*kept, f"{plural(len(left), 'more warning')}: under note in --format json."]


def _win_rates(table: ScoreTable, path: Path, metric: str) -> tuple[pl.DataFrame, list[str]]:
    """Return how often each model won by people on each unit that a judge judged, and a sentence on other units."""
    if metric != WIN_RATE.name:
        raise MetricInputError(f"{path} has comparisons, which give win rates; give --metric {WIN_RATE.name}")
    by_people = score(read_comparisons(path)[0], judges="pooled").values
    rates = by_people.select("model", "unit", rating=WIN_RATE.name).drop_nulls()
    judged = table.values.drop_nulls(WIN_RATE.name).select(KEYS)
    others = rates.join(judged, on=["model", "unit"], how="anti").height
    units = pluralize(table.provenance.unit)
    said = (
        f"{path}: {others:,} of {rates.height:,} win rates are left out, as no judge judged the model on these {units}."
    )
    return judged.join(rates, on=["model", "unit"]), [said] * bool(others)


@verb("judge draw scores.json --metric avg_draft_judge_score --n 30 -o sheet.csv", variants=True)
@scores_option
@judge_option
@option("--n number", "How many units to rate, of every model.", int, required=True)
@sampling_options("seed")
@option("--by", "Sampling unit: unit, or cluster, until --n units are reached.", default="unit")
@output_option("The sheet, a name in .csv.", required=True)
def draw(scores: Path, metric: str | None, number: int, seed: int, by: str, output: Path, **given: Any) -> None:
    """Draw units at random for people to rate.

    Writes a sheet with an empty column rating.

    Rows are in the order in which units were drawn: who stops early has rated a random part. The sheet has no scores,
    so that nobody rates with the judge in view.
    """
    if output.suffix.lower() != ".csv":
        raise UserError(f"{output} does not end in .csv, the format of the sheet")
    if output.exists():
        raise UserError(f"{output} exists, and may have ratings; choose another --output")
    read = read_scores(scores, given)
    with mistakes():
        sheet = draw_labels(read, number, metric=metric, seed=seed, by=by)
    with writing(output, "--output"):
        write_whole(output, [to_csv(sheet).encode()])
    drawn = plural(sheet["unit"].n_unique(), read.provenance.unit)
    emit(f"{output}: {drawn}, {plural(sheet.height, 'row')} to rate; fill in the column rating")


@verb("judge plan --width 0.1 --sd 0.2 --correlation 0.6 --scored 200", variants=True)
@option("--width", "Of the interval, from end to end, in the metric's unit.", float)
@scores_argument(needed=False)
@labels_option()
@_people_option
@judge_option
@option("--price", "In place of --width: what scores and ratings (--rating-price each) of a model may cost.", float)
@option("--rating-price", "With --price: what a person's rating costs.", float, folded=True)
@many("--judge-price", "With --price: what a score by a judge costs, as NAME=PRICE.")
@option("--sd", "Without a pilot: the standard deviation of ratings.", float)
@option("--correlation", "Without a pilot: of judge and people.", float)
@option("--scored", "Without a pilot, or with --price: how many units the judge scores.", int)
@option("--design-effect", "Without a pilot: of clusters; 1 without any.", float, folded=True)
@sampling_options("level")
@own_benchmark_option
@format_option()
def plan_(
    width: float | None,
    scores: Path | None,
    labels: Path | None,
    people: str | None,
    metric: str | None,
    price: float | None,
    rating_price: float | None,
    judge_price: tuple[str, ...],
    level: float,
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Say how many ratings an interval needs, or which judges a price should pay.

    Give a pilot, which is SCORES of judges and --labels or --people; or state --sd, --correlation and --scored.

    With --price, --rating-price and --judge-price, SCORES are a table of ratings by several judges: which one, two or
    three of them, and how many ratings by people, give the shortest interval of a model's mean? People alone is one of
    the choices.

    JSON: rows under plan; attune-bench columns "ratings needed" describes their columns. With --price rows under
    panels, which attune-bench columns "panels of judges" describes.
    """
    if price is not None:
        if width is not None:
            raise UserError("--width and --price exclude each other: a price gives the width")
        check_unstated({name: given[name] for name in ("sd", "correlation", "design_effect") if given[name]}, "--price")
        if scores is None or rating_price is None or not judge_price:
            needs = "a pilot, which is SCORES and --labels or --people; --rating-price; and --judge-price NAME=PRICE"
            raise UserError(f"--price needs {needs}")
        read = read_scores(scores, given)
        with mistakes():
            prices = dict(map(_priced, judge_price))
            read, held, notes = _rated(read, labels, people, [*prices], metric)
        prices_of = {"price": price, "rating_price": rating_price, "judge_prices": prices, "scored": given["scored"]}
        panels, warned = with_warnings(lambda: plan_judges(read, held, level=level, **prices_of))
        notes += panels_note(read, panels, level)
        print_document(document(read, panels_tables(read, panels), notes=notes, warnings=warned), format)
        return
    if rating_price is not None or judge_price:
        raise UserError("--rating-price and --judge-price are for --price")
    if width is None:
        raise UserError("how wide? Give --width, or --price for the shortest interval that a price pays")
    names = ("sd", "correlation", "scored", "design_effect")
    stated = {name: given[name] for name in names if given[name] is not None}
    note = plan_note(level, MIN_LABELS)
    if scores is not None and not (labels is None and people is None):
        check_unstated(stated, "--labels" if people is None else "--people")
        read = read_scores(scores, given)
        with mistakes():
            read, held, _ = _rated(read, labels, people, (), metric)
        frame, _ = with_warnings(lambda: plan_labels(read, held, width=width, level=level))
        table = plan_table(frame, read.metrics, read.provenance.condition)
        print_document(document(read, [table], notes=[note]), format)
        return
    if scores is not None or labels is not None or people is not None or metric is not None:
        raise UserError("a pilot is SCORES and --labels or --people; or state --sd, --correlation and --scored alone")
    if not {"sd", "correlation", "scored"} <= stated.keys():
        raise UserError(
            "how many? Name a pilot by SCORES and --labels or --people, or state --sd, --correlation and --scored"
        )
    effect, n = stated.setdefault("design_effect", 1.0), stated.pop("scored")
    with mistakes():
        needed = labels_needed(
            width, spread=stated["sd"], correlation=stated["correlation"], units=n, design_effect=effect, level=level
        )
    row = {**dict.fromkeys(RATINGS_NEEDED), **stated, "width": width, "n": n, "labels": needed}
    frame = build_frame(RATINGS_NEEDED, [row])
    print_document(Document([plan_table(frame, {})], notes=[note]), format)


def _rated(
    read: Scores, labels: Path | None, people: str | None, judges: Sequence[str], metric: str | None
) -> tuple[Scores, Labels, list[str]]:
    """Return scores, people's ratings of them, from a table or from one of the raters, and what is left out."""
    if people is not None and labels is None:
        kept, part = read.rated_by(people, judges=judges, metric=metric)
        rated = rated_answers(kept_judges(read, [people]), part.metric)
    elif labels is None or people is not None:
        raise UserError(
            "name people's ratings by --labels, or in a table of ratings the rater who is right by --people"
        )
    else:
        held = read_labels(read, labels, metric=metric)
        kept, part = read, held
        if judges:
            kept = kept_judges(read, judges)
            part = held.of_part(read, kept)
        rated = rated_answers(read, held.metric, held.ratings)
    used = rated_answers(kept, part.metric, part.ratings)
    said: dict[str, list[str]] = {}
    for model, units in rated.items():
        if lost := len(units - used.get(model, set())):
            of = plural(len(units), f"rated {read.provenance.unit}")
            said.setdefault(f"{lost} of {of} left out, without a score by the judges.", []).append(model)
    return kept, part, [f"{joined(models)}{', each' * (len(models) > 1)}: {one}" for one, models in said.items()]


def _priced(text: str) -> tuple[str, float]:
    """Return the judge and the price of NAME=PRICE."""
    name, _, price = text.rpartition("=")
    try:
        return name, float(price)
    except ValueError:
        raise MetricInputError(f"--judge-price {text!r}: expected NAME=PRICE, such as gpt=0.01") from None


@click.group(cls=VerbGroup, examples=("judge plan --width 0.1 --sd 0.2 --correlation 0.6 --scored 200",))
def judge() -> None:
    """May a judge be trusted? Compare it with experts, or correct it by people's ratings of a part of the units.

    plan says how many ratings are needed; draw chooses units at random and writes a sheet to fill in, which correct
    reads. agree needs no scores: it compares judges with experts who rated the same items. consensus needs no people:
    it says what judges agree on.
    """


@click.group(cls=VerbGroup, examples=judge.examples)
def labels() -> None:
    """Have people rate a part of what a judge scored; the same as judge draw and judge plan."""


for _command in (agree, consensus, draw, plan_, correct):
    judge.add_command(_command)
labels.add_command(draw)
labels.add_command(plan_)
