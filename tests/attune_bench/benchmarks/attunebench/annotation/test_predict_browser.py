"""A person who predicts at a browser, with and without a script, on a telephone and on a desk, and the run file."""

import json
from pathlib import Path

import pytest
from browsers import browsers
from commands import Call
from reading import Reader, served

from attune_data import load

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("script", [True, False])
def test_a_conversation_of_the_demo_is_played_to_its_run_file(
    call: Call, tmp_path: Path, width: int, script: bool
) -> None:
    shortest = min(load("demo"), key=lambda one: len(one.turns))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "conversation_1.json").write_bytes(shortest.to_json())
    command = ("predict", "data", "--as", "ann", "--file", "ann.db", "--output", "human")
    with browsers() as start, served(tmp_path, *command) as [link]:
        browser = start(width, script=script)
        Reader(browser, link, width).answer_all()
        assert browser.get_log("browser") == []
        files = list((tmp_path / "human").iterdir())  # before the server stops
    [file] = files
    run = json.loads(file.read_bytes())
    assert [len(turn["em_pairwise_selections"]) for turn in run["turns"]] == [12] * len(shortest.turns)
    assert set(run["turns"][0]["em_binary_om_assessment_hp"].values()) == {"yes"}
    data, human, scores = (str(tmp_path / name) for name in ("data", "human", "scores.json"))
    assert call("validate", human, "--strict")[0] == 0
    assert call("score", "--data", data, "--results", human, "-o", scores)[0] == 0
    status, out, _ = call("rank", scores)
    assert (status, "human/ann" in out) == (0, True)
    page = tmp_path / "page.html"
    assert call("report", scores, "--html", str(page), "--small-cells")[0] == 0
    assert "human/ann" in page.read_text(encoding="utf-8")
