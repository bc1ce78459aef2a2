"""The command `judges`: how close judges are to experts who rated the same items."""

from pathlib import Path
from typing import Any

import click

from attune_bench.cli.options import format_option, many, verb
from attune_bench.cli.output import print_document, with_warnings
from attune_bench.report.closeness import closeness_note, closeness_tables
from attune_bench.report.render import Document, Format
from attune_bench.stats.judges import compare_judges

__all__ = ["judges"]


@verb()
@click.argument("ratings", type=click.Path(path_type=Path))
@many("--expert", required=True, help="A rater who is an expert; name at least two.")
@many("--judge", required=True, help="A rater who is a judge.")
@click.option(
    "--weights",
    type=click.Choice(("none", "linear", "quadratic")),
    default="quadratic",
    show_default=True,
    help="How far two ratings disagree: their distance, its square, or all alike.",
)
@click.option(
    "--by",
    type=click.Choice(("value", "rank")),
    default="value",
    show_default=True,
    help="Distance between the numbers, or between their ranks among those that two raters use.",
)
@click.option(
    "--margin",
    type=float,
    help="The largest loss of kappa that does not matter; without it no judge is called as close.",
)
@click.option("--pairs", is_flag=True, help="Print every two raters too; JSON always has them.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level of the intervals.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same numbers.")
@click.option("--resamples", type=int, default=10_000, show_default=True, help="How many resamples of the items.")
@format_option()
def judges(
    ratings: Path,
    expert: tuple[str, ...],
    judge: tuple[str, ...],
    weights: str,
    pairs: bool,
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Is a judge as close to an expert as another expert is? By dimension, from RATINGS of the same items.

    RATINGS is a CSV, JSONL or Parquet table with the columns item, rater, dimension, rating, and optional dataset and
    cluster, of items that belong together. No scores are needed.

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
    about = {"experts": list(expert), "judges": list(judge), "weights": weighting, **given}
    tables = closeness_tables(found.judges, found.pairs, all_pairs=pairs)
    print_document(Document(tables, notes=notes, warnings=warned, metadata=about), format)
