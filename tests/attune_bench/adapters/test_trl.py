"""Real TRL on a processor: the script of its page, advantages of turns, and the gradient of the loss written out."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from documentation import blocks_of, run_block
from environments import HELPERS, Shell
from model_server import ModelServer, talk

pytestmark = pytest.mark.slow

PageShell = Callable[..., Shell]


def test_two_steps_of_a_tiny_model(page_shell: PageShell, tmp_path: Path) -> None:
    printed = page_shell("training.md", torch=True)(f"python {HELPERS / 'trl_training.py'} .", tmp_path)
    found = json.loads(printed.splitlines()[-1])
    assert (found["steps"], found["moved"], found["batches"]) == (2, True, 2)
    assert found["advantages"] < 1e-5
    assert found["nothing_on_the_person"]
    assert found["largest"] > 1e-3
    assert found["distance"] < 1e-6


def test_the_script_of_the_page(page_shell: PageShell, tmp_path: Path) -> None:
    shell = page_shell("training.md", torch=True)
    shell(f"python {HELPERS / 'tiny_models.py'} talker Qwen/Qwen3-0.6B", tmp_path)
    install, script = blocks_of("training.md")
    # The page's 48 steps would take minutes; it is eleven, as rewards are printed every tenth step and after the last.
    fewer = script._replace(text=script.text.replace("num_generations=8,", "num_generations=8,\n        max_steps=11,"))
    run_block(install, shell, tmp_path)
    with ModelServer(answer=talk) as server:
        printed = run_block(fewer, shell, tmp_path, server=server.url)
        assert server.bodies
    rewards = re.findall(r"'rewards/episode_reward/mean': '?(-?[\d.e-]+)", printed)
    assert len(rewards) == 2
    assert all(-1 <= float(reward) <= 1 for reward in rewards)
