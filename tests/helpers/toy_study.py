"""A study with a field of every kind, an exercise and a check, and somebody who answers it over HTTP.

As a program it serves a new study: ``toy_study.py FOLDER PORT`` prints the secret of a link and serves until it is
stopped.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from attune_bench.annotate.app import Application
from attune_bench.annotate.guard import Limits
from attune_bench.annotate.screens import Choice, Option, Passage, Said, Screen, Tags, Text
from attune_bench.annotate.server import Address, serve
from attune_bench.annotate.store import NOTHING, Person, Saved, Store, Value
from attune_bench.annotate.texts import Texts

__all__ = ["MARKUP", "ORIGIN", "WHOLE", "Browser", "Toy", "toy_application"]

ORIGIN = "http://127.0.0.1:8017"
MARKUP = "<script>alert(1)</script><b>&amp;{{ 7 * 7 }}{0}%s\" onclick='x'"
WHOLE: dict[str, Any] = {"one": "yes", "scale": "3", "why": "my secret thought"}
YES_NO = (Option("yes", "Yes"), Option("no", "No"))
PROUD = (Option("Proud", "Proud"),)
STEPS = tuple(Option(str(step), str(step)) for step in range(1, 8))


class Toy:
    """Texts are read, an exercise and a check are done, and two screens are answered beside a conversation."""

    name = "toy"
    languages: tuple[str, ...] = ("en", "de")
    failure: Exception | None = None

    def title(self, language: str) -> str:
        """Return a title that tells the language."""
        return {"en": "A toy study", "de": "Eine Spielstudie"}[language]

    def screens(self, person: Person, answers: Mapping[str, Value], texts: Texts) -> Sequence[Screen]:
        """Return the same screens for everybody, or fail."""
        del person, answers, texts
        if self.failure:
            raise self.failure
        talk = (Said("You", f"Hello. {MARKUP}", is_person=True), Said("Model", "Hi.", is_asked=True))
        right = Choice(name="right", label="Which is right?", options=YES_NO)
        check: dict[str, Any] = {"expected": {"right": "yes"}, "explanation": "No.", "is_check": True}
        fields = (
            Choice(name="one", label="Did it help?", options=YES_NO),
            Choice(name="some", label="Which of them?", options=YES_NO, multiple=True, required=False),
            Choice(name="scale", label="How much?", options=STEPS, is_scale=True, low="not", high="very"),
            Tags(
                name="tags", label="What was felt?", options=(Option("Proud", "Proud"),), highest=7, low="a", high="b"
            ),
            Text(name="why", label="Why?", most=200, required=False),
        )
        return [
            Screen(key="read", title="Read this", lead="It is short.", passages=(Passage("A text", MARKUP),)),
            Screen(key="exercise", title="An exercise", fields=(right,), expected={"right": "yes"}, explanation="So."),
            Screen(key="check", title="A check", fields=(right,), **check),
            Screen(key="ask/1", title="First", fields=fields, talk=talk),
            Screen(key="ask/2", title="Second", fields=fields, talk=talk),
        ]

    def export(self, store: Store, folder: Path) -> list[Path]:
        """Write a file for each person."""
        written = []
        for person in store.people():
            path = folder / f"{person.id}.json"
            path.write_text(json.dumps({key: one.value for key, one in store.answers(person.id).items()}))
            written.append(path)
        return written


class Browser:
    """A browser with the link of a new person, at an address; it follows no redirections."""

    def __init__(self, application: Application, *, address: str = "203.0.113.1") -> None:
        self.store = application.store
        self.person, self.secret = self.store.add_person(language="en", name="pseudonym-of-ann")
        self.client = TestClient(
            application.asgi, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False, client=(address, 1)
        )
        assert self.client.post(f"/enter/{self.secret}").status_code == 303

    def send(
        self, key: str, *, action: str = "next", script: bool = False, revision: int | None = None, **values: Any
    ) -> Any:
        """Send the form of a screen, as of its present revision if no other is said, and return the response."""
        seen = self.state(key).revision if revision is None else revision
        form = {"person": self.person.id, "revision": str(seen), "action": action, **values}
        headers = {"accept": "application/json"} if script else {}
        return self.client.post(f"/screen/{key}", data=form, headers=headers)

    def go_to(self, key: str) -> None:
        """Answer all before a screen."""
        right: dict[str, Any] = {"right": "yes"}
        steps: dict[str, list[dict[str, Any]]] = {
            "read": [{}],
            "exercise": [right, right],
            "check": [right],
            "ask/1": [WHOLE],
        }
        for before, answers in steps.items():
            if before == key:
                break
            assert [self.send(before, **values).status_code for values in answers] == [303] * len(answers)

    def state(self, key: str) -> Saved:
        """Return what is saved of a screen."""
        return self.store.answers(self.person.id).get(key, NOTHING)


def toy_application(folder: Path, *, origin: str = ORIGIN, limits: Limits | None = None) -> Application:
    """Return the application of a new study in a folder."""
    store = Store.create(folder / "study.db", "toy", {})
    return Application(store, Toy(), origin=origin, output=folder / "out", limits=limits)


if __name__ == "__main__":
    with Store.create(Path(sys.argv[1]) / "study.db", "toy", {}) as study:
        sys.stdout.write(f"{study.add_person(language='en')[1]}\n")
        sys.stdout.flush()
        output, port = Path(sys.argv[1]) / "out", int(sys.argv[2])
        serve(study, Toy(), administrator="nobody", output=output, address=Address("127.0.0.1", port))
