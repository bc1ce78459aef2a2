"""The commands `leaderboard` and `leaderboard check`."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, Call, Scored

ABOUT = """
model = "vendor/large"
link = "https://example.org"
date = 2026-01-01
submitter = "Lab"
contact = "evals@example.org"
licence = "mit"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{model},q{unit},hit,{unit % 2 + place}" for place, model in enumerate(("vendor/small", "vendor/large"))
            for unit in range(12)]  # fmt: skip
    (tmp_path / "own.csv").write_text("\n".join(["model,unit,metric,value", *rows]), encoding="utf-8")
    (tmp_path / "entry.toml").write_text(f'scores = "own.csv"{ABOUT}', encoding="utf-8")
    return tmp_path


def test_a_site_of_several_files(call: Call, folder: Path, conversations: Scored) -> None:
    site = folder / "site"
    status, out, err = call("leaderboard", folder / "own.csv", conversations.scores, "-o", site, *QUICK)
    assert (status, err) == (0, "")
    assert out == f"{site}/index.html: 4 rows on 2 boards, opens in any browser\n"
    assert sorted(path.name for path in site.iterdir()) == ["board.json", "index.html"]
    content = json.loads((site / "board.json").read_text(encoding="utf-8"))
    assert [board["title"] for board in content["boards"]] == ["AttuneBench", "Scores"]
    assert content["options"]["resamples"] == 200
    assert "vendor/large" in (site / "index.html").read_text(encoding="utf-8")


def test_an_entry_says_whose_it_is_but_not_how_to_reach_them(call: Call, folder: Path) -> None:
    status, *_ = call("leaderboard", "build", folder / "entry.toml", "-o", folder / "site", *QUICK)
    assert status == 0
    written = [path.read_text(encoding="utf-8") for path in (folder / "site").iterdir()]
    assert all("https://example.org" in text for text in written)
    assert not any("evals@example.org" in text or str(folder) in text for text in written)
    [row] = json.loads((folder / "site" / "board.json").read_text())["boards"][0]["conditions"][0]["models"]
    assert (row["submitter"], row["date"], row["licence"]) == ("Lab", "2026-01-01", "mit")


def test_check_lists_every_mistake(call: Call, folder: Path) -> None:
    assert call("leaderboard", "check", folder / "entry.toml")[:2] == (
        0,
        f"{folder}/entry.toml: nothing wrong; Scores, 1 model, 12 units\n",
    )
    (folder / "entry.toml").write_text('scores = "own.csv"\nmodel = "x"\nlink = 1\n', encoding="utf-8")
    status, out, err = call("leaderboard", "check", folder / "own.csv", folder / "entry.toml")
    assert (status, err) == (1, "")
    first, *others = out.splitlines()
    assert first.endswith("own.csv: nothing wrong; Scores, 2 models, 12 units")
    assert len(others) == 6
    status, _, err = call("leaderboard", folder / "entry.toml", "-o", folder / "site")
    assert status == 2
    assert err.endswith("; and 5 other mistakes: see attune-bench leaderboard check\n")
    assert not (folder / "site").exists()


def test_models_of_few_people_are_left_out_and_shown_where_asked(call: Call, folder: Path) -> None:
    rows = [f"{model},q{unit},p{unit},hit,1" for model, units in (("many", 6), ("few", 3)) for unit in range(units)]
    head = "model,unit,cluster,metric,value"
    for name, kept in (("people", rows), ("few", rows[6:])):
        (folder / f"{name}.csv").write_text("\n".join([head, *kept]), encoding="utf-8")
        (folder / f"{name}.toml").write_text("private = true\n[metrics.hit]\n", encoding="utf-8")
    (folder / "entry.toml").write_text(f'scores = "people.csv"{ABOUT.replace("vendor/large", "few")}', encoding="utf-8")
    why = "few was run on 3, fewer than 5 clusters"

    def board(name: str, *options: str) -> dict[str, Any]:
        site = folder / f"site{len(list(folder.iterdir()))}"
        assert call("leaderboard", folder / name, "-o", site, *options, *QUICK)[0] == 0
        [found] = json.loads((site / "board.json").read_text(encoding="utf-8"))["boards"]
        return dict(found)

    without, whole = board("people.csv"), board("people.csv", "--small-cells")
    assert without["left_out"] == ["few: hit of fewer than 5 clusters"]
    assert [row["model"] for row in without["conditions"][0]["models"]] == ["many"]
    assert {row["model"]: row["n"] for row in whole["conditions"][0]["models"]} == {"many": 6, "few": 3}
    assert why in call("leaderboard", "check", folder / "people.csv")[1]
    # Where nothing would be left there is no leaderboard.
    for name, said in (("few.csv", "no model can be ranked: few: hit of fewer than 5 clusters"), ("entry.toml", why)):
        status, _, err = call("leaderboard", folder / name, "-o", folder / "site", *QUICK)
        assert (status, said in err) == (2, True), err
        assert not (folder / "site").exists()


def test_a_model_has_a_row_in_each_condition(call: Call, folder: Path) -> None:
    rows = [f"m,q{unit},{condition},hit,1" for unit in range(6) for condition in ("plain", "reasoning")]
    (folder / "two.csv").write_text("\n".join(["model,unit,condition,metric,value", *rows]), encoding="utf-8")
    status, out, _ = call("leaderboard", folder / "two.csv", "-o", folder / "site", *QUICK)
    assert (status, out) == (0, f"{folder}/site/index.html: 2 rows on 1 board, opens in any browser\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("own.csv", "own.csv", "-o", "site"), "both have scores of 'vendor/large'; leave one out"),
        (("own.csv", "-o", "."), "exists and is not an empty folder; remove it, or give another name"),
        (("own.csv", "-o", "none/site"), "there is no folder"),
        (("own.csv", "-o", "site", "--interval", "bca"), "there is no BCa interval of a rank"),
        (("own.csv",), "Missing option '--output' / '-o'"),
        (("none.csv", "-o", "site"), "none.csv"),
    ],
)
def test_mistakes(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    status, out, err = call("leaderboard", *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_help_of_the_group(call: Call) -> None:
    status, out, _ = call("leaderboard", "--help")
    assert status == 0
    assert "check" in out
