"""Whether answers are lost or doubled when many people annotate while the server is killed, and how long people wait.

    python benchmarks/annotate_load.py [--people 100] [--seconds 120] [--kills 20]

People open a screen, choose, which saves, and go on; between any two requests they think for a second, more or less.
All come from one address. Meanwhile the server is killed (SIGKILL) at random times and started again; who has no answer
then sends the same request again until there is one, as the script of the page does. In the end the file of the study
is read: an answer is lost where the server said that it is saved and the file has it not, or has another; it is doubled
where a screen has more revisions than the server said. Latency is of requests that were answered, over HTTP.

Prints the numbers that docs/collecting.md gives.
"""

import argparse
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from random import Random
from statistics import quantiles
from threading import Event, Thread
from time import perf_counter, sleep
from urllib.parse import urlencode

from attune_bench.annotate.screens import Choice, Option, Screen, Tags, Text
from attune_bench.annotate.store import Person, Store, Value
from attune_bench.annotate.texts import Texts

SCREENS = 200
WORDS = ("calm", "proud", "sad", "tense", "warm")
STEPS = tuple(Option(str(step), str(step)) for step in range(1, 8))


class Job:
    """More screens than anybody answers, each with a scale, words and a text."""

    name = "load"
    languages: tuple[str, ...] = ("en",)

    def title(self, language: str) -> str:
        """Return a title."""
        del language
        return "Load"

    def screens(self, person: Person, answers: Mapping[str, Value], texts: Texts) -> Sequence[Screen]:
        """Return the same screens for everybody."""
        del person, answers, texts
        words = tuple(Option(word, word) for word in WORDS)
        fields = (
            Choice(name="warmth", label="How warm?", options=STEPS, is_scale=True),
            Tags(name="felt", label="What was felt?", options=words, highest=3),
            Text(name="why", label="Why?", most=1000, required=False),
        )
        return [Screen(key=f"unit/{n}", title=f"Unit {n}", fields=fields) for n in range(SCREENS)]

    def export(self, store: Store, folder: Path) -> list[Path]:
        """Write nothing."""
        del store, folder
        return []


@dataclass
class Study:
    """A study that is served on a port."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes]"

    @classmethod
    def begin(cls, folder: Path) -> "Study":
        """Serve the study of a folder on a free port."""
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        return cls(folder, port, cls._served(folder, port))

    @staticmethod
    def _served(folder: Path, port: int) -> "subprocess.Popen[bytes]":
        command = [sys.executable, __file__, "--serve", str(folder), str(port)]
        with (folder / "log").open("ab") as log:
            return subprocess.Popen(command, stderr=log, stdout=log)

    def kill(self) -> None:
        """Kill the server, and start it again."""
        self.process.kill()
        self.process.wait()
        self.process = self._served(self.folder, self.port)


@dataclass
class Annotator:
    """A person at a browser; `saved` has what the server said is saved, by screen: the value at each revision."""

    secret: str
    person: str
    study: Study
    random: Random
    saved: dict[str, dict[int, tuple[str, str]]] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    refused: list[tuple[str, int]] = field(default_factory=list)

    def work(self, stop: Event) -> None:
        """Answer one screen after the other."""
        origin = f"http://127.0.0.1:{self.study.port}"
        headers = {"cookie": f"attune_{self.study.port}={self.secret}", "origin": origin}
        headers["content-type"] = "application/x-www-form-urlencoded"
        self.connection = HTTPConnection("127.0.0.1", self.study.port, timeout=30)
        for n in range(SCREENS):
            if stop.is_set():
                break
            path = f"/screen/unit/{n}"
            page = self.ask("GET", path, headers)
            value = {"warmth": str(self.random.randint(1, 7)), "why": f"{self.person} at {n}: {self.random.random()}"}
            form = {**value, "felt.calm": "2", "person": self.person, "revision": "0"}
            answer = self.ask("POST", path, {**headers, "accept": "application/json"}, {**form, "action": "save"})
            [revision] = re.findall(r'"revision":(\d+)', answer) or ["0"]
            assert 'name="revision" value="0"' in page
            self.note(n, int(revision), value)
            self.ask("POST", path, headers, {**form, "revision": revision, "action": "next"})
            self.note(n, int(revision) + 1, value)
        self.connection.close()

    def note(self, screen: int, revision: int, value: Mapping[str, str]) -> None:
        """Note that the server said so."""
        self.saved.setdefault(f"unit/{screen}", {})[revision] = (value["warmth"], value["why"])

    def ask(self, method: str, path: str, headers: Mapping[str, str], form: Mapping[str, str] | None = None) -> str:
        """Send a request until it is answered, and return the page; then think."""
        while True:
            begun = perf_counter()
            try:
                self.connection.request(method, path, urlencode(form or {}) or None, headers)
                response = self.connection.getresponse()
                page = response.read().decode()
            except (HTTPException, OSError):
                self.connection.close()
                sleep(0.2)
                continue
            self.waits.append(perf_counter() - begun)
            if response.status not in (200, 303):
                self.refused.append((path, response.status))
            sleep(self.random.uniform(0.5, 1.5))
            return page


@dataclass(frozen=True)
class Outcome:
    """What is found in the end: answers that were saved, lost and doubled; refusals; and seconds of requests."""

    saved: int
    lost: int
    doubled: int
    refused: list[tuple[str, int]]
    seconds: list[float]

    def __str__(self) -> str:
        """Return what a report quotes."""
        cuts = quantiles(self.seconds, n=100)
        times = ", ".join(f"{p}%: {1000 * cuts[p - 1]:.0f} ms" for p in (50, 95, 99))
        return (
            f"{self.saved} answers saved, {self.lost} lost, {self.doubled} doubled, {len(self.refused)} refused; "
            f"{len(self.seconds)} requests, {times}"
        )


def loaded(folder: Path, *, people: int, seconds: float, kills: int, seed: int = 0) -> Outcome:
    """Let people annotate while the server is killed, and return what the file of the study then has."""
    random, stop = Random(seed), Event()
    with Store.create(folder / "study.db", "load", {}) as store:
        links = [store.add_person(language="en") for _ in range(people)]
    study = Study.begin(folder)
    annotators = [Annotator(secret, person.id, study, Random(n)) for n, (person, secret) in enumerate(links)]
    threads = [Thread(target=one.work, args=(stop,)) for one in annotators]
    try:
        begun = perf_counter()
        for thread in threads:
            thread.start()
        for at in sorted(random.uniform(0, seconds) for _ in range(kills)):
            sleep(max(0.0, begun + at - perf_counter()))
            study.kill()
        sleep(max(0.0, begun + seconds - perf_counter()))
        stop.set()
        for thread in threads:
            thread.join()
    finally:
        study.process.kill()
        study.process.wait()
    return _outcome(folder / "study.db", annotators)


def _outcome(path: Path, annotators: Sequence[Annotator]) -> Outcome:
    db = sqlite3.connect(path)
    query = "SELECT json_extract(value, '$.warmth'), json_extract(value, '$.why') FROM answer"
    saved = lost = doubled = 0
    for one in annotators:
        for screen, revisions in one.saved.items():
            where = "WHERE person = ? AND screen = ? ORDER BY revision"
            found = db.execute(f"{query} {where}", (one.person, screen)).fetchall()
            saved += len(revisions)
            lost += sum(revision > len(found) or found[revision - 1] != said for revision, said in revisions.items())
            doubled += max(0, len(found) - len(revisions))
    db.close()
    return Outcome(
        saved, lost, doubled, [each for one in annotators for each in one.refused],
        [each for one in annotators for each in one.waits],
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Print what is found."""
    parser = argparse.ArgumentParser(description="People who annotate at once while the server is killed.")
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--serve", nargs=2, metavar=("FOLDER", "PORT"), help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.serve:
        _serve(Path(given.serve[0]), int(given.serve[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(loaded(Path(folder), people=given.people, seconds=given.seconds, kills=given.kills))
        print(f"{os.cpu_count()} processors, shared with the people")


def _serve(folder: Path, port: int) -> None:
    from attune_bench.annotate.server import Address, serve

    output = folder / "out"
    with Store(folder / "study.db") as store:
        serve(store, Job(), administrator="nobody", output=output, address=Address("127.0.0.1", port))


if __name__ == "__main__":
    main()
