"""Options of commands that analyse scores, or show records."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from attune_bench.benchmarks import benchmark_in_use
from attune_bench.cli.options import VerbCommand, all_of, many, option
from attune_bench.cli.output import UserError
from attune_bench.report.columns import INTERVALS
from attune_bench.report.document import FORMATS
from attune_bench.scores.benchmark import Choice
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import Margin
from attune_data.kinds import KINDS
from attune_data.text import listed

F = TypeVar("F", bound=Callable[..., Any])


def chosen_variant(ctx: click.Context, scores: ScoreTable) -> dict[str, str]:
    """Return the choices that were given; refuse choices of another benchmark than the scores'."""
    command = ctx.command
    assert isinstance(command, VerbCommand)  # noqa: S101 - of every command here
    found: dict[str, str] = {}
    for name, (choice, owners) in command._declared(ctx).items():
        if not isinstance(choice, Choice) or ctx.params[name] is None:
            continue
        if name not in scores.choices:
            benchmark = benchmark_in_use(scores.provenance.benchmark)
            of = f"are of {benchmark.title}" if benchmark else "are a table of results"
            flag, titles = f"--{name.replace('_', '-')}", listed([owner.title for owner in owners])
            raise UserError(f"{flag} is an option of {titles}, and these scores {of}; leave it out")
        found[name] = ctx.params[name]
    return found


_NOUNS = tuple(kind.noun for kind in KINDS)

kind_option = option(
    "--kind",
    f"Type of the records, if the content does not tell it, as for demo: {', '.join(_NOUNS)}.",
    _NOUNS,
    metavar="KIND",
)


def format_option(*formats: str) -> Callable[[F], F]:
    """Return the decorator that adds ``--format``."""
    return option("--format", "Output format.", formats or FORMATS, default="table")


def labels_option(before: str = "", *, required: bool = False) -> Callable[[F], F]:
    """Return the decorator that adds ``--labels``; `before` begins its help."""
    text = "People's ratings: a CSV, XLSX, JSONL or Parquet table with the columns model, condition, unit, rating."
    return option("--labels", f"{before}{text}", Path, required=required)


mixed_option = option(
    "--allow-mixed",
    "Compare models although their runs differ in a setting that changes answers; every output says so.",
    bool,
    folded=True,
)
metric_option = many("--metric", "A metric, as the scores name it; by default the main one.")
judge_option = option("--metric", "The judge's metric, as the scores name it; by default the main one.")
pair_option = option("--model", "Compare two models only: --model A B.", multiple=True)
margin_option = many(
    "--margin",
    "Are two models practically the same? The smallest difference that matters, in the unit of the file of scores: "
    "VALUE, METRIC=VALUE, or declared, for the margin that the metric declares.",
)


def number_of_looks(text: str) -> int | Literal["any"]:
    """Return the value of `--looks`."""
    try:
        return "any" if text == "any" else int(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a whole number nor any") from None


looks_options = all_of(
    option(
        "--looks",
        "Where the models are compared while the data come in: how often, up to 20 times, each after an equal part of "
        "the participants; or any, for any number of times.",
        number_of_looks,
        folded=True,
    ),
    option("--look", "Which of the --looks this is, from 1.", int, folded=True),
)


def margin_of(given: Sequence[str]) -> Margin | None:
    """Return the margin that is asked for.

    Examples
    --------
    >>> margin_of(["2"]), margin_of(["declared"]), margin_of(["wer=0.1", "hit=1"]), margin_of([])
    (2.0, 'declared', {'wer': 0.1, 'hit': 1.0}, None)
    """
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return "declared" if given[0] == "declared" else _margin_value(given[0], given[0])
    found: dict[str, float] = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        if not equals or not name or name in found:
            wanted = "VALUE, declared, or METRIC=VALUE once for each metric"
            raise UserError(f"--margin {' '.join(given)}: expected {wanted}")
        found[name] = _margin_value(value, text)
    return found


def _margin_value(value: str, text: str) -> float:
    try:
        return float(value)
    except ValueError:
        wanted = "VALUE, METRIC=VALUE or declared"
        raise UserError(f"--margin {text!r}: {value!r} is not a number; expected {wanted}") from None


_SAMPLING: Mapping[str, tuple[Any, Any, str]] = {
    "resamples": (int, 10_000, "Number of resamples and of random exchanges; at least 40 exchanges for each pair."),
    "seed": (int, 0, "The same seed gives the same numbers."),
    "level": (float, 0.95, "Confidence level of the intervals."),
    "unit": (None, "cluster", "Resampling unit: cluster, such as participant, or unit."),
    "weight": (None, "unit", "Average over units, or over clusters, such as participant."),
    "interval": (tuple(INTERVALS), "percentile-expanded", "Type of bootstrap interval."),
}
ANALYSIS = tuple(_SAMPLING)
"""The options of every analysis, as `attune_bench.stats.options.AnalysisOptions` names them."""


def sampling_options(*names: str) -> Callable[[F], F]:
    """Return the decorator that adds the options of every analysis, or those named."""
    chosen = {name: _SAMPLING[name] for name in names or ANALYSIS}
    return all_of(
        *(
            option(f"--{name}", said, kind, default=default, folded=True)
            for name, (kind, default, said) in chosen.items()
        )
    )


analysis_options = all_of(sampling_options(), format_option())
"""The options that every analysis takes, and ``--format``."""
