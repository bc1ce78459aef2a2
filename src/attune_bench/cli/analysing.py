"""What the commands that take a file of scores share: reading it, the options of analyses, the records it is of."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import click

from attune_bench.benchmarks import benchmark_in_use
from attune_bench.benchmarks.base import Benchmark
from attune_bench.cli.options import ANALYSIS, chosen_variant
from attune_bench.cli.output import UserError, mistakes
from attune_bench.cli.reading import kind_of, read_all, read_scores
from attune_bench.progress import progress
from attune_bench.report.transcript_folder import TranscriptFolder
from attune_bench.scores import Scores
from attune_bench.stats.traits import unit_traits
from attune_data.query import Queryable
from attune_data.text import plural

__all__ = [
    "Given",
    "benchmark_of_scores",
    "check_pair",
    "nothing_to_compare",
    "read_analysed",
    "records_of",
    "sampling_of",
    "traits_of",
    "transcript_folder",
]

Given = Mapping[str, Any]
"""The options of a command, by name."""


def read_analysed(path: Path, given: Given) -> Scores:
    """Return the scores of a file, under the variant chosen."""
    with mistakes():
        scores = read_scores(path).variant(**chosen_variant(click.get_current_context()))
    if given.get("allow_mixed"):
        scores = scores.allow_mixed()
    if scores.values.is_empty():
        raise UserError(f"{path} has no score: no model was run on any {scores.provenance.unit}")
    named, own = given["benchmark"], scores.provenance.benchmark
    if named is not None and named != own:
        raise UserError(f"--benchmark is {named}, and the scores are of {own or 'no benchmark'}; leave it out")
    return scores


def sampling_of(given: Given) -> Any:
    """Return the options of every analysis."""
    return {name: given[name] for name in ANALYSIS}


def check_pair(model: Sequence[str]) -> None:
    """Refuse other than two different models, or none."""
    if len(dict.fromkeys(model)) != len(model) or len(model) not in {0, 2}:
        raise UserError(f"--model names {', '.join(model)}; name two models, or none for every two")


def nothing_to_compare(scores: Scores) -> str:
    """Return why scores have no two models to compare."""
    scored = plural(len(scores.models), "model")
    within = "" if scores.conditions == (None,) else f"no {scores.provenance.condition} has two models; "
    return f"Nothing to compare: {within}{scored} scored."


def benchmark_of_scores(scores: Scores) -> Benchmark | None:
    """Return the benchmark that the scores are of; None for a table of somebody else's."""
    return benchmark_in_use(scores.provenance.benchmark)


def records_of(scores: Scores, side: Literal["data", "results"], *sources: str) -> Any:
    """Return the records of sources that belong to the scores' benchmark."""
    benchmark = benchmark_of_scores(scores)
    reference = getattr(benchmark, side) if benchmark else None
    if reference is None:
        of = benchmark.title if benchmark else "a table"
        raise UserError(f"scores of {of} take no --{side}; leave it out")
    kind = kind_of(reference)
    with progress() as phase:
        return read_all(kind, sources, phase(f"reading {kind.plural}", None))


def traits_of(scores: Scores, data: str | None) -> Queryable:
    """Return what is asked for traits: the data, or without them the traits that the scores have."""
    if data is not None:
        found: Queryable = records_of(scores, "data", data)
        return found
    benchmark = benchmark_of_scores(scores)
    if not scores.traits and benchmark is not None and benchmark.data is not None:
        raise UserError(f"these scores have no traits of their {scores.provenance.unit}s; name the data with --data")
    return unit_traits(scores)


def transcript_folder(scores: Scores, html: Path, data: str | None, results: Sequence[str]) -> TranscriptFolder:
    """Return the folder beside a page for its transcripts; refuse these where the records are not given."""
    benchmark = benchmark_of_scores(scores)
    if benchmark is None:
        raise UserError("scores of a table have no records to show; leave out --transcripts")
    lacking = [] if results else ["--results"]
    if benchmark.data is not None and data is None:
        lacking.append("--data")
    if lacking:
        raise UserError(f"--transcripts shows what was scored; give {' and '.join(lacking)} too")
    folder = TranscriptFolder(name=f"{html.stem}-transcripts", page=html.name)
    try:
        folder.check(html.parent)
    except FileExistsError as error:
        raise UserError(f"{error}, or choose another --html") from None
    return folder
