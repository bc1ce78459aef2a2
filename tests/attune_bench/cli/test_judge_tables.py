"""Tables of few or odd judges: `judge correct`, `judge plan` and `judge consensus` are right, or refuse by name."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from commands import Call, strict_json

QUICK = ("--resamples", 300)
PRICE = ("--price", 40, "--rating-price", 1, "--judge-price")


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Return a table of 60 items, of which *human* rated 30."""
    generator, rows = np.random.default_rng(1), []
    for item in range(60):
        level = float(np.clip(np.rint(generator.normal(3, 1)), 1, 5))
        seen = np.clip(np.rint(level + generator.normal(0, 0.7, size=3)), 1, 5).tolist()
        raters = dict(zip(("one", "two", "three"), seen, strict=True))
        raters |= {"same": 3.0, "truth": level, "negative": 6 - level} | ({"human": level} if item < 30 else {})
        # Two judges lack every fifth item, others each.
        lack = {0: "one", 1: "two"}.get(item % 5)
        rows += [(f"q{item:02}", "m", rater, "warmth", value) for rater, value in raters.items()]
        rows += [
            (f"q{item:02}", "m", f"{rater}*", "warmth", raters[rater]) for rater in ("one", "two") if rater != lack
        ]
    path = tmp_path / "ratings.csv"
    pl.DataFrame(rows, schema=["item", "responder", "rater", "dimension", "rating"], orient="row").write_csv(path)
    return path


def corrected(call: Call, path: Path, *judges: str) -> tuple[list[dict[str, Any]], str]:
    """Return the rows of models, and all that is printed as text."""
    command = ("judge", "correct", path, "--people", "human", "--judge", *judges, *QUICK)
    text = " ".join(call(*command)[1].split())
    return strict_json(call(*command, "--format", "json")[1])["models"], text


def planned(call: Call, path: Path, *judges: str) -> str:
    return " ".join(
        call("judge", "plan", path, "--people", "human", *PRICE, *(f"{one}=0.1" for one in judges))[1].split()
    )


def test_one_rater(call: Call, ratings: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    pl.read_csv(ratings).filter(rater="human").write_csv(path)
    refused = "attune-bench: the scores have one rater; name scores of judges, and people's ratings\n"
    assert call("judge", "correct", path, "--people", "human") == (2, "", refused)
    assert call("judge", "plan", path, "--people", "human", "--width", 0.4) == (2, "", refused)
    status, out, err = call("judge", "plan", path, "--people", "human", *PRICE, "human=0.1")
    assert (status, out) == (2, "")
    assert "'human' is named as people and as a judge" in err
    status, out, err = call("judge", "consensus", path)
    assert (status, out) == (2, "")
    assert "one judge rated; with one, nothing shows how often it errs: at least 3 are needed" in err


@pytest.mark.slow
def test_a_constant_judge(call: Call, ratings: Path) -> None:
    [row], text = corrected(call, ratings, "same")
    undefined = "the judge scores all rated units the same, so that the slope is undefined"
    assert (row["corrected"], row["reason"]) == (None, undefined)
    assert undefined in text
    rows, text = corrected(call, ratings, "one", "same")
    assert [row["reason"] for row in rows] == [None, undefined, None]
    assert "same gives all items the same score, and is left out" in text
    out = " ".join(call("judge", "plan", ratings, "--people", "human", "--width", 0.6)[1].split())
    assert "the ratings or the judge's scores of the pilot do not vary, or are too few" in out
    said = planned(call, ratings, "same")
    assert "no judge is left that can be paid beside two ratings; people alone give an interval" in said
    assert "same: fewer than two different scores of the rated items, in no panel" in said
    assert "in no panel" not in planned(call, ratings, "one")
    err = call("judge", "consensus", ratings, "--judge", "one", "same")[2]
    assert "none of 2 judges can be used; with fewer than 3, nothing shows which of them errs" in err
    assert "same: the same rating for every unit, which says nothing about the level" in err


@pytest.mark.slow
def test_missing_cells(call: Call, ratings: Path) -> None:
    rows, text = corrected(call, ratings, "one*", "two*", "three")
    assert [row["n"] for row in rows] == [48, 60, 48, 60]
    for judge in ("one*", "two*"):
        assert f"{judge} has no score of 12 items; each counts as the mean of this judge" in text
    assert "left out" not in text.replace("without a judge's score left out", "")
    whole, _ = corrected(call, ratings, "one", "two", "three")
    assert rows[-1]["corrected"] == pytest.approx(whole[-1]["corrected"], abs=0.1)
    said = planned(call, ratings, "one*")
    assert "m: 6 of 30 rated items left out, without a score by the judges." in said
    assert "without a score by the judges" not in planned(call, ratings, "one*", "three")
    levels = [
        strict_json(call("judge", "consensus", ratings, "--judge", *judges, "--format", "json")[1])["models"][0]
        for judges in (("one*", "two*", "three"), ("one", "two", "three"))
    ]
    assert [level["n"] for level in levels] == [60, 60]
    assert levels[0]["level"] == pytest.approx(levels[1]["level"], abs=0.1)


@pytest.mark.slow
def test_a_judge_that_is_left_out_is_told_before_other_warnings(call: Call, ratings: Path) -> None:
    given = pl.read_csv(ratings).filter((pl.col("rater") != "one") | (pl.col("item") < "q30"))
    is_rated = (pl.col("rater") != "human") | (pl.col("item") < "q20")
    pl.concat(given.filter(is_rated).with_columns(responder=pl.lit(name)) for name in "abc").write_csv(ratings)
    text = corrected(call, ratings, "one", "two", "three")[1]
    assert "more warnings: under note" in text
    for model in "abc":
        assert f"Warning: {model} [all 3 judges]: 20 ratings, fewer than 30" in text
    assert text.count("one scored rated items more often than others (p < 0.05), and is left out") == 3


@pytest.mark.slow
@pytest.mark.parametrize(("judge", "weight"), [("truth", 1), ("negative", -1)])
def test_a_judge_that_equals_the_truth_or_is_its_negative(call: Call, ratings: Path, judge: str, weight: int) -> None:
    rows, _ = corrected(call, ratings, "one", "two", judge)
    by_judge = {row["rater"]: row for row in rows}
    assert by_judge[judge]["weight"] == pytest.approx(weight, abs=1e-6)
    true = pl.read_csv(ratings).filter(rater="truth")["rating"].mean()
    for name in (judge, "all 3 judges"):
        assert by_judge[name]["corrected"] == pytest.approx(true)
        assert abs(by_judge[name]["correlation"]) == pytest.approx(1)
    assert f"{judge} and 34 ratings give the shortest interval" in planned(call, ratings, "one", "two", judge)
    out = " ".join(call("judge", "consensus", ratings, "--judge", "one", "two", judge)[1].split())
    turned = f"{judge} falls where most judges rise, and is turned round; nothing shows that most are right."
    assert (turned in out) == (judge == "negative")
    found = strict_json(call("judge", "consensus", ratings, "--judge", "one", "two", judge, "--format", "json")[1])
    assert found["models"][0]["low"] < true < found["models"][0]["high"]
