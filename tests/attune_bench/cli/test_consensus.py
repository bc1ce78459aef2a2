"""The command `judge consensus`: what it prints of judges without people, what it warns of, and how it refuses."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import Call, csv_rows, strict_json, too_wide
from numpy.typing import NDArray

JUDGES = ("ann", "bob", "cem", "dot")
NOTE = "Agreement is not truth: what all judges share, such as leniency to the weakest, is in the levels"
Ratings = NDArray[np.float64]


def simulated(judges: int = 4, *, seed: int = 1, shared: float = 0.0) -> Ratings:
    """Return ratings (60 items of two models, judges); the first judge is lenient, and shares errors with the next."""
    generator = np.random.default_rng(seed)
    levels = np.tile([2.0, 3, 4, 3, 5], 24)[:, np.newaxis] - np.repeat([[0.0], [1.0]], 60, axis=0)
    errors = generator.logistic(scale=0.25, size=(120, judges)) + shared * generator.normal(size=(120, 1)) * [
        [1, 1] + [0] * (judges - 2)
    ]
    errors[:, 0] += 0.5
    rated: Ratings = np.clip(np.rint(levels + errors), 1, 5)
    return rated


def table(path: Path, ratings: Ratings, names: tuple[str, ...] = JUDGES, *, models: bool = True) -> Path:
    """Write a table of ratings, of models `good` and `bad`, on one dimension."""
    rows = [
        (f"q{row % 60:02}" if models else f"q{row:03}", "bad" if row >= 60 else "good", name, "warmth", rating)
        for row, own in enumerate(ratings.tolist())
        for name, rating in zip(names, own, strict=True)
    ]
    frame = pl.DataFrame(rows, schema=["item", "responder", "rater", "dimension", "rating"], orient="row")
    (frame if models else frame.drop("responder")).write_csv(path)
    return path


def warnings(out: str) -> list[str]:
    return [" ".join(part.split()) for part in out.split("\n\n") if part.startswith("Warning: ")]


def test_the_tables(call: Call, tmp_path: Path) -> None:
    path = table(tmp_path / "ratings.csv", simulated())
    status, out, err = call("judge", "consensus", path)
    assert (status, err, too_wide(out), warnings(out)) == (0, "", [], [])
    lines = [line.split() for line in out.splitlines()]
    assert lines[1] == ["dimension", "model", "level", "plain", "mean", "n"]
    assert [line[:2] for line in lines[3:5]] == [["warmth", "bad"], ["warmth", "good"]]
    assert "dimension  judge  accuracy  leniency  spread    n" in out
    words = " ".join(out.split())
    assert NOTE in words
    assert "in brackets 95% intervals over items" in words
    assert "Whether two judges share errors is tested" in words
    assert "how often" not in out.split("Agreement")[0]
    three = call("judge", "consensus", path, "--judge", "ann", "bob", "cem", "--confusion")[1]
    assert "Whether judges share errors cannot be tested: that takes four judges" in " ".join(three.split())
    assert "dot" not in three
    _, matrix = three.split("warmth: how often bob gives each rating\n")
    rows = [[float(cell) for cell in line.split()] for line in matrix.splitlines()[2:7]]
    assert [row[0] for row in rows] == [1, 2, 3, 4, 5]
    assert [sum(row[1:]) for row in rows] == pytest.approx([1] * 5, abs=0.03)
    markdown = call("judge", "consensus", path, "--format", "markdown")[1]
    assert "| dimension | model | level | plain mean | n |" in markdown


def test_json_and_csv_have_every_number(call: Call, tmp_path: Path) -> None:
    path = table(tmp_path / "ratings.csv", simulated())
    said = strict_json(call("judge", "consensus", path, "--format", "json", "--level", 0.9)[1])
    assert list(said) == ["metadata", "models", "judges", "confusion", "pairs", "units"]
    assert (said["metadata"]["judges"], said["metadata"]["level"]) == ([*JUDGES], 0.9)
    assert said["metadata"]["notes"][0].startswith(NOTE)
    assert [len(said[name]) for name in ("models", "judges", "confusion", "pairs", "units")] == [2, 4, 100, 6, 120]
    assert [row["n"] for row in said["models"]] == [60, 60]
    units = [row["level"] for row in said["units"] if row["model"] == "good"]
    assert np.mean(units) == pytest.approx(said["models"][1]["level"], abs=1e-3)
    rows = csv_rows(call("judge", "consensus", path, "--format", "csv")[1])
    assert [*rows[0]] == [*said["models"][0]]


def test_a_table_without_models_has_one_mean(call: Call, tmp_path: Path) -> None:
    path = table(tmp_path / "ratings.csv", simulated(), models=False)
    out = call("judge", "consensus", path)[1]
    assert [line.split()[0] for line in out.splitlines()[3:5] if line] == ["warmth"]
    assert "model" not in out.splitlines()[1]


def test_a_judge_that_is_left_out_or_falls_or_never_errs_is_named(call: Call, tmp_path: Path) -> None:
    constant = simulated()
    constant[:, 3] = 4
    found = warnings(call("judge", "consensus", table(tmp_path / "a.csv", constant))[1])
    assert found == [
        "Warning: warmth: dot is left out: the same rating for every unit, which says nothing about the level."
    ]
    negative = simulated()
    negative[:, 1] = 6 - negative[:, 1]
    assert warnings(call("judge", "consensus", table(tmp_path / "b.csv", negative))[1]) == [
        "Warning: warmth: bob falls where most judges rise, and is turned round; nothing shows that most are right."
    ]
    copied = simulated()
    copied[:, 3] = copied[:, 2]
    found = warnings(call("judge", "consensus", table(tmp_path / "c.csv", copied))[1])
    assert "Warning: warmth: dot seems never to err, so that the levels are its ratings. Few judges never err." in found


@pytest.mark.slow
def test_judges_that_share_errors_are_named(call: Call, tmp_path: Path) -> None:
    path = table(tmp_path / "four.csv", simulated(shared=0.8))
    [found] = [one for one in warnings(call("judge", "consensus", path)[1]) if "agree more" in one]
    assert "they may share errors. Of four judges, " in found
    names = ("ann", "bob", "cem", "dot", "eve")
    path = table(tmp_path / "five.csv", simulated(5, shared=0.8), names)
    [found] = [one for one in warnings(call("judge", "consensus", path)[1]) if "agree more" in one]
    assert found.startswith("Warning: warmth: ann and bob agree more than the other judges explain (correlation +0.")
    assert found.endswith("): they may share errors.")
    path = table(tmp_path / "apart.csv", simulated(5), names)
    assert "agree more" not in call("judge", "consensus", path)[1]


def test_what_cannot_be_known_is_refused(call: Call, tmp_path: Path) -> None:
    path, ratings = tmp_path / "ratings.csv", simulated()
    ratings[:, 3] = 2
    table(path, ratings)
    one = "with one, nothing shows how often it errs: at least 3 are needed"
    two = "with two, nothing shows which of them errs: at least 3 are needed"
    few = two.replace("two", "fewer than 3")
    silent = "dot: the same rating for every unit, which says nothing about the level"
    for judges, said in {
        ("ann",): f"one judge rated; {one} (ann: no other judge is left to compare with)",
        ("ann", "bob"): f"two judges rated; {two} (ann, bob)",
        ("ann", "dot"): f"none of 2 judges can be used; {few} (ann: no other judge is left to compare with; {silent})",
        ("ann", "bob", "dot"): f"2 of 3 judges can be used; {two} ({silent})",
    }.items():
        assert call("judge", "consensus", path, "--judge", *judges) == (
            2, "", f"attune-bench: {path}: dimension 'warmth': {said}\n"
        )  # fmt: skip
    status, out, err = call("judge", "consensus", path, "--judge", "anne")
    assert (status, out) == (2, "")
    assert "no rater 'anne'; did you mean 'ann'?" in err
    half = simulated()
    half[:, 2:] = 6 - half[:, 2:]
    err = call("judge", "consensus", table(path, half))[2]
    assert err.endswith(
        "nothing shows which half is right (ann: falls where others rise; bob: falls where others rise)\n"
    )
    half[0, 0] = 2.25
    half[1, 0] = 2.6
    err = call("judge", "consensus", table(path, half))[2]
    assert err.endswith(
        "an evenly spaced scale of at most 21 levels: round the ratings, or leave out ann, with ratings between whole "
        "numbers\n"
    )


def test_judges_of_different_items_are_named(call: Call, tmp_path: Path) -> None:
    pairs, path = simulated(), tmp_path / "pairs.csv"
    pairs[:60, :2] = pairs[60:, 2:] = np.nan
    alone = "no two other judges have 4 units in common with it and with each other"
    status, out, err = call("judge", "consensus", table(path, pairs))
    assert (status, out) == (2, "")
    assert "none of 4 judges can be used; with fewer than 3, nothing shows which of them errs" in err
    assert err.endswith(f"({'; '.join(f'{judge}: {alone}' for judge in JUDGES)})\n")
    six, groups = (*JUDGES, "eve", "fay"), simulated(6)
    groups[:60, :3] = groups[60:, 3:] = np.nan
    err = call("judge", "consensus", table(path, groups, six))[2]
    assert "the judges are in 2 groups; no two judges of different groups have 4 units in common, and nothing" in err
    assert "(ann: in group 1 of 2; bob: in group 1 of 2; cem: in group 1 of 2; dot: in group 2 of 2;" in err
    # One pair without a common item is said, and the other pairs are tested.
    apart = simulated(5)
    apart[:60, 0] = apart[60:, 1] = np.nan
    said = " ".join(call("judge", "consensus", table(path, apart, six[:5]))[1].split())
    assert "Whether two judges share errors is tested" in said
    assert "1 of 10 pairs cannot be tested: the two have no common units." in said
    said = " ".join(call("judge", "consensus", table(path, apart[:, :4]))[1].split())
    assert "1 of 6 pairs cannot be tested: no other two judges to compare with." in said
    assert "cannot be tested" not in call("judge", "consensus", table(path, simulated(5), six[:5]))[1]


def test_a_dimension_that_cannot_be_known_does_not_stop_the_others(call: Call, tmp_path: Path) -> None:
    path = table(tmp_path / "ratings.csv", simulated())
    frame = pl.read_csv(path)
    cold = frame.filter(pl.col("rater") != "dot", pl.col("rater") != "cem").with_columns(dimension=pl.lit("cold"))
    pl.concat([frame, cold]).write_csv(path)
    said = strict_json(call("judge", "consensus", path, "--format", "json")[1])
    cold_rows = [row for row in said["models"] if row["dimension"] == "cold"]
    assert [row["level"] for row in cold_rows] == [None, None]
    assert {row["reason"] for row in cold_rows} == {
        "two judges rated; with two, nothing shows which of them errs: at least 3 are needed"
    }
    assert all(row["level"] for row in said["models"] if row["dimension"] == "warmth")
