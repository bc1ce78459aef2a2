"""A person who predicts at a browser, with and without a script, on a telephone and on a desk, and the run file."""

import json
from pathlib import Path

import pytest
from browsers import browsers
from commands import Call
from reading import Reader, served

from attune_bench.annotate.store import Store
from attune_data import Conversation, load

pytestmark = pytest.mark.slow


COMMAND = ("predict", "data", "--as", "ann", "--file", "ann.db", "--output", "human")


@pytest.fixture
def shortest(tmp_path: Path) -> Conversation:
    """Return the shortest conversation of the demo, which is in the folder `data`."""
    found = min(load("demo"), key=lambda one: len(one.turns))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "conversation_1.json").write_bytes(found.to_json())
    return found


@pytest.mark.usefixtures("shortest")
@pytest.mark.parametrize(("width", "script"), [(400, False), (1280, True), (1280, False)])
def test_every_page_of_a_turn_is_answered_at_a_browser(tmp_path: Path, width: int, script: bool) -> None:
    with browsers() as start, served(tmp_path, *COMMAND) as [link]:
        browser = start(width, script=script)
        Reader(browser, link, width).answer_until("/screen/1/turn-2/draft")
        assert browser.get_log("browser") == []
    with Store(tmp_path / "ann.db") as store:
        [person] = store.people()
        saved = store.answers(person.id)
    assert len(saved["1/turn-1/pairwise"].value) == 12
    assert saved["1/turn-1/read-hp"].done


def test_a_conversation_of_the_demo_is_played_to_its_run_file(
    call: Call, tmp_path: Path, shortest: Conversation
) -> None:
    width = 400
    with browsers() as start, served(tmp_path, *COMMAND) as [link]:
        browser = start(width, script=True)
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
