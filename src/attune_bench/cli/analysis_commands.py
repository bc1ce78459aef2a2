"""The commands that analyse scores: `report`, `compare`, `rank`, `subset`, `analyze`, `stats`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

import click
import polars as pl

from attune_bench.analyses import ANALYSES, Analysis
from attune_bench.cli.analysing import (
    Given,
    benchmark_of_scores,
    check_pair,
    nothing_to_compare,
    read_analysed,
    records_of,
    sampling_of,
    traits_of,
    transcript_folder,
)
from attune_bench.cli.options import (
    analysis_options,
    data_option,
    format_option,
    labels_option,
    margin_of,
    margin_option,
    metric_option,
    mixed_option,
    pair_option,
    results_option,
    scores_option,
    verb,
    where_option,
    where_traits,
)
from attune_bench.cli.output import (
    UserError,
    check_page,
    document_text,
    emit,
    mistakes,
    print_document,
    with_warnings,
    write_page,
)
from attune_bench.report.analysis import analysis_note, analysis_tables, exchanges_of, only_reason
from attune_bench.report.columns import Table
from attune_bench.report.distribution import distribution_tables
from attune_bench.report.render import Document, Format, json_content
from attune_bench.report.tables import (
    comparison_note,
    comparison_tables,
    rank_tables,
    subgroup_notes,
    subgroup_tables,
)
from attune_bench.report.text import document, report_document
from attune_bench.report.words import in_words, interval_words
from attune_bench.scores import Scores
from attune_bench.stats.comparison import check_shared_units, compare_by, count_significant, exchanges_of_all
from attune_bench.stats.options import AnalysisOptions
from attune_bench.stats.paired import enough_exchanges
from attune_bench.stats.subgroups import overlap, subgroups
from attune_bench.stats.summary import distribution
from attune_bench.stats.traits import strata_of
from attune_data.query import Queryable, none_of
from attune_data.references import resolve
from attune_data.text import columns_of_terminal, meant

__all__ = ["analyze", "compare", "rank", "report", "stats", "subset"]


def _options(scores: Scores, metric: Sequence[str], given: Given) -> Any:
    """Return the keywords of an analysis; the metric is by default the main one."""
    return {**sampling_of(given), "metrics": list(metric) or [scores.primary]}


@verb(variants=True)
@scores_option
@click.option("--html", type=click.Path(path_type=Path), help="Write this page instead: one self-contained file.")
@data_option("For --html: what was scored against")
@results_option("For --html: what was scored")
@click.option(
    "--small-cells", is_flag=True, help="For --html: show values of fewer than 5 people, and single units, too."
)
@click.option(
    "--transcripts",
    is_flag=True,
    help="For --html, with --results and --data: show the best and the worst of each model as texts, where their "
    "licence allows it; of people's own also with --small-cells.",
)
@margin_option
@labels_option("For --html, to correct a judge by. ")
@click.option("--label-metric", help="The judge's metric, which --labels rates; by default the main one.")
@mixed_option
@analysis_options
def report(
    scores: Path,
    html: Path | None,
    data: str | None,
    results: tuple[str, ...],
    small_cells: bool,
    transcripts: bool,
    margin: tuple[str, ...],
    labels: Path | None,
    label_metric: str | None,
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Print a report of scores, or with --html write a page with intervals, comparisons and figures.

    CSV: a row a model, the condition and metric, with value, low, high, n, clusters, coverage, excluded, reason and the
    signature. JSON: under models a row a model with every metric as a column; under summary each metric of the board
    with its interval.
    """
    read = read_analysed(scores, given)
    if html is None:
        if (
            results
            or small_cells
            or transcripts
            or margin
            or any(one is not None for one in (data, labels, label_metric))
        ):
            raise UserError(
                "--data, --results, --small-cells, --transcripts, --margin, --labels and --label-metric are for the "
                "page; give --html FILE too"
            )
        made, warned = with_warnings(lambda: report_document(read, format=format, **sampling_of(given)))
        print_document(replace(made, warnings=warned), format)
        return
    if format != "table":
        raise UserError("--format is for the report as text; leave out --format or --html")
    if label_metric is not None and labels is None:
        raise UserError("--label-metric says what --labels rates; give --labels FILE too")
    check_page(html, [scores, data, *results, labels])
    beside = transcript_folder(read, html, data, results) if transcripts else None
    of_data = None if data is None else records_of(read, "data", data)
    of_results = records_of(read, "results", *results) if results else None
    with mistakes():
        text = read.report(
            format="html", data=of_data, results=of_results, small_cells=small_cells, margin=margin_of(margin),
            labels=labels, label_metric=label_metric, transcripts=beside or False, **sampling_of(given),
        )  # fmt: skip
    write_page(html, text, beside)


@verb(variants=True)
@scores_option
@metric_option
@pair_option
@click.option("--by", help="A trait: compare within each of its values too, each corrected for itself.")
@data_option("For --by, where the scores do not have the trait: what was scored against")
@margin_option
@mixed_option
@analysis_options
def compare(
    scores: Path,
    metric: tuple[str, ...],
    model: tuple[str, ...],
    by: str | None,
    data: str | None,
    margin: tuple[str, ...],
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Compare every two models of a condition, on the units that both were run on.

    JSON: under comparisons model_a, model_b, the condition, metric, difference, low, high, p, p_min, p_holm,
    significant, n, clusters, mde, reason (with --by, stratum before these; with --margin, margin, p_same, p_same_holm,
    verdict behind them); under significant how many pairs differ.
    """
    read = read_analysed(scores, given)
    check_pair(model)
    if by is None and data is not None:
        raise UserError("--data is for --by; leave it out, or name a trait")
    options = {**_options(read, metric, given), "margin": margin_of(margin)}
    check_shared_units(read, model or None)
    if by is None:
        frame, warned = with_warnings(lambda: read.compare(*model, **options) if model else read.compare_all(**options))
    else:
        source = traits_of(read, data)
        frame, warned = with_warnings(lambda: compare_by(read, by, data=source, models=model or None, **options))
    resamples = given["resamples"]
    exchanges = enough_exchanges(1, resamples) if model else exchanges_of_all(read, resamples)
    asked = [f"compare {model[0]!r} with {model[1]!r}"] if model else []
    question = "; ".join([*asked, *([f"by {by}"] if by else [])]) or None
    if frame.is_empty():
        tables, note = [Table("comparisons", "", (), (), frame)], nothing_to_compare(read)
    else:
        tables = comparison_tables(read, frame)
        note = comparison_note(read, AnalysisOptions(**sampling_of(given)), exchanges, margin=bool(margin))
    tables.append(Table("significant", "", (), (), count_significant(frame)))
    with mistakes():
        signature = read.sign(question=question, models=model or None, exchanges=exchanges, of="differences", **options)
    print_document(document(read, tables, notes=[note], warnings=warned, signature=signature), format)


@verb(variants=True)
@scores_option
@metric_option
@mixed_option
@analysis_options
def rank(scores: Path, metric: tuple[str, ...], format: Format, **given: Any) -> None:  # noqa: A002
    """Rank the models, each with the interval in which other units would have put it.

    JSON: under ranks the condition, metric, model, value, rank, low, high, n, clusters, reason.
    """
    read = read_analysed(scores, given)
    options = _options(read, metric, given)
    frame, warned = with_warnings(lambda: read.rank(**options))
    said = interval_words(read, AnalysisOptions(**sampling_of(given)), resampled=True)
    note = f"In brackets, of the rank: {said}. The models are fixed."
    signature = read.sign(of="ranks", **options)
    made = document(read, rank_tables(read, frame), notes=[note], warnings=warned, signature=signature)
    print_document(made, format)


@verb(variants=True)
@scores_option
@data_option("Where the scores do not have the traits: what was scored against")
@where_option
@click.option("--filter", help='An SQL condition on traits, such as "promis_anxiety_t >= 60".')
@click.option("--by", help="A trait: one stratum for each of its values, of the units chosen.")
@click.option("--compare", is_flag=True, help="Set each stratum against its complement, the other units.")
@metric_option
@analysis_options
def subset(
    scores: Path,
    data: str | None,
    where: tuple[str, ...],
    filter: str | None,  # noqa: A002
    by: str | None,
    compare: bool,
    metric: tuple[str, ...],
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Score a part of the units, chosen by traits; or with --by each stratum of a trait.

    JSON: under subgroups stratum, n, clusters, metric, model, the condition, value, low, high, mark, reason; with
    --compare also difference, difference_low, difference_high, p, p_min, p_holm, significant.
    """
    read = read_analysed(scores, given)
    traits = where_traits(where)
    if not (traits or filter is not None or by):
        raise UserError("which units? Choose some, for instance --where TRAIT=VALUE, or use --by TRAIT")
    source = traits_of(read, data)
    with mistakes():
        part = source.where(**traits)
        if filter is not None:
            part = part.filter(filter)
    question = part.asked
    options = _options(read, metric, given)
    if by is None:
        known = _known(source, traits)
        frame, warned = with_warnings(lambda: _one(read, question, part, known, compare, options))
        overlapping, within = 0, known.unit_ids if compare else part.unit_ids
    else:
        frame, warned = with_warnings(lambda: read.by(by, data=part, compare=compare, **options))
        with mistakes():
            overlapping, within = overlap(strata_of(part, by)), part.unit_ids
    sampled = AnalysisOptions(**sampling_of(given))
    asked = "; ".join(text for text in (question, f"by {by}" if by else "", "compared" if compare else "") if text)
    made = document(
        read,
        subgroup_tables(read, frame),
        notes=subgroup_notes(read, frame, compared=compare, overlapping=overlapping, options=sampled),
        warnings=warned,
        signature=read.sign(within=within, question=asked, **options),
        metadata={"filter": asked, "overlapping": overlapping},
    )
    print_document(made, format)


def _known(source: Queryable, traits: Mapping[str, Any]) -> Queryable:
    """Return the units of which it is known whether they match: a complement has no others."""
    for name, values in traits.items():
        source = source.where(**{name: values}) | source.where(**{name: none_of(*values)})
    return source


def _one(scores: Scores, question: str, part: Queryable, known: Queryable, compare: bool, options: Any) -> pl.DataFrame:
    """Return the rows of one stratum and, for a comparison, those of its complement below them."""
    chosen, among = part.unit_ids, known.unit_ids
    frame = subgroups(scores, {question: chosen}, known=among, compare=compare, **options)
    if not compare:
        return frame
    rest = {f"not ({question})": set(among).difference(chosen)}
    return pl.concat([frame, subgroups(scores, rest, known=among, **options)], how="diagonal")


@verb(variants=True)
@click.argument("name", nargs=-1)
@scores_option
@data_option("What was scored against")
@results_option("What was scored")
@metric_option
@mixed_option
@analysis_options
def analyze(
    name: tuple[str, ...],
    scores: Path,
    data: str | None,
    results: tuple[str, ...],
    metric: tuple[str, ...],
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Do the analyses named, each with its uncertainty; all that these scores allow where none is named.

    For any scores: metric_correlation, condition_differences, rank_shifts, win_rates, ratings, variance_split,
    unit_difficulty; benchmarks have more, which a wrong name lists.

    JSON: a key for each analysis, with the rows of its table under rows and its signature and notes under metadata;
    under left_out what each analysis that was not done needs.
    """
    read = read_analysed(scores, given)
    benchmark = benchmark_of_scores(read)
    known: dict[str, Analysis] = {**ANALYSES, **(resolve(benchmark.analyses) if benchmark else {})}
    for asked in name:
        if asked not in known:
            raise UserError(f"no analysis {asked!r}; {meant(asked, known)}")
    sources = {"data": () if data is None else (data,), "results": results}
    left_out = {
        key: "needs " + " and ".join(f"--{need}" for need in lacking)
        for key, analysis in known.items()
        if (not name or key in name) and (lacking := [need for need in analysis.needs if not sources[need]])
    }
    if name and left_out:
        raise UserError("; ".join(f"{key} {why}" for key, why in left_out.items()))
    chosen = [key for key in (dict.fromkeys(name) or known) if key not in left_out]
    for key in chosen:
        if metric and name and not known[key].takes_metrics:
            raise UserError(f"{key} is of its own metrics; leave out --metric")
    if format == "csv" and len(chosen) != 1:
        raise UserError(f"--format csv is of one analysis; name one of {', '.join(chosen)}")
    needed = {need for key in chosen for need in known[key].needs}
    inputs: dict[str, Any] = {need: records_of(read, need, *sources[need]) for need in needed}
    with mistakes():
        sampled = AnalysisOptions(**sampling_of(given))
        sampled.draws_clusters(read)
        sampled.weighs_clusters(read)
    documents: dict[str, Document] = {}
    for key in chosen:
        try:
            documents[key] = _analysis(read, key, known[key], inputs, metric, given)
        except UserError as error:
            # Where none was named, one that does not suit these scores is no mistake.
            if name or metric or known[key].needs:
                raise
            left_out[key] = str(error)
    if format == "csv":
        for made in documents.values():
            print_document(made, format)
        return
    if format == "json":
        parts = {key: json_content(made) for key, made in documents.items()}
        rows = {key: {"metadata": part["metadata"], "rows": part[key]} for key, part in parts.items()}
        emit(json.dumps({**rows, "left_out": left_out}, indent=2))
        return
    if not name:
        for key in [key for key, made in documents.items() if not made.tables[0].rows]:
            frame = documents.pop(key).tables[0].frame
            why = None if frame is None else only_reason(frame, known[key].estimate)
            left_out[key] = why or f"needs {in_words(read, known[key].rows_need)}"
    blocks = [document_text(made, format) for made in documents.values()]
    if left_out:
        left = [fill(f"- {key}: {why}", columns_of_terminal(), subsequent_indent="  ") for key, why in left_out.items()]
        blocks.append("\n".join(["Left out:", "", *left]))
    emit("\n\n".join(blocks))


def _analysis(
    scores: Scores, key: str, analysis: Analysis, inputs: Mapping[str, Any], metric: Sequence[str], given: Given
) -> Document:
    """Return the document of one analysis."""
    chosen = list(metric) or (list(analysis.metrics) if analysis.metrics else None)
    keywords: dict[str, Any] = sampling_of(given)
    if analysis.takes_metrics:
        keywords["metrics"] = chosen
    needs = {need: inputs[need] for need in analysis.needs}
    frame, warned = with_warnings(lambda: analysis.function(scores, **needs, **keywords))
    notes = [analysis_note(scores, analysis, frame, AnalysisOptions(**sampling_of(given)))] if frame.height else []
    columns = [name for name in ("metric", "metric_a", "metric_b") if name in frame.columns]
    of_frame = dict.fromkeys(name for column in columns for name in frame[column] if name in scores.metrics)
    exchanges = exchanges_of(analysis, frame, given["resamples"])
    signature = scores.sign(
        question=f"analyze {key}", exchanges=exchanges, of="differences", **sampling_of(given),
        metrics=list(of_frame) or chosen,
    )  # fmt: skip
    return document(
        scores, analysis_tables(scores, key, analysis, frame), notes=notes, warnings=warned, signature=signature
    )


@verb(variants=True)
@scores_option
@metric_option
@format_option()
def stats(scores: Path, metric: tuple[str, ...], format: Format, **given: Any) -> None:  # noqa: A002
    """Print how each metric is distributed over the units of each model.

    JSON: under distribution model, the condition, metric, n, mean, sd, lowest, median, highest.
    """
    read = read_analysed(scores, given)
    with mistakes():
        frame = distribution(read, list(metric) or None)
    print_document(document(read, distribution_tables(read, frame)), format)
