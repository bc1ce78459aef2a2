"""A study in a browser, with and without a script, on a telephone and on a desk, from the link to the file."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from browsers import browsers
from model_server import Json, ModelServer

from attune_bench.cli import main
from attune_data import load

pytestmark = pytest.mark.slow

STUDY = Path(__file__).parents[5] / "docs" / "study.toml"
MESSAGES = ["I have quarrelled with <b>my</b> sister.", "She has not called for a week.\nWhat now?"]


def answered(body: Json) -> str:
    asked = body["messages"][-1]["content"]
    return "That sounds painful; I am sorry." if "anew" in asked else f"You say: {asked[:60]}"


@contextmanager
def served(folder: Path, server: ModelServer, people: int) -> Iterator[list[str]]:
    """Serve the study by the command, as a user does; give the links of people."""
    study = STUDY.read_text(encoding="utf-8").replace("http://localhost:8000/v1", server.url)
    (folder / "study.toml").write_text(study, encoding="utf-8")
    command = [sys.executable, "-m", "attune_bench", "annotate", "collect", "study.toml", "--people", str(people)]
    command += ["--file", "study.db", "--output", "conversations", "--port", "8194"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdout
        links: list[str] = []
        for line in process.stdout:
            links += re.findall(r"^\w{10}: (\S+)$", line.strip())
            if line.startswith("Answers are kept"):
                break
        sleep(2)
        yield links
        process.terminate()


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
        for name in dict.fromkeys(one.get_attribute("name") for one in self.all("form.answers input[type=radio]")):
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
        served(tmp_path, server, people=1) as [link],
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
