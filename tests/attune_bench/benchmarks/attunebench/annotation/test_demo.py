"""The demo, and the commands of collecting.md: from a link to a conversation that other commands read."""

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest
from annotating import Patient
from documentation import SERVER, blocks_of
from model_server import ModelServer

from attune_bench.annotate import server
from attune_bench.benchmarks.attunebench.annotation.stand_in import stand_in_answer
from attune_bench.benchmarks.attunebench.annotation.study import EXAMPLE
from attune_bench.cli import main
from attune_data import load

ROOT = Path(__file__).parents[5]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "collecting.md").read_text(encoding="utf-8")
TRY, BEGIN, AFTER = (block.text for block in blocks_of("collecting.md") if block.language == "sh")
MESSAGES = ("We moved last week.", "It is quiet here.")
Demo = tuple["subprocess.Popen[str]", str]


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Demo]:
    """Serve the demo by the command of a text; give the process and what it prints before anybody comes."""
    [line] = re.findall(r"^attune-bench (annotate demo.*)$", request.param, re.MULTILINE)
    command = [sys.executable, "-m", "attune_bench", *shlex.split(line, comments=True), "--port", "8197"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        printed = ""
        while "Ctrl-C" not in printed:
            line = process.stdout.readline()
            assert line, printed
            printed += line
        sleep(1)
        yield process, printed
        process.kill()


def stopped(process: "subprocess.Popen[str]") -> str:
    """Stop a server as Ctrl-C does, and return what it prints in the end."""
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=20)
    assert process.returncode == 130  # as of any command that a signal stops
    return rest


def call(line: str) -> None:
    """Run a command line, which may not fail."""
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(line)[1:])
    assert not ended.value.code, line


@pytest.mark.slow
@pytest.mark.parametrize("served", [TRY], indirect=True, ids=["collecting.md"])
def test_the_demo_leads_from_a_link_to_scores(served: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process, printed = served
    assert printed.startswith("A stand-in answers in place of a model")
    links = re.findall(r"(http://127.0.0.1:8197)/enter/(\S+)", printed)
    person = Patient(*links[0], messages=MESSAGES, **{"/screen/turn/1/edited#text": "I would have wanted this."})
    assert "A demo: a stand-in answers, not a model" in person.text
    person.answer_all()
    person.close()
    rest = stopped(process)
    in_first = [place for place in {*person.seen} if place.startswith("/screen/turn/1/")]
    others = [place for place in {*person.seen} if not place.startswith("/screen/turn/")]
    assert f"each message brings {len(in_first)} pages" in PAGE
    assert f"the other pages are {len(others)}." in PAGE
    [one] = load(tmp_path / "demo" / "conversations")
    assert tuple(turn.user_message for turn in one.turns) == MESSAGES
    asked = [{"role": "user", "content": MESSAGES[0]}]
    study = (tmp_path / "demo" / "study.toml").read_text(encoding="utf-8")
    [instruction] = re.findall(r'^instruction = "(.*)"$', study, re.MULTILINE)
    assert one.turns[0].llm_response == stand_in_answer([{"role": "system", "content": instruction}, *asked])
    monkeypatch.chdir(tmp_path)
    with ModelServer() as models:
        for line in (*re.findall(r"^next: (.*)$", rest, re.MULTILINE), *AFTER.splitlines()):
            call(line.replace(SERVER, models.url))
    assert all((tmp_path / page).is_file() for page in ("people.html", "page.html"))


@pytest.mark.slow
@pytest.mark.parametrize("served", [README], indirect=True, ids=["README.md"])
def test_without_a_folder_nothing_stays_of_the_demo(served: Demo, tmp_path: Path) -> None:
    process, printed = served
    [file] = re.findall(r"Answers are kept in (\S+),", printed)
    assert Path(file).is_file()
    stopped(process)
    assert not Path(file).parent.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_study_of_ones_own_begins_with_a_link_for_each_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "serve", lambda *_given, **_options: None)
    Path("study.toml").write_bytes(EXAMPLE.read_bytes())
    for count in (20, 0):  # The same command goes on, and prints no link again.
        call(BEGIN)
        assert capsys.readouterr().out.count(": http://127.0.0.1:8017/enter/") == count


def test_the_demo_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["annotate", "demo", "--output", str(tmp_path)])
    assert ended.value.code == 2
    assert "exists; choose another --output" in capsys.readouterr().err
