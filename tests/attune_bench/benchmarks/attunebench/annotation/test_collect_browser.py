"""A study in a browser, with and without a script, on a telephone and on a desk, from the link to the file."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from annotating import Somebody
from browsers import browsers
from model_server import Json, ModelServer
from reading import Reader, served, started, wait_for

from attune_bench.annotate.store import Store
from attune_bench.benchmarks.attunebench.annotation.study import EXAMPLE
from attune_bench.cli import main
from attune_data import load

pytestmark = pytest.mark.slow

MESSAGES = ["I have quarrelled with <b>my</b> sister.", "She has not called for a week.\nWhat now?"]
COLLECT = ("collect", "study.toml", "--people", "1", "--file", "study.db", "--output", "conversations")


def write_study(folder: Path, server: ModelServer) -> None:
    study = EXAMPLE.read_text(encoding="utf-8").replace("http://localhost:8000/v1", server.url)
    (folder / "study.toml").write_text(study, encoding="utf-8")


def answered(body: Json) -> str:
    asked = body["messages"][-1]["content"]
    return "That sounds painful; I am sorry." if "anew" in asked else f"You say: {asked[:60]}"


@pytest.mark.parametrize(("width", "script"), [(400, False), (1280, True), (1280, False)])
def test_every_kind_of_page_is_answered_at_a_browser(tmp_path: Path, width: int, script: bool) -> None:
    with ModelServer(answer=answered, latency=0.2) as server, browsers() as start:
        write_study(tmp_path, server)
        browser = start(width, script=script)
        with served(tmp_path, *COLLECT) as [link]:
            Reader(browser, link, width, MESSAGES).answer_until("/screen/turn/1/pair/1")
        assert [one for one in browser.get_log("browser") if "favicon" not in one["message"]] == []
    with Store(tmp_path / "study.db") as store:
        [person] = store.people()
        saved = store.answers(person.id)
    assert [saved[f"message/{number}"].value["text"] for number in (1, 2)] == MESSAGES
    assert saved["turn/1/edited"].value == {"text": "That sounds painful; I am sorry. And you?"}
    assert saved["turn/1/pair/0"].value == {"winner": "A"}


def test_a_person_at_a_browser_becomes_a_file(tmp_path: Path) -> None:
    width = 400
    with ModelServer(answer=answered, latency=0.2) as server, browsers() as start:
        write_study(tmp_path, server)
        browser = start(width, script=True)
        with served(tmp_path, *COLLECT) as [link]:
            Reader(browser, link, width, MESSAGES).answer_all()
        assert [one for one in browser.get_log("browser") if "favicon" not in one["message"]] == []
        [one] = load(tmp_path / "conversations")
    assert [turn.user_message for turn in one.turns] == MESSAGES
    assert [turn.llm_response for turn in one.turns] == [f"You say: {message}" for message in MESSAGES]
    assert all(turn.responses["human"] == "That sounds painful; I am sorry. And you?" for turn in one.turns)
    with pytest.raises(SystemExit) as ended:
        main(["validate", str(tmp_path / "conversations"), "--strict"])
    assert not ended.value.code
    record = json.loads((tmp_path / "conversations" / "conversation_1.json").read_text(encoding="utf-8"))
    assert record["metadata"]["language"] == "en"


def test_a_message_that_is_being_written_outlives_a_reload(tmp_path: Path) -> None:
    with ModelServer(answer=answered) as server, browsers() as start:
        write_study(tmp_path, server)
        browser = start(400)
        with served(tmp_path, *COLLECT) as [link]:
            reader = Reader(browser, link, 400, MESSAGES)
            reader.answer_until("/screen/talk")

            def written() -> str:
                return str(reader.all("textarea")[0].get_attribute("value"))

            reader.all("textarea")[0].send_keys("I have quarr")
            browser.refresh()
            wait_for(lambda: browser.refresh() or written() == "I have quarr")
            reader.all("textarea")[0].send_keys("elled with my sister.")
            reader.press("button[value=send]")
            said = [one.text for one in reader.all(".talk .text")]
            assert said == ["I have quarrelled with my sister.", "You say: I have quarrelled with my sister."]
            browser.refresh()
            assert written() == ""
        assert [one for one in browser.get_log("browser") if "favicon" not in one["message"]] == []


def test_a_server_that_is_killed_while_a_model_answers_loses_nothing(tmp_path: Path) -> None:
    with ModelServer(answer=answered, latency=2.0) as server:
        write_study(tmp_path, server)
        with started(tmp_path, *COLLECT) as (process, origin, [link]):
            secret = link.rpartition("/")[2]
            person = Somebody(origin, secret)
            while person.place != "/screen/talk":
                assert person.answer() == 200
            with ThreadPoolExecutor() as pool:
                sending = pool.submit(person.post, action="send", message=MESSAGES[0])
                wait_for(lambda: server.calls)
                process.kill()
                assert sending.exception()
            person.client.close()
        with started(tmp_path, *COLLECT) as (_, origin, links):
            assert links == []  # The person is there, and the link is kept nowhere.
            again = Somebody(origin, secret, messages=MESSAGES[1:])
            assert "The answer is not here yet" in again.text
            assert again.answer() == 200
            assert f"You say: {MESSAGES[0]}" in again.text
            again.client.close()
    with Store(tmp_path / "study.db") as store:
        [one] = store.people()
        noted = store.answers(one.id)["cost"].value["usd"]
    # The call that was cut off may have been paid for: its bound counts, beside the price of the other.
    assert noted > 400 * 0.6 / 1e6
