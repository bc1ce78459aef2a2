"""The demo, and what collecting.md says to do after a study: from a link to a page of scores."""

import signal
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from annotating import Somebody
from documentation import blocks_of

from attune_bench.benchmarks.attunebench.annotation.demo import stand_in, stand_in_answer
from attune_bench.runner.calls import Call, Decoding, endpoint, message
from attune_bench.runner.client import Client
from attune_bench.runner.cost import RunOptions
from attune_data import load


class Patient(Somebody):
    """Somebody who does not answer faster than a link may be used."""

    def post(self, **given: Any) -> int:
        """Send the form of the page."""
        sleep(0.1)
        return super().post(**given)


async def test_the_stand_in_speaks_the_protocol_of_models() -> None:
    ...


@pytest.mark.slow
def test_the_demo_leads_from_a_link_to_scores(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "attune_bench", "annotate", "demo", "--output", "demo", "--port", "8197"]
    served = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert served.stdout
    said = [served.stdout.readline() for _ in range(5)]
    assert "stand-in" in said[0]
    origin, _, secret = said[1].split()[-1].partition("/enter/")
    person = Patient(origin, secret, messages=["We moved last week.", "It is quiet here."])
    assert "A demo: a stand-in answers, not a model" in person.text
    person.answer_all()
    served.send_signal(signal.SIGINT)
    rest, _ = served.communicate(timeout=20)
    assert "attune-bench validate" in rest
    assert served.returncode == 0
    ...
