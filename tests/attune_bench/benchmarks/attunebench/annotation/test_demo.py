"""The demo, from its links to results that other commands read."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from annotating import Somebody

from attune_bench.benchmarks.attunebench.annotation.stand_in import stand_in_answer
from attune_bench.cli import main
from attune_data import load

Demo = tuple["subprocess.Popen[str]", str]
COMMAND = (sys.executable, "-m", "attune_bench", "annotate", "demo", "--port", "8197")
MESSAGES = ("We moved last week.", "It is quiet here.")


class Patient(Somebody):
    """Somebody who does not answer faster than a link may be used."""

    def post(self, **given: Any) -> int:
        """Send the form of the page."""
        sleep(0.15)
        return super().post(**given)


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Demo]:
    """Serve the demo, and give the process and what it prints before anybody comes."""
    command = [*COMMAND, *request.param]
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


@pytest.mark.slow
@pytest.mark.parametrize("served", [("--output", "kept")], indirect=True)
def test_the_demo_leads_from_a_link_to_a_conversation(
    served: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, printed = served
    assert printed.startswith("A stand-in answers in place of a model")
    links = re.findall(r"(http://127.0.0.1:8197)/enter/(\S+)", printed)
    person = Patient(*links[0], messages=MESSAGES)
    assert "A demo: a stand-in answers, not a model" in person.text
    person.answer_all()
    person.client.close()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=20)
    assert process.returncode == 130  # as of any command that a signal stops
    [one] = load(tmp_path / "kept" / "conversations")
    assert tuple(turn.user_message for turn in one.turns) == MESSAGES
    asked = [{"role": "user", "content": MESSAGES[0]}]
    study = (tmp_path / "kept" / "study.toml").read_text(encoding="utf-8")
    [instruction] = re.findall(r'^instruction = "(.*)"$', study, re.MULTILINE)
    assert one.turns[0].llm_response == stand_in_answer([{"role": "system", "content": instruction}, *asked])
    monkeypatch.chdir(tmp_path)
    [following] = re.findall(r"^next: attune-bench (.*)$", rest, re.MULTILINE)
    with pytest.raises(SystemExit) as ended:
        main(following.split())
    assert not ended.value.code


@pytest.mark.slow
@pytest.mark.parametrize("served", [()], indirect=True)
def test_without_a_folder_nothing_stays_of_the_demo(served: Demo, tmp_path: Path) -> None:
    process, printed = served
    [file] = re.findall(r"Answers are kept in (\S+),", printed)
    assert Path(file).is_file()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130  # as of any command that a signal stops
    assert not Path(file).parent.exists()
    assert list(tmp_path.iterdir()) == []


def test_the_demo_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["annotate", "demo", "--output", str(tmp_path)])
    assert ended.value.code == 2
    assert "exists; choose another --output" in capsys.readouterr().err
