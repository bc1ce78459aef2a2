"""A study that is served by its command, and somebody who answers it at a browser."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from time import monotonic, sleep
from typing import Any


@contextmanager
def started(folder: Path, *command: str) -> Iterator[tuple["subprocess.Popen[str]", str, list[str]]]:
    """Start a command of `annotate` that serves a study; give the process, its address, and links of new people."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "attune_bench", "annotate", *command, "--port", str(port)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stdout
            links: list[str] = []
            for said in process.stdout:
                links += re.findall(r"^[\w-]+: (http\S+)$", said.strip())
                if said.startswith("Answers are kept"):
                    break
            wait_for(lambda: _answers(port))
            yield process, f"http://127.0.0.1:{port}", links
        finally:
            process.kill()


@contextmanager
def served(folder: Path, *command: str) -> Iterator[list[str]]:
    """Serve a study by a command of `attune-bench annotate`, as a user does; give the links of people."""
    with started(folder, *command) as (process, _, links):
        yield links
        process.terminate()
        process.wait(20)


def _answers(port: int) -> bool:
    with socket() as one:
        return not one.connect_ex(("127.0.0.1", port))


def wait_for(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    until = monotonic() + seconds
    while not condition():
        assert monotonic() < until
        sleep(0.05)


class Reader:
    """Somebody at a browser, who chooses the first option of everything, and writes messages to a model."""

    def __init__(self, browser: Any, link: str, width: int, messages: Iterable[str] = ()) -> None:
        self.browser, self.width = browser, width
        self.messages = iter(messages)
        still = [{"name": "prefers-reduced-motion", "value": "reduce"}]  # or a click may miss what is scrolling by
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": still})
        browser.get(link)
        self.press("main button.primary")

    def all(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def click(self, element: Any) -> None:
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        sleep(0.05)  # A link may be used less often than a program can.

    def press(self, selector: str) -> None:
        """Click what leads to another page, and wait for it."""
        sleep(0.1)
        page = self.all("html")[0].id
        self.click(self.all(selector)[0])
        wait_for(lambda: (found := self.all("html")) and found[0].id != page and self.all("main h1"))

    def answer_all(self, most: int = 200) -> None:
        """Answer page after page until all are done."""
        self.answer_until("/done", most)

    def answer_until(self, place: str, most: int = 200) -> None:
        """Answer page after page until one is open."""
        for _ in range(most):
            if self.browser.current_url.partition("#")[0].endswith(place):
                return
            self.answer()
        raise AssertionError(f"{place} does not come, at {self.browser.current_url}")

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
        for area in self.all("form.answers textarea[name=text]"):
            area.send_keys(" And you?")
        for box in self.all("form.answers input[type=checkbox]")[:1]:
            self.click(box)
        return self.press("form button.primary")

    def wait_for_the_model(self) -> None:
        """Wait for the page that shows what the model wrote, which a script fetches by itself."""
        if self.browser.execute_script("return typeof form") == "undefined":
            return self.press("button[value=send]")
        return wait_for(lambda: not self.all("button[value=send]") and self.all("main h1"))
