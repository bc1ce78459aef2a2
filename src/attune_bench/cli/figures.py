"""The command `figure`: one figure of scores as a file for a paper."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attune_bench.analyses import ANALYSES
from attune_bench.cli.analysis_options import metric_option, mixed_option, sampling_options
from attune_bench.cli.options import data_option, option, output_option, results_option, scores_option, verb
from attune_bench.cli.output import UserError, check_file, emit, mistakes, warnings_on_stderr, writing
from attune_bench.cli.scores import benchmark_of_scores, read_scores, records_of, sampling_of
from attune_bench.report import figures
from attune_bench.report.columns import in_words, profiled
from attune_bench.report.privacy import few_groups, hides, without_few
from attune_bench.scores.columns import Analysis
from attune_bench.scores.table import ScoreTable
from attune_bench.verbs.scores import Scores
from attune_data.references import resolve
from attune_data.text import did_you_mean, listed, plural, pluralize
from attune_metrics.metric import MetricInputError

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

_ENDINGS = (".pdf", ".svg", ".png", ".html")
_OF_ONE_METRIC: Mapping[str, Callable[..., "Chart"]] = {
    "scores": figures.scores,
    "ranks": figures.ranks,
    "win_rates": figures.win_rates,
    "unit_difficulty": figures.unit_difficulty,
    "cost_front": figures.cost_front,
}
_OF_METRICS: Mapping[str, Callable[..., "Chart"]] = {
    "profile": figures.profiles,
    "separation": figures.separation,
    "skills": figures.skills,
    "condition_differences": figures.condition_differences,
}
KINDS = (*_OF_ONE_METRIC, *_OF_METRICS)
"""The figures of any scores; benchmarks have further ones, see `attune_bench.scores.columns.Analysis.figure`."""


@verb("figure results.csv -o figure.pdf", "figure scores.json --kind profile -o profile.svg", variants=True)
@scores_option
@output_option("The file, a name in .pdf, .svg, .png or .html.", required=True)
@option(
    "--kind",
    "scores and ranks: each model with its interval. win_rates: how often a model beats another. profile: every "
    "metric of the models. unit_difficulty, separation, skills, condition_differences, cost_front: as analyze computes "
    "them. Benchmarks have further ones; an unknown KIND lists all that SCORES allow.",
    default="scores",
    metavar="KIND",
)
@metric_option
@option("--condition", "Which of several conditions, such as modes, to draw.")
@results_option("For cost_front, and where an analysis of a benchmark needs it: what was scored")
@data_option("Where an analysis of a benchmark needs it: what was scored against")
@option("--model", "For profile: one model, with the others as ticks.")
@option("--small-cells", "Draw values of fewer than 5 people, too.", bool, folded=True)
@mixed_option
@sampling_options()
def figure(
    scores: Path,
    output: Path,
    kind: str,
    metric: tuple[str, ...],
    condition: str | None,
    results: tuple[str, ...],
    data: str | None,
    model: str | None,
    small_cells: bool,
    **given: Any,
) -> None:
    """Draw SCORES as one figure: each model's value of the main metric with its interval, or another kind.

    Needs the extra plots: pip install 'attune-bench[plots]'.
    """
    if output.suffix.lower() not in _ENDINGS:
        raise UserError(f"--output {output} has to end in .pdf, .svg, .png or .html")
    check_file(output, [scores], "--output")
    if model is not None and kind != "profile":
        raise UserError(f"--model is for --kind profile, which draws one model; leave it out, or --kind {kind}")
    read = read_scores(scores, given)
    benchmark = benchmark_of_scores(read)
    known: dict[str, Analysis] = {**ANALYSES, **(resolve(benchmark.analyses) if benchmark else {})}
    own = {name: analysis for name, analysis in known.items() if analysis.figure is not None}
    if kind not in (kinds := [*KINDS, *own]):
        raise UserError(f"no kind {kind!r} of these scores; {did_you_mean(kind, kinds, len(kinds))}")
    sources = {"data": () if data is None else (data,), "results": results}
    needs = known[kind].needs if kind in known else ()
    for name, given_sources in sources.items():
        if given_sources and name not in needs:
            raise UserError(f"--kind {kind} takes no --{name}; leave it out")
    if lacking := [f"--{name}" for name in needs if not sources[name]]:
        raise UserError(f"--kind {kind} needs {' and '.join(lacking)}")
    shown = without_few(read, small_cells=small_cells)
    draw = _of_benchmark(kind, own[kind], metric, small_cells) if kind in own else _drawing(read, kind, metric, model)
    options = {} if kind == "unit_difficulty" else sampling_of(given)
    records = {need: records_of(read, need, *sources[need]) for need in needs}
    with mistakes(), warnings_on_stderr():
        chosen = _condition(read, condition)
        try:
            chart = draw(shown, condition=chosen, **records, **options)
        except MetricInputError:
            raise
        except ValueError as error:
            # What analyses say that they need is more than that nothing was found.
            need = in_words(read, known[kind].rows_need) if kind in known else ""
            if kind == "unit_difficulty":  # the analysis has the mean of one model too, the figure a deviation
                need = "scores of at least two models"
            example = f"; {known[kind].example}" if kind in known and known[kind].example else ""
            if why := str(error).split(": ", 2)[2:]:
                raise UserError(f"--kind {kind} has nothing to draw: {why[0]}{example}") from None
            raise UserError(f"--kind {kind} needs {need}{example}" if need else str(error)) from None
    with writing(output, "--output"):
        figures.save(chart, output)
    size = f"{output.stat().st_size / 1e3:.0f} kB"
    emit(f"{output}: {kind.replace('_', ' ')} of {plural(len(read.models), 'model')}, {size}")
    if hides(read, small_cells=small_cells) and (few := [name for name, _ in few_groups(read)]):
        emit(
            f"not drawn, as they rest on fewer than 5 {pluralize(read.provenance.cluster)} (--small-cells): "
            f"{listed(few)}"
        )


def _of_benchmark(
    kind: str, analysis: Analysis, metric: Sequence[str], small_cells: bool
) -> Callable[..., "Chart"]:  # fmt: skip
    """Return the function that draws an analysis with the metric that is asked for."""
    if metric and not analysis.takes_metrics:
        raise UserError(f"--kind {kind} is of its own metrics; leave out --metric")
    name = _only_metric(kind, metric)
    return partial(figures.of_analysis, analysis=analysis, metric=name, small_cells=small_cells)


def _only_metric(kind: str, metric: Sequence[str]) -> str | None:
    if len(metric) > 1:
        raise UserError(f"--kind {kind} draws one metric; name one with --metric, or choose --kind profile")
    return metric[0] if metric else None


def _drawing(scores: Scores, kind: str, metric: Sequence[str], model: str | None) -> Callable[..., "Chart"]:
    """Return the function that draws a kind of figure with the metrics and the model that are asked for."""
    if kind in _OF_ONE_METRIC:
        return partial(_OF_ONE_METRIC[kind], metric=_only_metric(kind, metric))
    if kind == "profile" and not metric and not profiled(scores, one_axis=model is not None):
        span = "a range from 0 to 1" if model else "a finite range"
        named = f"--metric {shlex.join(list(scores.metrics)[:3])}"
        raise UserError(f"no metric declares {span}, which a profile draws; name metrics, as in {named}")
    metrics: dict[str, Any] = {"metrics": list(metric)} if metric else {}
    if model is None:
        return partial(_OF_METRICS[kind], **metrics)
    if model not in scores.models:
        raise UserError(f"no model {model!r}; {did_you_mean(model, scores.models)}")
    return partial(figures.profile, model=model, **metrics)


def _condition(scores: ScoreTable, condition: str | None) -> str | None:
    """Return the condition to draw; refuse an unknown one, and none where there are several."""
    known = [one for one in scores.conditions if one is not None]
    word = scores.provenance.condition
    if condition is not None and condition not in known:
        raise UserError(f"no {word} {condition!r}; {did_you_mean(condition, known)}")
    if condition is None and len(known) > 1:
        raise UserError(f"a figure shows one {word}; choose one of {listed(known)} with --condition")
    return condition
