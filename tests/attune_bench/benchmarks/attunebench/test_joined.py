"""The joined tables against the scores: the same counts and accuracies, turn by turn."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from attune_bench import score
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_data import Conversation, Run, Runs, load, load_runs
from attune_data.attunebench.tables import RunTables

KEYS = ["conversation_id", "em_model", "mode", "turn_number"]
OM, HUMAN = "em_binary_om_assessment", "em_binary_human_prediction"


def scored(tables: RunTables, name: str) -> pl.DataFrame:
    """Return the annotated rows of the turns that scores rest on."""
    turns = tables.turns.filter("annotated", "predicted").select(KEYS)
    frame: pl.DataFrame = getattr(tables, name)
    return frame.filter("annotated").join(turns, on=KEYS, how="semi")


def assert_agree(runs: Sequence[Run], conversations: Sequence[Conversation]) -> None:
    tables = Runs(runs).joined(conversations)
    scores = {(r["conversationId"], r["em_model"], r["mode"]): r for r in records_of(score(conversations, runs))}
    binary = scored(tables, "binary").with_columns(
        om=pl.coalesce("observed_behavior", "llm_value").cast(pl.String),
        human=pl.coalesce("preferred_behavior", "observed_behavior").cast(pl.String),
    )
    for side, predicted in (("om", OM), ("human", HUMAN), ("om", f"{OM}_hp"), ("human", f"{HUMAN}_hp")):
        counts: dict[tuple[str, ...], dict[str, int]] = {}
        for *names, truth, guess in binary.select(*KEYS[:3], side, predicted).iter_rows():
            found = counts.setdefault(tuple(names), dict.fromkeys(("tp", "tn", "fp", "fn"), 0))
            if truth in {"yes", "no"}:
                sort = ("t" if (guess == "yes") == (truth == "yes") else "f") + ("p" if guess == "yes" else "n")
                found[sort] += 1
        for key, record in scores.items():
            pooled = record[f"pooled_binary_{side}_metrics{'_hp' if predicted.endswith('_hp') else ''}"]
            expected = counts.get(key, dict.fromkeys(("tp", "tn", "fp", "fn"), 0))
            assert pooled is None or {name: pooled[name] for name in expected} == expected, (key, predicted)
    pairwise = scored(tables, "pairwise").with_columns(right=pl.col("winner").eq_missing(pl.col("em_winner")))
    right = pairwise.with_columns(pl.col("right") & pl.col("winner").is_not_null())
    accuracy = {tuple(row[:4]): row[4] for row in right.group_by(KEYS).agg(pl.col("right").mean()).iter_rows()}
    shared = tables.mood_tags.group_by(KEYS).agg(pl.col("annotated") & pl.col("predicted"), total=pl.len())
    hits = {tuple(row[:4]): (sum(row[4]), row[5]) for row in shared.iter_rows()}
    sizes = {
        side: {tuple(r[:4]): r[4] for r in tables.mood_tags.filter(side).group_by(KEYS).len().iter_rows()}
        for side in ("annotated", "predicted")
    }
    for key, record in scores.items():
        for turn in record["turn_scores"]:
            place = (*key, turn["turnNumber"])
            assert turn["pairwise_accuracy"] == pytest.approx(accuracy.get(place, 1.0), abs=1e-12)
            tagged = sizes["annotated"].get(place, 0) + sizes["predicted"].get(place, 0)
            f1 = 2 * hits[place][0] / tagged if tagged else 1.0
            assert turn["emotion_f1"] == pytest.approx(f1, abs=1e-12)


@pytest.mark.slow
def test_demo_runs_agree() -> None:
    runs, conversations = list(load_runs("demo")), list(load("demo"))
    assert len(runs) == 80
    assert_agree(runs, conversations)


@pytest.mark.slow
def test_demo_panas_agrees() -> None:
    runs, conversations = load_runs("demo"), load("demo")
    errors = (
        runs.joined(conversations)
        .panas.filter("annotated", "predicted", moment="post")
        .group_by(KEYS[:3])
        .agg((pl.col("rating").cast(int) - pl.col("em_rating")).abs().mean())
    )
    found = {tuple(row[:3]): row[3] for row in errors.iter_rows()}
    for record in records_of(score(conversations, runs)):
        key = (record["conversationId"], record["em_model"], record["mode"])
        assert record["post_score"]
        assert record["post_score"]["panas_item_mae"] == pytest.approx(found[key], abs=1e-12)


@pytest.mark.slow
def test_odd_files_agree(vectors: Path) -> None:
    folder = vectors / "odd"
    runs, conversations = load_runs(folder / "runs"), load(folder / "data")
    assert len(runs) > 10
    assert_agree(list(runs), list(conversations))
