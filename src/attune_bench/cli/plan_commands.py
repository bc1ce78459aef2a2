"""The command `plan`: how many participants a comparison needs."""

from pathlib import Path
from typing import Any

import click

from attune_bench.cli.analysing import check_pair, nothing_to_compare, read_analysed
from attune_bench.cli.options import (
    benchmark_option,
    format_option,
    metric_option,
    mixed_option,
    pair_option,
    verb,
)
from attune_bench.cli.output import UserError, mistakes, print_document, with_warnings
from attune_bench.report.planning import assumed_notes, assumed_table, pilot_notes, pilot_tables
from attune_bench.report.render import Document, Format
from attune_bench.report.text import document
from attune_bench.stats.planning import plan_from_assumptions

__all__ = ["plan"]

_ASSUMED = {"power": 0.8, "alpha": 0.05, "sided": 2, "looks": 1}


@verb(variants=True)
@click.option("--difference", type=float, help="The true difference to find, in the unit of the scores.")
@click.option("--participants", type=int, help="How many there will be: how small a difference do they show?")
@click.option("--scores", type=click.Path(path_type=Path), help="A pilot: scores of two models or more.")
@metric_option
@pair_option
@click.option("--sd", type=float, help="Without a pilot: the standard deviation of a unit's score.")
@click.option("--correlation", type=float, help="Without a pilot: of both models' scores on a unit; 0 is cautious.")
@click.option("--icc", type=float, help="Without a pilot: how alike the differences of a participant are, 0 to 1.")
@click.option(
    "--units-per-participant", type=float, help="Without a pilot: how many units each has on average; by default 1."
)
@click.option(
    "--units-cv",
    type=float,
    help="Without a pilot: standard deviation of the number of units of a participant, over its mean; by default 0, "
    "equally many. Usual are 0.5 to 1.",
)
@click.option("--looks", type=int, default=1, show_default=True, help="How often the data are tested; once only.")
@mixed_option
@benchmark_option("module:NAME, where the scores are of a benchmark of your own.")
@format_option()
def plan(
    difference: float | None,
    participants: int | None,
    scores: Path | None,
    metric: tuple[str, ...],
    model: tuple[str, ...],
    sd: float | None,
    correlation: float | None,
    icc: float | None,
    units_per_participant: float | None,
    units_cv: float | None,
    looks: int,
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Say how many participants a comparison of two models needs, or how small a difference some show.

    From a pilot, --scores; or from assumptions, --sd, --correlation and --icc.

    JSON: under plan model_a, model_b, the condition, metric, difference, participants, units, sd, correlation, icc,
    units_per_participant, units_cv, n, clusters, mde, reason; the last four are of the pilot.
    """
    stated = {
        "--sd": sd, "--correlation": correlation, "--icc": icc, "--units-per-participant": units_per_participant,
        "--units-cv": units_cv,
    }  # fmt: skip
    if (difference is None) == (participants is None):
        raise UserError(
            "give one of --difference, to learn how many participants it needs, and --participants, to learn how small "
            "a difference they show"
        )
    asked: dict[str, Any] = {"difference": difference, "participants": participants, "looks": looks}
    if scores is not None:
        if named := [name for name, value in stated.items() if value is not None]:
            raise UserError(f"{named[0]} is stated, and the pilot says it; leave out {named[0]}, or --scores")
        check_pair(model)
        read = read_analysed(scores, given)
        metrics = list(metric) or [read.primary]
        frame, warned = with_warnings(lambda: read.plan(models=model or None, metrics=metrics, **asked))
        notes = [nothing_to_compare(read)] if frame.is_empty() else pilot_notes(read)
        made = document(read, pilot_tables(read, frame), notes=notes, warnings=warned, metadata=_ASSUMED)
        print_document(made, format)
        return
    for name, value in {"metric": metric, "model": model, **given}.items():
        if value:
            raise UserError(f"--{name.replace('_', '-')} is of a pilot; name its --scores")
    if sd is None or correlation is None or icc is None:
        raise UserError("how many? Name a pilot with --scores, or state --sd, --correlation and --icc")
    of_each = 1.0 if units_per_participant is None else units_per_participant
    unequal = 0.0 if units_cv is None else units_cv
    with mistakes():
        frame = plan_from_assumptions(
            sd=sd, correlation=correlation, icc=icc, units_per_participant=of_each, units_cv=unequal, **asked
        )
    print_document(Document([assumed_table(frame)], notes=assumed_notes(), metadata=_ASSUMED), format)
