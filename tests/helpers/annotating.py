"""A person who answers the screens of a study over HTTP, as a browser without a script does."""

import re
from html import unescape
from html.parser import HTMLParser
from time import sleep
from typing import Any

import httpx2
from starlette.testclient import TestClient

ORIGIN = "http://127.0.0.1:8017"


class _Form(HTMLParser):
    """The main form of a page: its action, hidden values, options by name, text areas and buttons."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.hidden: dict[str, str] = {}
        self.options: dict[str, list[str]] = {}
        self.checked: dict[str, list[str]] = {}
        self.texts: dict[str, str] = {}
        self.buttons: list[tuple[str, str]] = []
        self._select = self._area = ""
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        name = found.get("name", "")
        if tag == "form":
            self._inside = found["action"].startswith("/screen/")
            self.action = found["action"] if self._inside else self.action
        if not self._inside:
            return
        if tag == "input" and found.get("type") == "hidden":
            self.hidden[name] = found["value"]
        elif tag == "input":
            self.options.setdefault(name, []).append(found["value"])
            if "checked" in found:
                self.checked.setdefault(name, []).append(found["value"])
        elif tag == "select":
            self._select = name
            self.options[name] = []
        elif tag == "option":
            self.options[self._select].append(found["value"])
        elif tag == "textarea":
            self._area = name
            self.texts[name] = ""
        elif tag == "button":
            self.buttons.append((name, found.get("value", "")))

    def handle_data(self, data: str) -> None:
        if self._area:
            self.texts[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        self._area = "" if tag == "textarea" else self._area
        self._inside = self._inside and tag != "form"


class Somebody:
    """A person with a link, who answers what a page asks, of an application or of the server at an address.

    `answers` says by the name of a field, or its last part, what to choose; everything else is the first option.
    """

    def __init__(self, app: Any, secret: str, **answers: Any) -> None:
        self.client: Any = (
            httpx2.Client(base_url=app, headers={"origin": app}, follow_redirects=True)
            if isinstance(app, str)
            else TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN})
        )
        self.answers = answers
        self.messages = iter(answers.get("messages", ()))
        self.seen: list[str] = []
        self.page = ""
        self.page = self.client.get(f"/enter/{secret}").text
        found = self.client.post(f"/enter/{secret}")
        self.page, self.place = found.text, found.url.path

    def open(self, path: str) -> "Somebody":
        """Open a page."""
        found = self.client.get(path)
        self.page, self.place = found.text, found.url.path
        return self

    def post(self, **given: Any) -> int:
        """Send the form of the page, and return the status of what comes."""
        form = _Form(self.page)
        data = {**form.hidden, **form.checked, **form.texts, **given}
        self.seen.append(self.place)
        found = self.client.post(form.action, data=data)
        self.page, self.place = found.text, found.url.path
        status: int = found.status_code
        return status

    @property
    def progress(self) -> str:
        """What the page says of how many pages are done."""
        [said] = re.findall(r"<progress .*?</progress>\s*<span>(.*?)</span>", self.page)
        return str(said)

    @property
    def share(self) -> float:
        """The share of the pages that is done, as the page shows it."""
        [(done, total)] = re.findall(r'<progress value="(\d+)" max="(\d+)"', self.page)
        return int(done) / int(total)

    @property
    def form(self) -> _Form:
        """The form of the page."""
        return _Form(self.page)

    def answer(self) -> int:
        """Answer the page that is open, and go on."""
        form = self.form
        if ("action", "send") in form.buttons:
            message = next(self.messages, None) if "message" in form.texts else ""
            if message is None:
                return self.post(ended="yes")
            return self.post(action="send", message=message)
        chosen = {name: self._chosen(name, options) for name, options in form.options.items()}
        texts = {name: self._chosen(name, [text or "Something."]) for name, text in form.texts.items()}
        return self.post(action="next", **chosen, **texts)

    def _chosen(self, name: str, options: list[str]) -> Any:
        for key in (f"{self.place}#{name}", name, name.rpartition(".")[2]):
            if key in self.answers:
                return self.answers[key]
        return options[0]

    def answer_all(self, most: int = 500) -> None:
        """Answer page after page until all are done."""
        for _ in range(most):
            if self.place == "/done":
                return
            assert self.answer() in (200, 303), (self.place, self.text)
        raise AssertionError(f"no end, at {self.place}")

    def answer_until(self, place: str, most: int = 500) -> "Somebody":
        """Answer page after page until one is open."""
        for _ in range(most):
            if self.place == place:
                return self
            assert self.answer() in (200, 303), (self.place, self.text)
        raise AssertionError(f"{place} does not come, at {self.place}")

    @property
    def text(self) -> str:
        """What the page says, without its tags."""
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", self.page)).split())

    def close(self) -> None:
        """Close the connection to the server."""
        self.client.close()


class Patient(Somebody):
    """Somebody who answers no faster than a link may be used."""

    def post(self, **given: Any) -> int:
        """Send the form of the page."""
        sleep(0.15)
        return super().post(**given)
