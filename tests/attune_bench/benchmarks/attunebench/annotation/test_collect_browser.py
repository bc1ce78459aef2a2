"""A study in a browser, with and without a script, on a telephone and on a desk, from the link to the file."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest
import uvicorn
from annotating import Somebody
from browsers import browsers
from model_server import Json, ModelServer

from attune_bench.annotate.app import Application
from attune_bench.annotate.guard import Limits
from attune_bench.annotate.store import Store
from attune_bench.benchmarks.attunebench.annotation.collect import begin_study
from attune_bench.benchmarks.attunebench.annotation.study import EXAMPLE
from attune_bench.cli import main
from attune_data import load

pytestmark = pytest.mark.slow

PORT = 8194
MESSAGES = ["I have quarrelled with <b>my</b> sister.", "She has not called for a week.\nWhat now?"]


def answered(body: Json) -> str:
    asked = body["messages"][-1]["content"]
    return "That sounds painful; I am sorry." if "anew" in asked else f"You say: {asked[:60]}"


def study_for(folder: Path, server: ModelServer) -> Path:
    path = folder / "study.toml"
    path.write_text(EXAMPLE.read_text(encoding="utf-8").replace("http://localhost:8000/v1", server.url), "utf-8")
    return path


@contextmanager
def served(folder: Path, server: ModelServer) -> Iterator[str]:
    """Serve the study for one person, who may be faster than people are; give the link."""
    store, job, links = begin_study(study_for(folder, server), folder / "study.db", people=1)
    limits = Limits(per_link=10_000.0)
    origin = f"http://127.0.0.1:{PORT}"
    with store:
        app = Application(store, job, origin=origin, output=folder / "conversations", limits=limits)
        web = uvicorn.Server(uvicorn.Config(app.asgi, port=PORT, http="h11", lifespan="off", log_level="error"))
        thread = Thread(target=web.run)
        thread.start()
        wait_for(lambda: web.started)
        [(_, secret)] = links
        try:
            yield f"{origin}/enter/{secret}"
        finally:
            web.should_exit = True
            thread.join()


@contextmanager
def command(folder: Path, server: ModelServer) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """Serve the study for one person by the command, as a user does; give the process and the new links."""
    study_for(folder, server)
    words = ["annotate", "collect", "study.toml", "--people", "1", "--file", "study.db", "-o", "conversations"]
    with subprocess.Popen(
        [sys.executable, "-m", "attune_bench", *words, "--port", str(PORT)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            assert process.stdout
            links: list[str] = []
            for line in process.stdout:
                links += re.findall(r"^\w{10}: (\S+)$", line.strip())
                if line.startswith("Answers are kept"):
                    break
            sleep(2)
            yield process, links
        finally:
            process.kill()


def wait_for(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    until = monotonic() + seconds
    while not condition():
        assert monotonic() < until
        sleep(0.05)


class Reader:
    """Somebody at a browser, who chooses the first option of everything."""

    def __init__(self, browser: Any, link: str, width: int) -> None:
        self.browser, self.width = browser, width
        self.messages = iter(MESSAGES)
        browser.get(link)
        self.press("main a.button")

    def all(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def click(self, element: Any) -> None:
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(self, selector: str) -> None:
        """Click what leads to another page, and wait for it."""
        page = self.all("html")[0].id
        self.click(self.all(selector)[0])
        wait_for(lambda: (found := self.all("html")) and found[0].id != page and self.all("main h1"))

    def answer(self) -> None:
        """Answer the page, as wide as it is."""
        assert self.browser.execute_script("return document.documentElement.scrollWidth") <= self.width
        if self.all("button[value=send]"):
            areas = self.all("textarea[name=message]")
            if not areas:
                return self.wait_for_the_model()
            message = next(self.messages, None)
            if message is None:
                return self.press("button[name=ended]")
            areas[0].send_keys(message)
            return self.press("button[value=send]")
        radios = "document.querySelectorAll('form.answers input[type=radio]')"
        for name in self.browser.execute_script(f"return [...new Set([...{radios}].map(one => one.name))]"):
            self.click(self.all(f"input[name='{name}']")[0])
        for box in self.all("form.answers input[type=checkbox]")[:1]:
            self.click(box)
        return self.press("form button.primary")

    def wait_for_the_model(self) -> None:
        """Wait for the page that shows what the model wrote, which a script fetches by itself."""
        if self.browser.execute_script("return typeof form") == "undefined":
            return self.press("button[value=send]")
        return wait_for(lambda: not self.all("button[value=send]") and self.all("main h1"))


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("script", [True, False])
def test_a_person_at_a_browser_becomes_a_file(tmp_path: Path, width: int, script: bool) -> None:
    with (
        ModelServer(answer=answered, latency=0.2) as server,
        served(tmp_path, server) as link,
        browsers() as start,
    ):
        browser = start(width, script=script)
        reader = Reader(browser, link, width)
        for _ in range(200):
            if browser.current_url.endswith("/done"):
                break
            reader.answer()
        assert browser.current_url.endswith("/done")
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


def test_a_server_that_is_killed_while_a_model_answers_loses_nothing(tmp_path: Path) -> None:
    with ModelServer(answer=answered, latency=2.0) as server:
        with command(tmp_path, server) as (process, [link]):
            origin, _, secret = link.partition("/enter/")
            person = Somebody(origin, secret)
            while person.place != "/screen/talk":
                assert person.answer() == 200
                sleep(0.1)  # A link may not be used faster than by people.
            with ThreadPoolExecutor() as pool:
                sending = pool.submit(person.post, action="send", message=MESSAGES[0])
                wait_for(lambda: server.calls)
                process.kill()
                assert sending.exception()
            person.client.close()
        with command(tmp_path, server) as (_, links):
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
