"""The commands `debias`, `labels draw` and `labels plan`: a judge's scores corrected by people's ratings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from attune_bench.cli.options import (
    NamedPath,
    analysis_options,
    benchmark_option,
    format_option,
    labels_option,
    mixed_option,
    scores_option,
    verb,
)
from attune_bench.cli.output import UserError, emit, mistakes, print_document, with_warnings
from attune_bench.cli.reading import read_analysed, sampling_of
from attune_bench.report.document import document
from attune_bench.report.tables import judged_note, judged_tables, plan_note, plan_table
from attune_bench.report.text import Document, Format
from attune_bench.scores.columns import build_frame
from attune_bench.stats.debias import RATINGS_NEEDED, debias_pairs, draw_labels, plan_labels, read_labels
from attune_bench.stats.debias import debias as debias_scores
from attune_bench.stats.options import AnalysisOptions
from attune_data.export import to_csv
from attune_data.io.documents import write_whole
from attune_data.text import plural
from attune_metrics.stats.judges import MIN_LABELS
from attune_metrics.stats.power import labels_needed

F = TypeVar("F", bound=Callable[..., Any])
_METRIC = click.option("--metric", help="The judge's metric, as the scores name it; by default the main one.")
_BENCHMARK = "module:NAME, where the scores are of a benchmark of your own."


@verb(variants=True)
@scores_option
@labels_option(required=True)
@_METRIC
@mixed_option
@analysis_options
def debias(scores: Path, labels: Path, metric: str | None, format: Format, **given: Any) -> None:  # noqa: A002
    """Correct a judge's scores by people's ratings of a random part of what it scored.

    Prints for every rated model, and for every two that people rated on the same units, what the judge says, what
    people say and the judge corrected; and which corrected differences are significant.

    JSON: rows under models and differences; attune-bench columns debias describes their columns.
    """
    read = read_analysed(scores, given)
    sampled = sampling_of(given)
    with mistakes():
        held = read_labels(read, labels, metric=metric)
    frame, warned = with_warnings(lambda: debias_scores(read, held, **sampled))
    pairs, of_pairs = with_warnings(lambda: debias_pairs(read, held, **sampled))
    tables = [*judged_tables(read, "models", frame), *judged_tables(read, "differences", pairs)]
    notes = [judged_note(read, AnalysisOptions(**sampled), tested=bool(pairs["p"].count()))]
    models = list(dict.fromkeys(frame["model"]))
    signature = read.sign(models=models, labels=held.hash, of="differences", metrics=[held.metric.name], **sampled)
    print_document(document(read, tables, notes=notes, warnings=[*warned, *of_pairs], signature=signature), format)


@click.group()
def labels() -> None:
    """Have people rate a part of what a judge scored, to correct the judge by.

    plan says how many ratings are needed, draw chooses what is rated at random and writes the sheet to fill in, which
    attune-bench debias reads.
    """


@verb(variants=True)
@scores_option
@_METRIC
@click.option("--n", "number", type=int, required=True, help="How many units to rate, of every model.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same units.")
@click.option(
    "--by", default="unit", show_default=True, help="What is drawn: unit, or cluster, until --n units are reached."
)
@click.option("--output", "-o", type=NamedPath(path_type=Path), required=True, help="The sheet, a name in .csv.")
def draw(scores: Path, metric: str | None, number: int, seed: int, by: str, output: Path, **given: Any) -> None:
    """Draw units at random for people to rate, and write a sheet with an empty column rating.

    Rows are in the order in which units were drawn: who stops early has rated a random part. The sheet has no scores,
    so that nobody rates with the judge in view.
    """
    if output.suffix.lower() != ".csv":
        raise UserError(f"{output} does not end in .csv, the format of the sheet")
    if output.exists():
        raise UserError(f"{output} exists, and may have ratings; choose another --output")
    read = read_analysed(scores, given)
    with mistakes():
        sheet = draw_labels(read, number, metric=metric, seed=seed, by=by)
    try:
        write_whole(output, [to_csv(sheet).encode()])
    except OSError as error:
        raise UserError(f"{output} cannot be written: {error.strerror or error}") from None
    drawn, rows = sheet["unit"].n_unique(), sheet.height
    held = read.provenance
    emit(f"{output}: {plural(drawn, held.unit)}, {plural(rows, 'row')} to rate; fill in the column rating")


@verb(variants=True)
@click.option("--width", type=float, required=True, help="Of the interval, from end to end, in the metric's unit.")
@click.option("--scores", type=click.Path(path_type=Path), help="What the judge gave, with --labels of a pilot.")
@labels_option()
@_METRIC
@click.option("--sd", type=float, help="Without a pilot: the standard deviation of ratings.")
@click.option("--correlation", type=float, help="Without a pilot: of judge and people.")
@click.option("--scored", type=int, help="Without a pilot: how many units the judge scored.")
@click.option("--design-effect", type=float, default=None, help="Without a pilot: of clusters; 1 without any.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level of the interval.")
@benchmark_option(_BENCHMARK)
@format_option()
def plan(
    width: float,
    scores: Path | None,
    labels: Path | None,
    metric: str | None,
    sd: float | None,
    correlation: float | None,
    scored: int | None,
    design_effect: float | None,
    level: float,
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Say how many ratings an interval of a width needs, from a pilot or from stated numbers.

    JSON: rows under plan; attune-bench columns "ratings needed" describes their columns.
    """
    stated = {"--sd": sd, "--correlation": correlation, "--scored": scored, "--design-effect": design_effect}
    named = [name for name, value in stated.items() if value is not None]
    note = plan_note(level, MIN_LABELS)
    if scores is not None and labels is not None:
        if named:
            raise UserError(f"{named[0]} is stated, and the pilot says it; leave out {named[0]}, or --labels")
        read = read_analysed(scores, given)
        frame, _ = with_warnings(lambda: plan_labels(read, labels, width=width, metric=metric, level=level))
        print_document(document(read, [plan_table(frame, read.metrics)], notes=[note]), format)
        return
    if scores is not None or labels is not None or metric is not None:
        raise UserError("a pilot is --scores and --labels; or state --sd, --correlation and --scored alone")
    if sd is None or correlation is None or scored is None:
        raise UserError("how many? Name a pilot with --scores and --labels, or state --sd, --correlation and --scored")
    effect = 1.0 if design_effect is None else design_effect
    with mistakes():
        needed = labels_needed(
            width, spread=sd, correlation=correlation, units=scored, design_effect=effect, level=level
        )
    row = (None, None, None, width, sd, correlation, effect, None, scored, needed, None)
    frame = build_frame(RATINGS_NEEDED, [row])
    print_document(Document([plan_table(frame, {})], notes=[note]), format)


labels.add_command(draw)
labels.add_command(plan)
