"""The command `attune-bench sage score`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cyclopts import App

from attune_bench._scenario_commands import (
    PAIRS_NOTE,
    emit_tables,
    first_issue,
    issue_notes,
    pair_columns,
    pairs_title,
    points,
    read_all,
)
from attune_bench._usage import UsageError, catching
from attune_bench._version import __version__
from attune_bench.report import Format

if TYPE_CHECKING:
    from attune_bench.stats_tables import Column
    from attune_data import Collection, SageDialogue

__all__ = ["sage"]

sage = App(name="sage", help="SAGE: published conversations with simulated people, scored by their final emotion.")


@sage.command(name="score")
def score_sage(
    *file: str,
    format: Format = "table",  # noqa: A002
    resamples: int = 10_000,
    seed: int = 0,
) -> None:
    """Score published results as SAGE's board does, and compare every two models on the scenarios they share.

    JSON: under board model, score, success, failure, n, low, high and more; under comparisons model_a, model_b,
    difference, low, high, p, p_holm, told_apart, n, detectable, reason.

    Parameters
    ----------
    file
        Result files, each named after its model, such as gpt-4.1_result.jsonl; or folders or archives of them.
    format
        table, in 100 columns; markdown, for a paper; csv, the board; json, board and comparisons.
    resamples
        How many resamples of scenarios, and random exchanges.
    seed
        The same seed gives the same numbers.
    """
    from attune_bench.benchmarks.sage.scoring import sage_board, sage_comparisons
    from attune_bench.progress import progress
    from attune_bench.stats_tables import Section, StatsTable
    from attune_data import load_sage

    if not file:
        raise UsageError("which results? Name a file, such as gpt-4.1_result.jsonl")
    with progress() as phase:
        dialogues = read_all(load_sage, file, phase("reading dialogues", None))
    if not dialogues:
        raise UsageError(f"no usable dialogue in {', '.join(file)}{first_issue(dialogues.found)}")
    board, _ = catching(lambda: sage_board(dialogues, resamples=resamples, seed=seed))
    pairs, warned = catching(lambda: sage_comparisons(dialogues, resamples=resamples, seed=seed))
    noticed = [*warned, *issue_notes(dialogues.found)]
    signature = _sign_dialogues(dialogues, resamples, seed)
    whole = StatsTable(
        key="board",
        frame=board,
        columns=_board_columns(),
        sections=[Section("Mean final emotion, 0 to 100", board.to_dicts())],
        notes=[_BOARD_NOTE, *([PAIRS_NOTE] if pairs.height else []), *noticed],
        signature=signature,
        metadata={},
        extra={"comparisons": pairs},
    )
    parts = [whole]
    if pairs.height:
        parts = [
            replace(whole, notes=[_BOARD_NOTE]),
            replace(
                whole,
                columns=pair_columns(times_100=False),
                sections=[Section(f"Comparisons: {pairs_title(pairs)}", pairs.to_dicts())],
                notes=[PAIRS_NOTE, *noticed],
            ),
        ]
    emit_tables(whole, parts, format)


_BOARD_NOTE = (
    "Score: rounded half up, as on the board. Success and failure: dialogues that ended at 100 and below 10, with "
    "Wilson 95% intervals of their shares. Interval of the score: by resampling scenarios (expanded percentile)."
)


def _sign_dialogues(dialogues: "Collection[SageDialogue]", resamples: int, seed: int) -> str:
    from attune_bench.stats.signing import fingerprint
    from attune_metrics.signature import Signature

    signature = Signature(
        attune=__version__,
        metric="sage_score",
        runs=fingerprint(dialogues),
        n=len(dialogues),
        clusters=len({dialogue.scenario_id for dialogue in dialogues}),
        unit="scenario",
        interval="percentile-expanded",
        level=0.95,
        boot=resamples,
        seed=seed,
    )
    return str(signature)


def _board_columns() -> "list[Column]":
    from attune_bench.stats_tables import Column

    return [
        Column("model", lambda row: row["model"], is_name=True),
        Column("score", lambda row: f"{row['score']:.1f}"),
        Column("95% interval", lambda row: points(row["low"], row["high"])),
        Column("success", lambda row: _percent(row, "success")),
        Column("failure", lambda row: _percent(row, "failure")),
        Column("n", lambda row: str(row["n"])),
    ]


def _percent(row: Mapping[str, Any], what: str) -> str:
    low, high = (100 * row[f"{what}_{end}"] for end in ("low", "high"))
    return f"{row[what]} [{low:.1f}%, {high:.1f}%]"
