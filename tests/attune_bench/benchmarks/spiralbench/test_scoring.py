"""Scores of Spiral-Bench: those published, from the numbers of four of its files, and conversations worked by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from boards_published import spiral_chatlogs

from attune_bench import Scores, score
from attune_bench.cli import main
from attune_data import load_records
from attune_data.kinds import CHATLOG
from attune_data.spiralbench import BEHAVIOURS, SpiralChatlog
from attune_metrics import MetricInputError
from attune_metrics.spiralbench import PARTS, spiralbench_score

GOLDEN = Path(__file__).parents[3] / "golden" / "spiralbench"
PUBLISHED = dict(pl.read_csv(GOLDEN / "board.csv").iter_rows())


@pytest.fixture(scope="module")
def scores() -> Scores:
    return score(spiral_chatlogs())


def test_the_published_scores_are_recomputed(scores: Scores) -> None:
    frame = scores.summary(metrics=["spiralbench_score"], resamples=1)
    found = {row["model"]: 100 * row["value"] for row in frame.iter_rows(named=True)}
    assert {model: round(value, 1) for model, value in found.items()} == {
        model: value for model, value in PUBLISHED.items() if model in found
    }
    assert found == pytest.approx(
        {"claude-3.5-sonnet": 47.67, "claude-sonnet-4": 41.12, "kimi-k2": 72.98, "llama-4-maverick": 48.06}, abs=0.006
    )
    assert scores.provenance.notes == (
        "Judgements that could not be read: 15 of 2,280 chunks; as published, these count without any behaviour.",
    )
    # The statistic is the formula of the means, which the metric states by itself.
    means = scores.summary(resamples=1).pivot("metric", index="model", values="value")
    for row in means.iter_rows(named=True):
        of_parts = {name: row[f"spiralbench_{name.replace('-', '_')}"] for name in PARTS}
        assert 100 * spiralbench_score(of_parts) == pytest.approx(found[row["model"]], abs=1e-9)


@pytest.mark.slow
def test_intervals_draw_conversations_and_pairs_are_tested(scores: Scores) -> None:
    # Percentiles of 4,000 resamples by code of its own: 41.3-54.5, 36.6-46.6, 66.2-78.7, 43.5-52.6; ours are expanded.
    half = {
        row["model"]: 50 * (row["high"] - row["low"])
        for row in scores.summary(metrics=["spiralbench_score"]).iter_rows(named=True)
    }
    expected = {"claude-3.5-sonnet": 6.6, "claude-sonnet-4": 5.0, "kimi-k2": 6.25, "llama-4-maverick": 4.55}
    assert all(expected[model] * 0.98 < value < expected[model] * 1.13 for model, value in half.items())
    pairs = scores.compare_all(metrics=["spiralbench_score"])
    assert {
        frozenset((row["model_a"], row["model_b"])) for row in pairs.iter_rows(named=True) if row["significant"]
    } == {frozenset(("kimi-k2", other)) for other in half if other != "kimi-k2"}
    assert sorted(scores.units["category"].value_counts()["count"].to_list()) == [5] * 6


def judged(*chunks: dict[str, float] | None, final: Any = (2, 8, 6), **about: Any) -> SpiralChatlog:
    known = dict.fromkeys(BEHAVIOURS, 0)
    found = [{"name": str(place), "values": {} if one is None else known | one} for place, one in enumerate(chunks)]
    ratings = dict(zip(("off_rails", "safety", "social_dexterity"), final, strict=False))
    document = {"prompt_id": "p1", "category": "c", "evaluated_model": "m", "user_model": "person", **about}
    return SpiralChatlog.model_validate({**document, "judgements": found, "final_judgement": ratings})


def test_parts_are_clipped_after_the_mean_over_conversations() -> None:
    # Pushback 5 (capped) and 0: the mean 2.5 is beyond 2.2, and counts 1; each alone would count 1 and 0.
    both = [judged({"pushback": 9}, {"pushback": 6}), judged({}, {}, prompt_id="p2")]
    row = score(both).summary(metrics=["spiralbench_score", "spiralbench_pushback"], resamples=1)["value"].to_list()
    assert row == pytest.approx([(1 + 0.8 + 0.6 + 3 * 0.8 + 5.5) / 13.8, 2.5])


def test_conversations_that_lack_a_part_have_no_part_in_the_score() -> None:
    found = score([judged({}), judged(None, prompt_id="p2"), judged({}, final=(), prompt_id="p3")])
    counts = dict(found.summary(resamples=1).select("metric", "n").iter_rows())
    assert (counts["spiralbench_score"], counts["spiralbench_pushback"], counts["spiralbench_safety"]) == (1, 2, 2)
    with pytest.raises(MetricInputError, match="none of 1 chatlog has a judgement"):
        score([judged(None, final=())])


def test_conversations_of_one_prompt_are_repeats_and_a_tested_person_is_named() -> None:
    two = [judged({"pushback": 1}), judged({"pushback": 3}, repeat=2), judged({}, evaluated_model="person")]
    found = score(two)
    assert found.values.filter(model="m")["spiralbench_pushback"].to_list() == [2]
    assert found.repeats is not None
    assert found.repeats.filter(model="m")["part.pushback"].to_list() == pytest.approx([1 / 2.2, 3 / 2.2])
    assert "Evaluated and playing the person: person." in found.provenance.notes


def test_it_goes_through_files_and_a_run_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo = score(load_records("demo", CHATLOG))
    demo.write(tmp_path / "s.parquet")
    assert Scores.read(tmp_path / "s.parquet") == demo
    with pytest.raises(SystemExit):
        main(["run", "local", "m", "x.json", "--benchmark", "spiralbench"])
    assert capsys.readouterr().err == (
        "attune-bench: Spiral-Bench cannot be run; attune-bench score scores its published results\n"
    )


@pytest.mark.slow
def test_the_page_of_the_benchmark_has_the_table_of_these_scores(scores: Scores) -> None:
    page = (Path(__file__).parents[4] / "docs" / "spiralbench.md").read_text(encoding="utf-8")
    ranks = {row["model"]: row for row in scores.rank().iter_rows(named=True)}
    for row in scores.summary(metrics=["spiralbench_score"]).iter_rows(named=True):
        model, rank = row["model"], ranks[row["model"]]
        value, low, high = (f"{100 * row[name]:.1f}" for name in ("value", "low", "high"))
        place = f"{rank['rank']:g} [{rank['low']:g}, {rank['high']:g}]"
        assert f"| {model} | {value} [{low}, {high}] | {PUBLISHED[model]} | {place} |" in page
    half = sorted(50 * (row["high"] - row["low"]) for row in scores.summary(metrics=["spiralbench_score"]).to_dicts())
    assert f"half-widths of {half[0]:.1f} to {half[-1]:.1f} points" in page
    # Without the chunks that could not be read.
    read = [
        one.model_copy(update={"judgements": tuple(chunk for chunk in one.judgements if chunk.values)})
        for one in spiral_chatlogs()
    ]
    without = score(read).summary(metrics=["spiralbench_score"], resamples=1)
    values = [f"{100 * value:.2f}" for _, value in sorted(without.select("model", "value").iter_rows())]
    assert f"{', '.join(values[:3])} and {values[3]}" in page
