"""The tables and notes that the commands of EIBench print: one model by scene, a board of models, pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from attune_bench._scenario_commands import (
    PAIRS_NOTE,
    hundred,
    hundreds,
    issue_notes,
    pair_columns,
    pairs_title,
    point,
)
from attune_bench.benchmarks.eibench.comparison import SETTINGS
from attune_bench.stats_tables import Column, Row, Section, StatsTable
from attune_data.eibench.scenario import SCENES
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

    from attune_data.issues import Issue

__all__ = ["COMPARABLE", "KINDS", "TREATED", "board_tables", "series_notes", "series_table", "settings_text"]

COMPARABLE = "Numbers are comparable within one simulator and one version of its instructions only."
TREATED = {
    "exclude": "failed episodes left out",
    "start": "failed episodes at the state they broke off in",
    "worst": "failed episodes at the worst case",
}
KINDS = {
    "error": "ended with an error",
    "parse_failed": "simulator not readable",
    "empty_reply": "no reply of the model",
    "empty_simulator_reply": "no reply of the simulator",
    "no_final_state": "no final state",
}


def series_notes(summary: Mapping[str, Any], found: "Sequence[Issue]") -> list[str]:
    """Return the sentences below the scores of one model."""
    notes = [
        "n: episodes that count, one a scenario. Overall is their mean, macro the mean of the scenes. 95% intervals by "
        f"resampling scenarios (expanded percentile). {COMPARABLE}"
    ]
    kinds = [f"{count} {KINDS[kind]}" for kind, count in summary["failed"].items() if count]
    if kinds:
        treated = "; ".join(f"{TREATED[name]}: {hundred(value)}" for name, value in summary["reward_if_failed"].items())
        failures = plural(sum(summary["failed"].values()), "failed episode")
        notes.append(f"{failures} ({', '.join(kinds)}). Overall reward with {treated}.")
    notes.append(f"Coverage: {summary['n']} of {plural(summary['scenarios'], 'scenario')}.")
    if summary["without_scenario"]:
        episodes = plural(summary["without_scenario"], "episode")
        notes.append(f"Left out: {episodes} of scenarios that are not in the data.")
    if summary["other_text"]:
        episodes = plural(summary["other_text"], "episode")
        notes.append(f"Caution: {episodes} played on another text of the scenario than that of the data.")
    return [*notes, *issue_notes(found)]


def series_table(summary: Mapping[str, Any], metadata: Mapping[str, Any]) -> StatsTable:
    """Return the table of one model's scenes."""
    import polars as pl

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
    title = f"{summary['model']}: reward x 100, rule {metadata['rule']}, {TREATED[metadata['treatment']]}"
    return StatsTable(
        key="scenes",
        frame=frame.with_columns(model=pl.lit(summary["model"])),
        columns=_series_columns(),
        sections=[Section(title, frame.to_dicts())],
        notes=metadata["notes"],
        signature=metadata["signature"],
        metadata={},
    )


def _series_columns() -> list[Column]:
    return [
        Column("scene", lambda row: row["scene"]),
        Column("n", lambda row: _count(row["n"])),
        Column("failed", lambda row: _count(row["failed"])),
        Column("reward", lambda row: hundred(row["reward"])),
        Column("95% interval", lambda row: hundreds(row["low"], row["high"])),
        Column("anger score", lambda row: hundred(row["anger_score"])),
        Column("trust score", lambda row: hundred(row["trust_score"])),
        Column("final anger", lambda row: point(row["final_anger"])),
        Column("final trust", lambda row: point(row["final_trust"])),
    ]


def _count(value: int | None) -> str:
    return "" if value is None else str(value)


def settings_text(settings: Mapping[str, str | int | None]) -> str:
    """Return what all episodes have in common, in a sentence; what they do not say is said to be unknown."""
    said = [f"{SETTINGS[name]} {value}" for name, value in settings.items() if value is not None]
    unknown = [SETTINGS[name] for name, value in settings.items() if value is None]
    text = f"All episodes: {', '.join(said)}. " if said else ""
    return text + (f"Not named in the episodes, so not known to be one: {', '.join(unknown)}." if unknown else "")


def board_tables(
    board: "pl.DataFrame", scenes: "pl.DataFrame", pairs: "pl.DataFrame", metadata: Mapping[str, Any]
) -> tuple[StatsTable, list[StatsTable]]:
    """Return the board with all that belongs to it, for CSV and JSON, and its parts as they are read.

    `metadata` holds ``signature``, ``rule``, ``treatment``, the common settings and ``notes``.
    """
    told = dict(metadata)
    signature, noticed = told.pop("signature"), told.pop("notes")
    about = [
        "n: episodes that count, one a scenario. Coverage: their share of the scenarios. Macro: mean of the scenes. "
        f"95% intervals by resampling scenarios (expanded percentile). {COMPARABLE}",
        settings_text({name: told[name] for name in SETTINGS}),
    ]
    compared = [PAIRS_NOTE if pairs.height else "Nothing to compare: there is one model."]
    if elsewhere := sum(board["without_scenario"]):
        noticed = [f"Left out: {plural(elsewhere, 'episode')} of scenarios that are not in the data.", *noticed]
    whole = StatsTable(
        key="board",
        frame=board,
        columns=_board_columns(),
        sections=[
            Section(f"Reward x 100, rule {told['rule']}, {TREATED[told['treatment']]}", board.to_dicts()),
        ],
        notes=[*about, *compared, *noticed],
        signature=signature,
        metadata=told,
        extra={"scenes": scenes, "comparisons": pairs},
    )
    bare = [{**row, "reason": None} for row in board.to_dicts()]
    parts = [
        replace(whole, notes=[]),
        replace(whole, columns=_scene_columns(), sections=[Section("Reward x 100 by scene", bare)], notes=about),
    ]
    if board["failed"].sum():
        title = "Failed episodes by kind, and the reward x 100 under each treatment of them"
        parts.append(replace(whole, columns=_failure_columns(), sections=[Section(title, bare)], notes=[_FAILURE_NOTE]))
    if pairs.height:
        sections = [
            Section(f"Comparisons, {scene}: {pairs_title(family)}", family.to_dicts())
            for (scene,), family in pairs.group_by("scene", maintain_order=True)
        ]
        parts.append(replace(whole, columns=pair_columns(times_100=True), sections=sections, notes=[]))
    parts[-1] = replace(parts[-1], notes=[*parts[-1].notes, *compared, *noticed])
    return whole, parts


_FAILURE_NOTE = (
    "Error: ended with an error. Parse: the simulator was not readable. Reply, sim. reply: none of the model, none of "
    "the simulator. State: no final state. Reward with failed episodes left out; at the state they broke off in, as "
    "published; at the worst case."
)


def _board_columns() -> list[Column]:
    return [
        Column("model", lambda row: row["model"], is_name=True),
        Column("reward", lambda row: hundred(row["reward"])),
        Column("95% interval", lambda row: hundreds(row["low"], row["high"])),
        Column("anger score", lambda row: hundred(row["anger_score"])),
        Column("trust score", lambda row: hundred(row["trust_score"])),
        Column("n", lambda row: str(row["n"])),
        Column("failed", lambda row: str(row["failed"])),
        Column("coverage", lambda row: f"{100 * row['coverage']:.1f}%"),
    ]


def _scene_columns() -> list[Column]:
    return [
        Column("model", lambda row: row["model"], is_name=True),
        *(Column(name, partial(_reward, name=name)) for name in ("macro", *SCENES)),
    ]


def _failure_columns() -> list[Column]:
    kinds = dict(zip(KINDS, ("error", "parse", "reply", "sim. reply", "state"), strict=True))
    treatments = {"reward_exclude": "left out", "reward_start": "broken off", "reward_worst": "worst"}
    return [
        Column("model", lambda row: row["model"], is_name=True),
        *(Column(head, partial(_number, name=name)) for name, head in kinds.items()),
        *(Column(head, partial(_reward, name=name)) for name, head in treatments.items()),
    ]


def _number(row: Row, *, name: str) -> str:
    return str(row[name])


def _reward(row: Row, *, name: str) -> str:
    return hundred(row[name])
