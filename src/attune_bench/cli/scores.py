"""The commands of scores: what they print of values, comparisons, ranks, subgroups, analyses and plans."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

import click
import polars as pl

from attune_bench.analyses import ANALYSES
from attune_bench.benchmarks import all_benchmarks, benchmark_in_use
from attune_bench.cli.analysis_options import (
    ANALYSIS,
    analysis_options,
    chosen_variant,
    format_option,
    labels_option,
    looks_options,
    margin_of,
    margin_option,
    metric_option,
    mixed_option,
    pair_option,
)
from attune_bench.cli.documents import document_text, print_document, signature_hint
from attune_bench.cli.options import (
    data_option,
    no_scores,
    option,
    own_benchmark_option,
    results_option,
    scores_argument,
    scores_option,
    verb,
    where_option,
    where_traits,
)
from attune_bench.cli.output import (
    UserError,
    check_page,
    emit,
    kind_of,
    mistakes,
    page_progress,
    progress,
    with_warnings,
    write_page,
    write_warnings,
)
from attune_bench.cli.scoring import say_alone, score_sources
from attune_bench.cli.sources import (
    Scored,
    baselines_option,
    making,
    problems_of,
    read,
    records_instead,
    scored_benchmark,
)
from attune_bench.cli.tables import columns_of
from attune_bench.report.columns import Table, in_words, interval_words
from attune_bench.report.comparisons import comparison_note, comparison_tables, matrices, quotes
from attune_bench.report.document import Document, Format, document, json_content
from attune_bench.report.notes import missing_notes, unequal_units_notes
from attune_bench.report.tables import (
    analysis_note,
    analysis_tables,
    assumed_notes,
    assumed_table,
    distribution_tables,
    exchanges_of,
    only_reason,
    pilot_notes,
    pilot_tables,
    rank_tables,
    subgroup_notes,
    subgroup_tables,
)
from attune_bench.report.text import report_document
from attune_bench.report.transcripts import TranscriptFolder
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.columns import Analysis
from attune_bench.stats.compare import check_shared_units, count_significant, enough_exchanges, exchanges_of_all
from attune_bench.stats.options import AnalysisOptions
from attune_bench.stats.planning import plan_from_assumptions
from attune_bench.stats.subgroups import compare_by, overlap, strata_of, subgroups, unit_traits
from attune_bench.stats.summary import DISTRIBUTION, distribution
from attune_bench.verbs.scores import Scores
from attune_data.query import Queryable, none_of
from attune_data.references import resolve
from attune_data.text import columns_of_terminal, did_you_mean, listed, plural, pluralize
from attune_metrics.signature import short_signature

Given = Mapping[str, Any]
"""What a command was given, by parameter."""


def read_scores(path: Path, given: Given) -> Scores:
    """Return the scores of a file, under the variant chosen.

    Raises
    ------
    UserError
        Where the file has no scores; for a file of records the message says so.
    """
    if path == Path("demo") and not path.exists():
        made = making(click.get_current_context(), "demo", "demo")
        raise UserError(f"demo has records, no scores; {made}")
    try:
        scores = Scores.read(path, columns=columns_of(given["columns"]))
    except ValueError as error:
        raise UserError(records_instead(click.get_current_context(), str(path)) or str(error)) from None
    scores = _as_chosen(scores, given)
    if scores.values.is_empty():
        raise UserError(f"{path} has no score: no model was run on any {scores.provenance.unit}")
    named, own = given["benchmark"], scores.provenance.benchmark
    if named is not None and named != own:
        raise UserError(f"--benchmark is {named}, and the scores are of {own or 'no benchmark'}; leave it out")
    return scores


def _as_chosen(scores: Scores, given: Given) -> Scores:
    """Return scores under the variant chosen, of models that may differ in a setting where that was asked for."""
    with mistakes():
        scores = scores.variant(**chosen_variant(click.get_current_context(), scores))
    return scores.allow_mixed() if given.get("allow_mixed") else scores


def scores_given(path: Path | None, given: Given) -> tuple[Scores, Scored[Scores] | None]:
    """Return the scores of a file, or without a file the scores of ``--results``, and what these were made of.

    Raises
    ------
    UserError
        There is neither a file nor results, or as `read_scores` and `attune_bench.cli.sources.score_sources`.
    """
    if path is not None:
        if given["baselines"]:
            raise UserError("--baselines is for results; give --results in place of SCORES, or leave it out")
        return read_scores(path, given), None
    results, data = given["results"], given["data"]
    if not results:
        raise UserError(no_scores(click.get_current_context()))
    benchmark = scored_benchmark(given["benchmark"], results, data)
    if given["columns"] is not None:
        raise UserError("--columns names the columns of a table, and --results has records; leave --columns out")
    with progress() as phase:
        made = score_sources(benchmark, results, data, phase, name=given["benchmark"], baselines=given["baselines"])
    if problems := problems_of(made, results, data, forced=given["benchmark"]):
        write_warnings([problems])
    return _as_chosen(made.scores, given), made


def sampling_of(given: Given) -> Any:
    """Return the options of every analysis."""
    return {name: given[name] for name in ANALYSIS}


def benchmark_of_scores(scores: Scores) -> Benchmark | None:
    """Return the benchmark that the scores are of; None for a table of the user's own."""
    return benchmark_in_use(scores.provenance.benchmark)


def records_of(scores: Scores, side: Literal["data", "results"], *sources: str) -> Any:
    """Return the records of sources that belong to the scores' benchmark."""
    benchmark = benchmark_of_scores(scores)
    if (reference := getattr(benchmark, side, None)) is None:
        of = benchmark.title if benchmark else "a table"
        raise UserError(f"scores of {of} take no --{side}; leave it out")
    return read(kind_of(reference), sources)


def traits_of(scores: Scores, data: str | None) -> Queryable:
    """Return the source of traits: the data, or without data the traits that the scores have."""
    if data is not None:
        found: Queryable = records_of(scores, "data", data)
        return found
    benchmark = benchmark_of_scores(scores)
    if not scores.traits and benchmark is not None and benchmark.data is not None:
        raise UserError(
            f"these scores have no traits of their {pluralize(scores.provenance.unit)}; name the data with --data"
        )
    return unit_traits(scores)


def check_pair(model: Sequence[str]) -> None:
    """Refuse other than two different models, or none."""
    if len(dict.fromkeys(model)) != len(model) or len(model) not in {0, 2}:
        raise UserError(f"--model names {', '.join(model)}; name two models, or none for every two")


def check_unstated(stated: Given, pilot: str) -> None:
    """Refuse a stated number beside a pilot, which the option `pilot` names."""
    if stated:
        flag = f"--{next(iter(stated)).replace('_', '-')}"
        raise UserError(f"{flag} is stated, and the pilot says it; leave out {flag}, or {pilot}")


def nothing_to_compare(scores: Scores) -> str:
    """Return why scores have no two models to compare."""
    scored = plural(len(scores.models), "model")
    within = "" if scores.conditions == (None,) else f"no {scores.provenance.condition} has two models; "
    return f"Nothing to compare: {within}{scored} scored; attune-bench report shows the values."


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


def _options(scores: Scores, metric: Sequence[str], given: Given) -> Any:
    """Return the keywords of an analysis; the metric is by default the main one."""
    return {**sampling_of(given), "metrics": list(metric) or [scores.primary]}


def _reportable(path: Path | None, given: Given) -> tuple[Scores, Scored[Scores] | None]:
    """Return what `scores_given` does; refuse models without a common unit."""
    read, scored = scores_given(path, given)
    with mistakes():
        check_shared_units(read)
    return read, scored


@verb("report scores.json", "report --results demo --data demo --baselines --html report.html", variants=True)
@scores_argument(needed=False)
@results_option("What models made, to score in place of SCORES; or with SCORES and --html what was scored")
@data_option("What the results are of; or with SCORES and --html what was scored against")
@baselines_option
@own_benchmark_option
@option("--html", "Write this page instead: one self-contained file.", Path)
@option("--small-cells", "For --html: show values of fewer than 5 people, and single units, too.", bool, folded=True)
@option(
    "--transcripts",
    "For --html, with --results and --data: show the best and the worst of each model as texts, where their "
    "licence allows it; of people's own also with --small-cells.",
    bool,
)
@margin_option
@labels_option("For --html, to correct a judge by. ")
@option("--label-metric", "The judge's metric, which --labels rates; by default the main one.", folded=True)
@mixed_option
@analysis_options
def report(
    scores: Path | None,
    html: Path | None,
    transcripts: bool,
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Print a report of SCORES, or of --results, or with --html write a page with intervals and figures.

    CSV: a row a model, the condition and metric, with value, low, high, n, clusters, coverage, excluded, reason and the
    signature. JSON: under models a row a model with every metric as a column; under summary each metric of the board
    with its interval.
    """
    of_page = {name: given[name] for name in ("small_cells", "margin", "labels", "label_metric")}
    if html is None:
        if transcripts or any(value not in (None, (), False) for value in of_page.values()):
            raise UserError(
                "--small-cells, --transcripts, --margin, --labels and --label-metric are for the page; give --html "
                "FILE too"
            )
        if scores is not None and (given["data"] is not None or given["results"]):
            raise UserError("--data and --results beside SCORES are for the page; give --html FILE too")
        read = _reportable(scores, given)[0]
        made, warned = with_warnings(lambda: report_document(read, format=format, **sampling_of(given)))
        print_document(replace(made, warnings=warned), format)
        return
    if format != "table":
        raise UserError("--format is for the report as text; leave out --format or --html")
    data, results, labels = given["data"], given["results"], given["labels"]
    if given["label_metric"] is not None and labels is None:
        raise UserError("--label-metric says what --labels rates; give --labels FILE too")
    check_page(html, [scores, data, *results, labels])
    read, scored = _reportable(scores, given)
    beside = transcript_folder(read, html, data, results) if transcripts else None
    if scored is None:
        of_page["data"] = None if data is None else records_of(read, "data", data)
        of_page["results"] = records_of(read, "results", *results) if results else None
    else:
        of_page |= {"data": scored.data, "results": scored.made}
    of_page["margin"] = margin_of(given["margin"])
    with mistakes(), page_progress() as begin:
        text = read.report(
            format="html", transcripts=beside or False, progress=begin, **of_page, **sampling_of(given)
        )  # fmt: skip
    write_page(html, text, beside)
    if scored is not None:
        say_alone(scored)


@verb("compare results.csv", "compare scores.json --metric avg_emotion_f1", variants=True)
@scores_argument(needed=False)
@results_option("What models made, to score in place of SCORES")
@data_option("What the results are of; or with SCORES, for --by, what was scored against")
@baselines_option
@own_benchmark_option
@metric_option
@pair_option
@option("--by", "A trait: compare within each of its values too, each corrected for itself.")
@margin_option
@looks_options
@option("--full", "Print every pair, whatever the number of models, with p min and mde too.", bool)
@mixed_option
@analysis_options
def compare(
    scores: Path | None,
    metric: tuple[str, ...],
    model: tuple[str, ...],
    by: str | None,
    data: str | None,
    margin: tuple[str, ...],
    full: bool,
    format: Format,  # noqa: A002
    **given: Any,
) -> None:
    """Compare every two models of SCORES, or of --results, in a condition, on the units that both were run on.

    JSON: under comparisons model_a, model_b, the condition, metric, difference, low, high, p, p_min, p_holm,
    significant, n, clusters, mde, reason (with --by, stratum before these; with --margin, margin, p_same, p_same_holm,
    verdict behind them; with --looks, look); under significant how many pairs differ.
    """
    check_pair(model)
    if scores is not None and given["results"]:
        raise UserError(f"--results are scored in place of SCORES; leave out {scores}, or --results")
    if scores is not None and by is None and data is not None:
        raise UserError("--data is for --by; leave it out, or name a trait")
    read, scored = scores_given(scores, {**given, "data": data})
    options = {**_options(read, metric, given), "margin": margin_of(margin)}
    options |= {name: given[name] for name in ("looks", "look")}
    with mistakes():
        check_shared_units(read, model or None)
    if by is None:
        frame, warned = with_warnings(lambda: read.compare(*model, **options) if model else read.compare_all(**options))
    else:
        source = traits_of(read, data) if scored is None or scored.data is None else scored.data
        frame, warned = with_warnings(lambda: compare_by(read, by, data=source, models=model or None, **options))
    resamples = given["resamples"]
    exchanges = enough_exchanges(1, resamples) if model else exchanges_of_all(read, resamples)
    asked = (f"compare {model[0]!r} with {model[1]!r}" if model else "", f"by {by}" if by else "")
    question = "; ".join(filter(None, asked)) or None
    if frame.is_empty():
        tables, notes, quoted = [Table("comparisons", "", (), (), frame)], [nothing_to_compare(read)], list[str]()
    else:
        sampled = AnalysisOptions(**sampling_of(given))
        shown: Any = {"full": full, "for_paper": format == "latex" and not full}
        tables, quoted = comparison_tables(read, frame, **shown), quotes(read, frame, sampled)
        notes = [comparison_note(read, frame, sampled, exchanges, **shown)]
        notes += missing_notes(read, options["metrics"], model)
    tables.append(Table("significant", "", (), (), count_significant(frame)))
    with mistakes():
        signature = read.sign(question=question, models=model or None, exchanges=exchanges, of="differences", **options)
    hint = [] if full or not any(matrices(frame)) else ["--full lists the pairs with their differences and intervals."]
    made = document(read, tables, notes=[*notes, *hint], warnings=warned, quotes=quoted, signature=signature)
    print_document(replace(made, comments=[*made.comments, *hint]), format)


@verb("rank results.csv", variants=True)
@scores_option
@metric_option
@mixed_option
@analysis_options
def rank(scores: Path, metric: tuple[str, ...], format: Format, **given: Any) -> None:  # noqa: A002
    """Rank the models, each with a bootstrap interval of its rank.

    JSON: under ranks the condition, metric, model, value, rank, low, high, n, clusters, reason.
    """
    read = read_scores(scores, given)
    with mistakes():
        check_shared_units(read)
    options = _options(read, metric, given)
    frame, warned = with_warnings(lambda: read.rank(**options))
    said = interval_words(read, AnalysisOptions(**sampling_of(given)), resampled=True)
    notes = [f"In brackets, of the rank: {said}. The models are not resampled.", *unequal_units_notes(read, frame)]
    signature = read.sign(of="ranks", **options)
    made = document(read, rank_tables(read, frame), notes=notes, warnings=warned, signature=signature)
    print_document(made, format)


@verb(
    "subset scores.json --data demo --where diagnosis=ADHD",
    "subset scores.json --data demo --by diagnosis_group --compare",
    variants=True,
)
@scores_option
@data_option("Where the scores do not have the traits: what was scored against")
@where_option
@option("--filter", 'An SQL condition on traits, such as "promis_anxiety_t >= 60".')
@option("--by", "A trait: one stratum for each of its values, of the units chosen.")
@option("--compare", "Set each stratum against its complement, the other units.", bool)
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
    --compare also difference, difference_low, difference_high, p, p_holm, significant.
    """
    read = read_scores(scores, given)
    traits = where_traits(where)
    if not (traits or filter is not None or by):
        choose = "which units? Choose some, for instance --where TRAIT=VALUE, or use --by TRAIT"
        raise UserError(f"{choose}; the traits are {listed([*read.traits], 8)}" if read.traits else choose)
    source = traits_of(read, data)
    with mistakes():
        part = source.where(**traits)
        if filter is not None:
            part = part.filter(filter)
    question, options = part.asked, _options(read, metric, given)
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
    tables, about = subgroup_tables(read, frame), {"filter": asked, "overlapping": overlapping}
    notes = subgroup_notes(read, frame, compared=compare, overlapping=overlapping, options=sampled)
    signature = read.sign(within=within, question=asked, **options)
    made = document(read, tables, notes=notes, warnings=warned, signature=signature, metadata=about)
    print_document(made, format)


def _known(source: Queryable, traits: Mapping[str, Any]) -> Queryable:
    """Return the units that are known to match or not: a complement has no others."""
    for name, values in traits.items():
        source = source.where(**{name: values}) | source.where(**{name: none_of(*values)})
    return source


def _one(scores: Scores, question: str, part: Queryable, known: Queryable, compare: bool, options: Any) -> pl.DataFrame:
    """Return the rows of one stratum and, for a comparison, the rows of its complement below them."""
    chosen, among = part.unit_ids, known.unit_ids
    frame = subgroups(scores, {question: chosen}, known=among, compare=compare, **options)
    if not compare:
        return frame
    rest = {f"not ({question})": set(among).difference(chosen)}
    return pl.concat([frame, subgroups(scores, rest, known=among, **options)], how="diagonal")


@verb("analyze scores.json", "analyze scores.json distribution win_rates", variants=True)
@scores_option
@click.argument("name", nargs=-1)
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
    """Do the analyses of SCORES that each NAME names, with their uncertainty; without a NAME all that SCORES allow.

    For any scores: distribution, separation, skills, condition_differences, rank_shifts, win_rates, ratings,
    unit_difficulty, with --results cost and cost_front; benchmarks have further ones.

    JSON: a key for each analysis, with the rows of its table under rows and its signature and notes under metadata;
    under left_out what each analysis that was not done needs.
    """
    if not scores.exists() and str(scores) in _analyses():
        names = shlex.join((str(scores), *name))
        raise UserError(f"SCORES is missing: {scores} is an analysis; write: attune-bench analyze scores.json {names}")
    read = read_scores(scores, given)
    benchmark = benchmark_of_scores(read)
    known: dict[str, Analysis] = {**ANALYSES, **(resolve(benchmark.analyses) if benchmark else {})}
    known["distribution"] = _DISTRIBUTION
    for asked in name:
        if asked not in known:
            raise UserError(f"no analysis {asked!r} of these scores; {did_you_mean(asked, known, len(known))}")
    sources = {"data": () if data is None else (data,), "results": results}
    left_out = {
        key: "needs " + " and ".join(f"--{need}" for need in lacking)
        for key, analysis in known.items()
        if key in (name or known) and (lacking := [need for need in analysis.needs if not sources[need]])
    }
    if name and left_out:
        raise UserError("; ".join(f"{key} {why}" for key, why in left_out.items()))
    # Where no analysis is named, distribution would fill most of the output.
    chosen = [key for key in (dict.fromkeys(name) or known) if key not in left_out and (name or key != "distribution")]
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
    signed = [made.signature for made in documents.values() if made.signature]
    if not name:
        for key in [key for key, made in documents.items() if not made.tables[0].rows]:
            frame = documents.pop(key).tables[0].frame
            why = None if frame is None else only_reason(frame, known[key].estimate)
            left_out[key] = why or f"needs {in_words(read, known[key].rows_need)}"
    blocks = [
        document_text(replace(made, signature=None) if format == "table" else made, format)
        for made in documents.values()
    ]
    if left_out:
        blocks.append(_left_out(left_out, format))
    if format == "table" and signed:
        short = short_signature("\n".join(signed))
        blocks.append(f"signature: {short} {signature_hint()}")
    emit("\n\n".join(blocks))


def _left_out(reasons: Mapping[str, str], format: Format) -> str:  # noqa: A002
    """Return a list of what was left out and why; for LaTeX as comments."""
    columns, comment = columns_of_terminal(), "% " if format == "latex" else ""
    left = [fill(f"- {key}: {why}", columns, subsequent_indent="  ") for key, why in reasons.items()]
    return "\n".join(f"{comment}{line}".rstrip() for line in "\n".join(["Left out:", "", *left]).splitlines())


def _analyses() -> set[str]:
    """Return the names of the analyses of any scores and of all benchmarks."""
    return {
        "distribution",
        *ANALYSES,
        *(name for benchmark in all_benchmarks() for name in resolve(benchmark.analyses) or ()),
    }


def _analysis(
    scores: Scores, key: str, analysis: Analysis, inputs: Mapping[str, Any], metric: Sequence[str], given: Given
) -> Document:
    """Return the document of one analysis."""
    chosen = list(metric) or (list(analysis.metrics) if analysis.metrics else None)
    keywords: dict[str, Any] = sampling_of(given)
    if analysis.takes_metrics:
        keywords["metrics"] = chosen
    needs = {need: inputs[need] for need in analysis.needs}
    if analysis is _DISTRIBUTION:
        return _distribution(scores, metric)
    frame, warned = with_warnings(lambda: analysis.function(scores, **needs, **keywords))
    columns = [name for name in ("metric", "metric_a", "metric_b") if name in frame.columns]
    of_frame = dict.fromkeys(name for column in columns for name in frame[column] if name in scores.metrics)
    exchanges = exchanges_of(analysis, frame, given["resamples"])
    signed = {**sampling_of(given), "metrics": list(of_frame) or chosen}
    signature = scores.sign(question=f"analyze {key}", exchanges=exchanges, of="differences", **signed)
    tables = analysis_tables(scores, key, analysis, frame)
    is_shown = any(table.rows for table in tables)
    notes = [analysis_note(scores, analysis, frame, AnalysisOptions(**sampling_of(given)))] if is_shown else []
    return document(scores, tables, notes=notes, warnings=warned, signature=signature)


@verb("stats scores.json", variants=True)
@scores_option
@metric_option
@format_option()
def stats(scores: Path, metric: tuple[str, ...], format: Format, **given: Any) -> None:  # noqa: A002
    """Print how each metric is distributed over the units of each model.

    JSON: under distribution model, the condition, metric, n, mean, sd, lowest, median, highest.
    """
    print_document(_distribution(read_scores(scores, given), metric), format)


def _distribution(scores: Scores, metric: Sequence[str]) -> Document:
    """Return how metrics are distributed over the units of each model."""
    with mistakes():
        frame = distribution(scores, list(metric) or None)
    return document(scores, distribution_tables(scores, frame))


_DISTRIBUTION = Analysis(function=distribution, title="Distribution", note="", columns=DISTRIBUTION)


_ASSUMED = {"power": 0.8, "alpha": 0.05, "sided": 2}


@verb("plan scores.json --difference 2", "plan --difference 2 --sd 10 --correlation 0.5 --icc 0.2", variants=True)
@option("--difference", "The true difference to find, in the unit of the scores.", float)
@option("--participants", "How many there will be: which difference is the smallest detectable one?", int)
@scores_argument(needed=False)
@metric_option
@pair_option
@option("--sd", "Without a pilot: the standard deviation of a unit's score.", float)
@option("--correlation", "Without a pilot: of both models' scores on a unit; 0 is cautious.", float)
@option("--icc", "Without a pilot: how alike the differences of a participant are, 0 to 1.", float)
@option("--units-per-participant", "Without a pilot: how many units each has on average; by default 1.", float)
@option(
    "--units-cv",
    "Without a pilot: standard deviation of the number of units of a participant, over its mean; by default 0, "
    "equally many. Usual are 0.5 to 1.",
    float,
    folded=True,
)
@option(
    "--looks",
    "How often the models are compared while the participants come in, up to 20; see compare --looks.",
    int,
    default=1,
    folded=True,
)
@mixed_option
@own_benchmark_option
@format_option()
def plan(scores: Path | None, metric: tuple[str, ...], model: tuple[str, ...], format: Format, **given: Any) -> None:  # noqa: A002
    """Say how many participants a comparison of two models needs, or the smallest detectable difference.

    From a pilot, SCORES of two models or more; or from assumptions, --sd, --correlation and --icc.

    JSON: under plan model_a, model_b, the condition, metric, difference, participants, units, sd, correlation, icc,
    units_per_participant, units_cv, n, clusters, mde, reason; the last four are of the pilot. With --looks,
    participants_expected is behind them.
    """
    asked = {name: given.pop(name) for name in ("difference", "participants", "looks")}
    looks = asked["looks"]
    assumed = _ASSUMED | {"looks": looks}
    names = ("sd", "correlation", "icc", "units_per_participant", "units_cv")
    stated = {name: value for name in names if (value := given.pop(name)) is not None}
    if (asked["difference"] is None) == (asked["participants"] is None):
        raise UserError(
            "give one of --difference, to learn how many participants it needs, and --participants, to learn how small "
            "a difference they show"
        )
    if scores is not None:
        check_unstated(stated, str(scores))
        check_pair(model)
        read = read_scores(scores, given)
        metrics = list(metric) or [read.primary]
        frame, warned = with_warnings(lambda: read.plan(models=model or None, metrics=metrics, **asked))
        notes = [nothing_to_compare(read)] if frame.is_empty() else pilot_notes(read, looks)
        made = document(read, pilot_tables(read, frame), notes=notes, warnings=warned, metadata=assumed)
        print_document(made, format)
        return
    for name, value in {"metric": metric, "model": model, **given}.items():
        if value:
            raise UserError(f"--{name.replace('_', '-')} is of a pilot; name its SCORES")
    if not {"sd", "correlation", "icc"} <= stated.keys():
        raise UserError("how many? Name the scores of a pilot, or state --sd, --correlation and --icc")
    with mistakes():
        frame = plan_from_assumptions(**stated, **asked)
    print_document(Document([assumed_table(frame)], notes=assumed_notes(looks), metadata=assumed), format)
