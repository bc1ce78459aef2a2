"""The command `attune-bench eibench score`."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from attune_bench._scenario_text import first_issue, hundred, issue_notes, point, points
from attune_bench._usage import UsageError, emit
from attune_bench._version import __version__
from attune_bench.report import Format
from attune_bench.stats_commands import mistakes
from attune_data._text import plural

if TYPE_CHECKING:
    from attune_bench.stats_tables import Column
    from attune_data import Collection, Episode, Scenario
    from attune_data.issues import Issue

__all__ = ["eibench"]

eibench = App(name="eibench", help="EIBench: models in conversation with simulated people, scored by where it led.")

_TREATED = {
    "exclude": "failed episodes left out",
    "start": "failed episodes at the state they broke off in",
    "worst": "failed episodes at the worst case",
}
_KINDS = {
    "error": "ended with an error",
    "parse_failed": "simulator not readable",
    "empty_reply": "no reply of the model",
    "empty_simulator_reply": "no reply of the simulator",
    "no_final_state": "no final state",
}
_SETTINGS = ("simulator", "prompt_version", "config_hash")


@eibench.command(name="score")
def score_eibench(
    directory: str,
    /,
    *,
    data: str,
    rule: Literal["evaluation", "directed"] | None = None,
    failed: Literal["exclude", "start", "worst"] | None = None,
    published: Annotated[bool, Parameter(negative="")] = False,
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
    from attune_bench.eibench import episode_summary, one_series
    from attune_bench.progress import progress
    from attune_data import load_episodes, load_scenarios

    if published and (rule == "directed" or failed in {"exclude", "worst"}):
        raise UsageError("--published is --rule evaluation --failed start; leave out what differs from it, or it")
    rule = rule or "evaluation"
    failed = failed or ("start" if published else "exclude")
    with progress() as phase:
        scenarios = load_scenarios(data, progress=phase("reading scenarios", None))
        episodes = load_episodes(directory, progress=phase("reading episodes", None))
    for what, found, source in (("scenario", scenarios, data), ("episode", episodes, directory)):
        if not found:
            raise UsageError(f"no usable {what} in {source}{first_issue(found.found)}")
    with mistakes():
        summary = episode_summary(episodes, scenarios, rule=rule, failed=failed, resamples=resamples, seed=seed)
    first = one_series(episodes)
    metadata = {
        "signature": _sign_episodes(summary, episodes, scenarios, rule, failed, resamples, seed),
        "rule": rule,
        "treatment": failed,
        **{name: getattr(first, name) for name in _SETTINGS},
        "notes": _eibench_notes(summary, [*scenarios.found, *episodes.found]),
    }
    if format == "json":
        emit(json.dumps({**summary, "metadata": metadata}, indent=2))
    else:
        emit(_eibench_text(summary, metadata, format))


def _sign_episodes(
    summary: Mapping[str, Any],
    episodes: "Collection[Episode]",
    scenarios: "Collection[Scenario]",
    rule: str,
    failed: str,
    resamples: int,
    seed: int,
) -> str:
    from attune_bench.signing import fingerprint
    from attune_metrics import Signature

    played = {episode.scenario_id for episode in episodes}
    signature = Signature(
        attune=__version__,
        metric="reward",
        protocol=rule,
        mode=f"failed-{failed}",
        data=fingerprint(scenario for scenario in scenarios if scenario.id in played),
        runs=fingerprint(episodes),
        n=summary["n"],
        clusters=summary["n"],
        excluded=len(episodes) - summary["n"],
        unit="scenario",
        interval="percentile-expanded",
        level=0.95,
        boot=resamples,
        seed=seed,
    )
    return str(signature)


def _eibench_notes(summary: Mapping[str, Any], found: "Sequence[Issue]") -> list[str]:
    notes = [
        "n: episodes that count, one a scenario. Overall is their mean, macro the mean of the scenes. 95% intervals by "
        "resampling scenarios (expanded percentile). Numbers are comparable for one simulator and one version of its "
        "instructions only."
    ]
    kinds = [f"{count} {_KINDS[kind]}" for kind, count in summary["failed"].items() if count]
    if kinds:
        treated = "; ".join(
            f"{_TREATED[name]}: {hundred(value)}" for name, value in summary["reward_if_failed"].items()
        )
        failures = plural(sum(summary["failed"].values()), "failed episode")
        notes.append(f"{failures} ({', '.join(kinds)}). Overall reward with {treated}.")
    notes.append(f"Coverage: {summary['n']} of {plural(summary['scenarios'], 'scenario')}.")
    if summary["without_scenario"]:
        episodes = plural(summary["without_scenario"], "episode")
        notes.append(f"Left out: {episodes} of scenarios that are not in the data.")
    return [*notes, *issue_notes(found)]


def _eibench_text(summary: Mapping[str, Any], metadata: Mapping[str, Any], format: Format) -> str:  # noqa: A002
    import polars as pl

    from attune_bench.stats_tables import Section, StatsTable, render

    overall = {name: value for name, value in summary["overall"].items() if name != "macro"}
    macro = dict.fromkeys(overall) | {"reward": summary["overall"]["macro"]}
    blocks = {"overall": overall, "macro": macro, **summary["by_scene"]}
    schema = {
        "scene": pl.String,
        **{
            name: pl.Int64 if name in {"n", "failed"} else pl.String if name == "reason" else pl.Float64
            for name in overall
        },
    }
    frame = pl.DataFrame([{"scene": scene, **block} for scene, block in blocks.items()], schema=schema)
    title = f"{summary['model']}: reward x 100, rule {metadata['rule']}, {_TREATED[metadata['treatment']]}"
    table = StatsTable(
        key="scenes",
        frame=frame.with_columns(model=pl.lit(summary["model"])),
        columns=_eibench_columns(),
        sections=[Section(title, frame.to_dicts())],
        notes=metadata["notes"],
        signature=metadata["signature"],
        metadata={},
    )
    return render(table, format=format)


def _eibench_columns() -> "list[Column]":
    from attune_bench.stats_tables import Column

    return [
        Column("scene", lambda row: row["scene"]),
        Column("n", lambda row: _count(row["n"])),
        Column("failed", lambda row: _count(row["failed"])),
        Column("reward", lambda row: hundred(row["reward"])),
        Column("95% interval", lambda row: points(*(end and 100 * end for end in (row["low"], row["high"])))),
        Column("anger score", lambda row: hundred(row["anger_score"])),
        Column("trust score", lambda row: hundred(row["trust_score"])),
        Column("final anger", lambda row: point(row["final_anger"])),
        Column("final trust", lambda row: point(row["final_trust"])),
    ]


def _count(value: int | None) -> str:
    return "" if value is None else str(value)
