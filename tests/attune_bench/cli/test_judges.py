"""The command `judges`: what it prints of published ratings, and how it refuses."""

from pathlib import Path

import polars as pl
import pytest
from commands import QUICK, Call, csv_rows, strict_json, too_wide

EMPATHY = Path(__file__).parents[2] / "golden" / "empathy" / "ratings.parquet"
EXPERTS = ("--expert", "expert1", "expert2", "expert3")
JUDGES = ("judges", EMPATHY, *EXPERTS, "--judge", "gpt", "claude")


@pytest.mark.slow
def test_the_table(call: Call) -> None:
    status, out, err = call(*JUDGES, *QUICK)
    assert (status, err, too_wide(out)) == (0, "", [])
    for title in ("Kappa of a judge with experts, and of experts among themselves", "Mean rating, judge minus experts"):
        titles = [f"{dataset}: {title}" for dataset in ("Lend an Ear", "EPITOME", "Perceived Empathy")]
        assert [one for one in titles if one not in out] == []
    assert "Kappa of every two raters" not in out
    assert "as close: " not in out
    assert "Of 42 verdicts, about 2.1 would be closer or less close by chance" in " ".join(out.split())
    assert "Not used, as neither experts nor judges: crowd, gemini." in out


def test_pairs_and_a_margin(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    pl.read_parquet(EMPATHY).filter(dataset="EPITOME").drop("dataset").write_csv(path)
    status, out, err = call("judges", path, *EXPERTS, "--judge", "gpt", "--margin", 0.2, "--pairs", *QUICK)
    assert (status, err, too_wide(out)) == (0, "", [])
    assert "as close: it is above -0.2" in " ".join(out.split())
    _, pairs = out.split("Kappa of every two raters\n")
    # Published as 0.35.
    assert pairs.splitlines()[2].split()[:4] == ["level_emotional_reactions", "expert1", "expert2", "0.352"]
    markdown = call("judges", path, *EXPERTS, "--judge", "gpt", "--format", "markdown", *QUICK)[1]
    assert "| dimension | judge | with | among | difference | verdict | n |" in markdown


@pytest.mark.slow
def test_json_and_csv_have_every_number(call: Call) -> None:
    status, out, _ = call(*JUDGES, "--by", "rank", "--weights", "none", "--format", "json", *QUICK)
    assert (status, out.count("NaN")) == (2, 0)
    status, out, err = call(*JUDGES, "--by", "rank", "--format", "json", *QUICK)
    assert (status, err) == (0, "")
    said = strict_json(out)
    assert list(said) == ["metadata", "judges", "pairs"]
    assert said["metadata"]["experts"] == ["expert1", "expert2", "expert3"]
    assert (said["metadata"]["by"], said["metadata"]["margin"]) == ("rank", None)
    assert (len(said["judges"]), len(said["pairs"])) == (42, 210)
    rows = csv_rows(call(*JUDGES, "--by", "rank", "--format", "csv", *QUICK)[1])
    assert [row["verdict"] for row in rows] == [row["verdict"] for row in said["judges"]]
    assert list(rows[0]) == list(said["judges"][0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--expert", "expert1", "--judge", "gpt"), "name at least two experts"),
        ((*EXPERTS, "--judge", "gtp"), "no rater 'gtp'; did you mean 'gpt'?"),
        ((*EXPERTS, "--judge", "gpt", "--margin", "2"), "margin 2.0 is of kappa"),
        (
            (*EXPERTS, "--judge", "gpt", "--weights", "none", "--by", "rank"),
            "by='rank' says how weights measure distance, and there are no weights",
        ),
    ],
)
def test_one_error(call: Call, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = call("judges", EMPATHY, *arguments, *QUICK)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("attune-bench: ")
    assert said in err


def test_a_file_without_the_columns(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item,who,score\nq1,ann,1\n", encoding="utf-8")
    assert call("judges", path, *EXPERTS, "--judge", "gpt") == (
        2, "", f"attune-bench: {path}: no column 'rater', or 'judge'; the table has item, who, score\n"
    )  # fmt: skip
