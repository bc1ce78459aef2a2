"""The commands `attune-bench eibench score`, `compare` and `report`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from cyclopts import App, Parameter

from attune_bench._scenario_commands import emit_tables, first_issue, issue_notes, read_all
from attune_bench._usage import UsageError, catching, check_page, emit, mistakes, write_page
from attune_bench.report import Format

if TYPE_CHECKING:
    from attune_data import Collection, Episode, Scenario
    from attune_metrics.eibench import Rule, Treatment

__all__ = ["eibench"]

eibench = App(name="eibench", help="EIBench: models in conversation with simulated people, scored by where it led.")

RuleOption = Literal["evaluation", "directed"] | None
FailedOption = Literal["exclude", "start", "worst"] | None
Published = Annotated[bool, Parameter(negative="")]


@eibench.command(name="score")
def score_eibench(
    directory: str,
    /,
    *,
    data: str,
    rule: RuleOption = None,
    failed: FailedOption = None,
    published: Published = False,
    format: Format = "table",  # noqa: A002
    resamples: int = 10_000,
    seed: int = 0,
) -> None:
    """Score the episodes of a model anew: from each final state and the anchors of its scenario.

    JSON: the shape of summary.json, -1 to 1 (model, n, overall, by_scene), and low and high of each reward, macro,
    failed episodes by kind, reward_if_failed, coverage, metadata.

    Parameters
    ----------
    directory
        The folder of one model, with its results.jsonl; or a file, or an archive.
    data
        The scenarios: a folder, a .jsonl file, an archive, hf://owner/name, or demo.
    rule
        evaluation, the default and published: the direction of an axis is inferred from its anchors; or directed:
        anger down, trust up. They agree where the anchors are in order.
    failed
        What failed episodes count. exclude, the default: nothing; start, as published: the state they broke off in,
        and records of errors nothing; worst: -1.
    published
        As published: the same as --rule evaluation --failed start.
    format
        table, in 100 columns, and markdown: 100 times the reward, as published; csv and json: -1 to 1.
    resamples
        How many resamples of scenarios.
    seed
        The same seed gives the same numbers.
    """
    from attune_bench.benchmarks.eibench.comparison import SETTINGS
    from attune_bench.benchmarks.eibench.scoring import episode_summary, one_series
    from attune_bench.benchmarks.eibench.tables import series_notes, series_table
    from attune_bench.stats.signing import sign_episodes
    from attune_bench.stats_tables import render

    scoring = _scoring(rule, failed, published)
    scenarios, episodes = _read([directory], data)
    with mistakes():
        summary = episode_summary(episodes, scenarios, **scoring, resamples=resamples, seed=seed)
    first = one_series(episodes)
    metadata = {
        "signature": sign_episodes(episodes, scenarios, **scoring, resamples=resamples, seed=seed),
        "rule": scoring["rule"],
        "treatment": scoring["failed"],
        **{name: getattr(first, name) for name in SETTINGS},
        "notes": series_notes(summary, [*scenarios.found, *episodes.found]),
    }
    if format == "json":
        emit(json.dumps({**summary, "metadata": metadata}, indent=2))
    else:
        emit(render(series_table(summary, metadata), format=format))


class _Scoring(TypedDict):
    rule: "Rule"
    failed: "Treatment"


def _scoring(rule: "Rule | None", failed: "Treatment | None", published: bool) -> _Scoring:
    """Return the rule and the treatment of failed episodes that options ask for."""
    if published and (rule == "directed" or failed in {"exclude", "worst"}):
        raise UsageError("--published is --rule evaluation --failed start; leave out what differs from it, or it")
    return {"rule": rule or "evaluation", "failed": failed or ("start" if published else "exclude")}


def _read(directories: Sequence[str], data: str) -> "tuple[Collection[Scenario], Collection[Episode]]":
    """Return the scenarios, and the episodes of all folders."""
    from attune_bench.progress import progress
    from attune_data import load_episodes, load_scenarios

    if not directories:
        raise UsageError("which episodes? Name a folder with the results.jsonl of a model, or of several")
    with progress() as phase:
        scenarios = load_scenarios(data, progress=phase("reading scenarios", None))
        episodes = read_all(load_episodes, directories, phase("reading episodes", None))
    if not scenarios:
        raise UsageError(f"no usable scenario in {data}{first_issue(scenarios.found)}")
    if not episodes:
        raise UsageError(f"no usable episode in {', '.join(directories)}{first_issue(episodes.found)}")
    return scenarios, episodes


@eibench.command(name="compare")
def compare_eibench(
    *directory: str,
    data: str,
    rule: RuleOption = None,
    failed: FailedOption = None,
    published: Published = False,
    by: Literal["scene"] | None = None,
    format: Format = "table",  # noqa: A002
    resamples: int = 10_000,
    seed: int = 0,
) -> None:
    """Set models beside each other, and compare every two on the scenarios that count for both.

    Models whose simulator, version of its instructions or configuration differ are refused. JSON, -1 to 1: under board
    a row a model, under scenes a row a model and scene; under comparisons scene, model_a, model_b, difference, low,
    high, p, p_holm, told_apart, n, detectable, reason.

    Parameters
    ----------
    directory
        Folders of one model or several, with their results.jsonl; or files, or archives.
    data
        The scenarios: a folder, a .jsonl file, an archive, hf://owner/name, or demo.
    rule
        evaluation, the default and published: the direction of an axis is inferred from its anchors; or directed:
        anger down, trust up.
    failed
        What failed episodes count. exclude, the default: nothing; start, as published: the state they broke off in,
        and records of errors nothing; worst: -1.
    published
        As published: the same as --rule evaluation --failed start.
    by
        scene: compare within each scene too, each corrected for itself.
    format
        table, in 100 columns, and markdown: 100 times the reward, as published; csv, the board, and json: -1 to 1.
    resamples
        How many resamples of scenarios, and random exchanges.
    seed
        The same seed gives the same numbers.
    """
    from attune_bench.benchmarks.eibench.comparison import (
        common_settings,
        compare_episodes,
        model_board,
        scene_board,
        summaries,
    )
    from attune_bench.benchmarks.eibench.tables import board_tables
    from attune_bench.stats.signing import sign_episodes

    scoring = _scoring(rule, failed, published)
    scenarios, episodes = _read(directory, data)
    with mistakes():
        settings = common_settings(episodes)
        found = summaries(episodes, scenarios, **scoring, resamples=resamples, seed=seed)
    pairs, warned = catching(
        lambda: compare_episodes(episodes, scenarios, **scoring, by=by, resamples=resamples, seed=seed)
    )
    metadata = {
        "signature": sign_episodes(episodes, scenarios, **scoring, resamples=resamples, seed=seed),
        "rule": scoring["rule"],
        "treatment": scoring["failed"],
        **settings,
        "notes": [*warned, *issue_notes([*scenarios.found, *episodes.found])],
    }
    whole, parts = board_tables(model_board(found), scene_board(found), pairs, metadata)
    emit_tables(whole, parts, format)


@eibench.command(name="report")
def report_eibench(
    *directory: str,
    data: str,
    html: Path,
    rule: RuleOption = None,
    failed: FailedOption = None,
    published: Published = False,
    resamples: int = 10_000,
    seed: int = 0,
) -> None:
    """Write a page of HTML: board, scenes, comparisons, trajectories of anger and trust, failed episodes.

    Models whose simulator, version of its instructions or configuration differ are refused.

    Parameters
    ----------
    directory
        Folders of one model or several, with their results.jsonl; or files, or archives.
    data
        The scenarios: a folder, a .jsonl file, an archive, hf://owner/name, or demo.
    html
        The file to write: one file, which makes no request.
    rule
        evaluation, the default and published: the direction of an axis is inferred from its anchors; or directed:
        anger down, trust up.
    failed
        What failed episodes count. exclude, the default: nothing; start, as published: the state they broke off in,
        and records of errors nothing; worst: -1.
    published
        As published: the same as --rule evaluation --failed start.
    resamples
        How many resamples of scenarios, and random exchanges.
    seed
        The same seed gives the same numbers.
    """
    from attune_bench.report.eibench_html import eibench_report

    scoring = _scoring(rule, failed, published)
    check_page(html, [*directory, data])
    scenarios, episodes = _read(directory, data)
    try:
        text = eibench_report(episodes, scenarios, **scoring, resamples=resamples, seed=seed)
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from None
    write_page(html, text)
