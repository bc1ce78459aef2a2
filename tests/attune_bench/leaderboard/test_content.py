"""What `board.json` says: tiers, intervals, pairs, subgroups, and nothing of few people."""

import json
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores, score
from attune_bench.leaderboard.boards import FORMAT, Entry, leaderboard_content, make_boards
from attune_bench.scores.table import ScoreTable
from attune_data import load, load_runs
from attune_metrics.signature import Signature


def content_of(*entries: Entry, small_cells: bool = False, **options: Any) -> dict[str, Any]:
    boards = make_boards(entries, small_cells=small_cells)
    return leaderboard_content(boards, small_cells=small_cells, **{"resamples": 200, **options})


def table(models: dict[str, float], units: int = 12, **about: Any) -> Scores:
    """Return scores of models around a level, with topics, two conditions and a cost, of which one value is missing."""
    source = random.Random(3)
    rows: list[tuple[str, str, str, str, float | None, str]] = []
    for model, level in models.items():
        for unit in range(units):
            for condition in ("plain", "reasoning"):
                value = level + source.random() / 10
                rows.append((model, condition, f"u{unit}", "hit", value, "hard" if unit < units / 3 else "easy"))
                rows.append((model, condition, f"u{unit}", "cost", None if unit == 0 else 2 * value, rows[-1][-1]))
    columns = ["model", "condition", "unit", "metric", "value", "topic"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    metrics = {"hit": {"label": "Hits"}, "cost": {"label": "Cost", "higher_is_better": False}}
    return Scores.from_table(frame, metrics=metrics, about=about)


@pytest.fixture(scope="module")
def two() -> dict[str, Any]:
    return content_of(
        Entry("t", table({"good": 0.8, "bad": 0.1}), {"link": "https://example.org", "date": "2026-01-01"})
    )


def test_tiers_by_condition(two: dict[str, Any]) -> None:
    assert two["format"] == FORMAT
    [board] = two["boards"]
    assert board["ranked_by"] == "hit"
    assert [metric["name"] for metric in board["metrics"]] == ["hit", "cost"]
    assert [one["condition"] for one in board["conditions"]] == ["plain", "reasoning"]
    for condition in board["conditions"]:
        assert [(row["model"], row["tier"], row["rank"]) for row in condition["models"]] == [
            ("good", 1, 1.0),
            ("bad", 2, 2.0),
        ]
        assert condition["family"] == 1
        [pair] = condition["pairs"]
        assert (pair["model_a"], pair["model_b"], pair["significant"]) == ("good", "bad", True)
        assert pair["difference"] == pytest.approx(0.7, abs=0.1)


def test_every_metric_of_every_model(two: dict[str, Any]) -> None:
    row = two["boards"][0]["conditions"][0]["models"][0]
    assert row["link"] == "https://example.org"
    assert row["submitter"] is None
    cost = row["metrics"]["cost"]
    assert (cost["n"], cost["excluded"]) == (11, 1)
    assert cost["low"] < cost["value"] < cost["high"]
    assert row["value"] == row["metrics"]["hit"]["value"]


def test_signatures_are_of_the_row_and_of_the_board(two: dict[str, Any]) -> None:
    [board] = two["boards"]
    own = Signature.parse(board["conditions"][1]["models"][0]["signature"])
    assert (own.metric, own.mode, own.n, own.boot) == ("hit", "reasoning", 12, 200)
    assert Signature.parse(board["signature"]).metric == "all"
    signatures = {row["signature"] for one in board["conditions"] for row in one["models"]}
    assert len(signatures) == 4


def test_subgroups(two: dict[str, Any]) -> None:
    rows = two["boards"][0]["conditions"][0]["subgroups"]
    assert {(row["trait"], row["stratum"], row["model"], row["n"]) for row in rows} == {
        ("topic", "easy", "bad", 8),
        ("topic", "easy", "good", 8),
        ("topic", "hard", "bad", 4),
        ("topic", "hard", "good", 4),
    }


def test_is_strict_json_and_undefined_is_null_with_a_reason() -> None:
    frame = pl.DataFrame(
        {"model": ["a", "a", "b"], "unit": ["u", "v", "u"], "metric": "hit", "value": [1.0, 2.0, None]}
    )
    content = content_of(Entry("t", Scores.from_table(frame)))
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    [condition] = content["boards"][0]["conditions"]
    a, b = condition["models"]
    assert (a["model"], a["tier"], a["rank_low"], a["reason"]) == ("a", 1, None, "fewer than 5 units")
    assert (b["model"], b["tier"], b["value"], b["reason"]) == ("b", None, None, "no unit has a value")
    [pair] = condition["pairs"]
    assert (pair["difference"], pair["p_holm"], pair["significant"]) == (None, None, None)
    assert pair["reason"]


@pytest.mark.slow
def test_a_metric_that_depends_on_all_models_is_of_those_on_the_board() -> None:
    scores = score(load("demo"), load_runs("demo"))
    assert "panas_baseline_adjusted" in scores.headline
    [name] = [name for name, metric in scores.metrics.items() if metric.statistic == "z_score"][:1]
    shown = scores.provenance.model_copy(update={"headline": (scores.primary, name)})
    parts = [scores.keep(groups=[group]) for group in scores.groups]
    entries = [
        Entry(f"{place}", ScoreTable(part.values, part.units, part.metrics, shown)) for place, part in enumerate(parts)
    ]
    rows = content_of(*entries)["boards"][0]["conditions"][0]["models"]
    # Of two models the standard scores are 1 and -1 over the root of 2.
    assert sorted(row["metrics"][name]["value"] for row in rows) == pytest.approx([-(0.5**0.5), 0.5**0.5], abs=1e-12)
    assert rows[0]["metrics"][name]["reason"] == "depends on all models' results"


def _of_people() -> Scores:
    rows = [
        (model, f"u{unit}", "hit", unit % 3 + more, f"p{unit}", topic)
        for model, more in (("a", 0.0), ("b", 1.0))
        for unit, topic in enumerate(["x"] * 3 + ["y"] * 6 + ["z"] * 7)
    ]
    columns = ["model", "unit", "metric", "value", "cluster", "topic"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return Scores.from_table(frame, about={"private": True, "cluster": "participant"})


def test_subgroups_of_few_people_are_not_shown_nor_what_gives_them_away() -> None:
    rows = content_of(Entry("t", _of_people()))["boards"][0]["conditions"][0]["subgroups"]
    values = {(row["stratum"], row["model"]): row["value"] for row in rows}
    # x has 3 people; y, the next smallest, would give x away: whole minus y minus z.
    assert [values["x", "a"], values["y", "a"]] == [None, None]
    assert values["z", "a"] is not None
    assert {row["reason"] for row in rows if row["stratum"] == "x"} == {"fewer than 5 participants, not shown"}
    shown = content_of(Entry("t", _of_people()), small_cells=True)["boards"][0]["conditions"][0]["subgroups"]
    assert all(row["value"] is not None for row in shown)


def test_models_and_pairs_of_few_people_are_not_shown() -> None:
    def lacking(model: str, *units: int) -> pl.Expr:
        """Leave a model the values of some units alone."""
        return pl.col("model").eq(model) & ~pl.col("unit").is_in([f"u{unit}" for unit in units])

    scores = _of_people()
    both = scores.values.vstack(scores.values.filter(model="a").with_columns(model=pl.lit("c")))
    missing = lacking("a", *range(8)) | lacking("b", *range(4)) | lacking("c", *range(7, 16))
    values = both.with_columns(pl.when(missing).then(None).otherwise("hit").alias("hit"))
    few = ScoreTable(values, scores.units, scores.metrics, scores.provenance)
    [board] = content_of(Entry("t", few))["boards"]
    # b has values of 4 people. It would come first, which the rank of the others would tell.
    assert board["left_out"] == ["b: hit of fewer than 5 participants"]
    assert [(row["model"], row["rank"], row["n"]) for row in board["conditions"][0]["models"]] == [
        ("c", 1.0, 9),
        ("a", 2.0, 8),
    ]
    # a and c share one person.
    [pair] = board["conditions"][0]["pairs"]
    assert [pair[name] for name in ("difference", "p", "significant", "n")] == [None] * 4
    # It is not shown, and Holm's method counts it.
    assert board["conditions"][0]["family"] == 1
    assert pair["reason"] == "fewer than 5 participants, not shown"


@pytest.mark.slow
def test_each_person_can_count_once() -> None:
    demo = Entry("demo", score(load("demo"), load_runs("demo")))
    [board] = content_of(demo, weight="participant")["boards"]
    assert "each participant counts once" in board["intervals"]
    rows = board["conditions"][0]["models"]
    assert [row["tier"] for row in rows] == [1, 2]
    assert "|weight:participant|" in rows[0]["signature"]


def test_the_same_entries_give_the_same_content(tmp_path: Path) -> None:
    target = tmp_path / "t.parquet"
    table({"a": 0.5, "b": 0.4}).write(target)
    both = [content_of(Entry("t", Scores.read(target))) for _ in range(2)]
    assert both[0] == both[1]


PAGE = (Path(__file__).parents[3] / "docs" / "leaderboard.md").read_text(encoding="utf-8").partition("## board.json")[2]


def _named(pattern: str) -> set[str]:
    """Return the keys that the documentation names where it matches."""
    [found] = re.findall(pattern, PAGE, flags=re.DOTALL)
    return set(re.findall(r"`(\w+)`", found))


def _listed(heading: str) -> set[str]:
    """Return the keys in the first column of the table below a sentence."""
    table = PAGE.partition(f"\n{heading}")[2].partition("| --- | --- |\n")[2].partition("\n\n")[0]
    return {key for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_key_is_documented_and_no_other(two: dict[str, Any]) -> None:
    [board] = two["boards"]
    condition = board["conditions"][0]
    assert _listed("The file:") == two.keys()
    assert _listed("A board:") == board.keys()
    assert _listed("A condition:") == condition.keys()
    assert _listed("A model, the best first") == condition["models"][0].keys()
    assert _named(r"A pair has (.*?), as of") == condition["pairs"][0].keys()
    assert _named(r"A subgroup has (.*?), as of") == condition["subgroups"][0].keys()
    assert _named(r"for each metric on the page its (.*?), and `source`") == board["metrics"][0].keys()
    assert _named(r"by metric (.*?), as of") == condition["models"][0]["metrics"]["hit"].keys()
