"""A study in a browser, with and without a script, on a telephone and on a desk, from the link to the file."""

import json
from pathlib import Path

import pytest
from browsers import browsers
from model_server import Json, ModelServer
from reading import Reader, served

from attune_bench.benchmarks.attunebench.annotation.study import EXAMPLE
from attune_bench.cli import main
from attune_data import load

pytestmark = pytest.mark.slow

MESSAGES = ["I have quarrelled with <b>my</b> sister.", "She has not called for a week.\nWhat now?"]


def answered(body: Json) -> str:
    asked = body["messages"][-1]["content"]
    return "That sounds painful; I am sorry." if "anew" in asked else f"You say: {asked[:60]}"


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("script", [True, False])
def test_a_person_at_a_browser_becomes_a_file(tmp_path: Path, width: int, script: bool) -> None:
    with ModelServer(answer=answered, latency=0.2) as server, browsers() as start:
        study = EXAMPLE.read_text(encoding="utf-8").replace("http://localhost:8000/v1", server.url)
        (tmp_path / "study.toml").write_text(study, encoding="utf-8")
        options = ("--people", "1", "--file", "study.db", "--output", "conversations")
        browser = start(width, script=script)
        with served(tmp_path, "collect", "study.toml", *options) as [link]:
            Reader(browser, link, width, MESSAGES).answer_all()
        assert [one for one in browser.get_log("browser") if "favicon" not in one["message"]] == []
        [one] = load(tmp_path / "conversations")
    assert [turn.user_message for turn in one.turns] == MESSAGES
    assert [turn.llm_response for turn in one.turns] == [f"You say: {message}" for message in MESSAGES]
    assert all(turn.responses["human"] == "That sounds painful; I am sorry." for turn in one.turns)
    with pytest.raises(SystemExit) as ended:
        main(["validate", str(tmp_path / "conversations"), "--strict"])
    assert not ended.value.code
    record = json.loads((tmp_path / "conversations" / "conversation_1.json").read_text(encoding="utf-8"))
    assert record["metadata"]["language"] == "en"
