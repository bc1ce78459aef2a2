"""Synthetic episodes and dialogues: what the embedded demonstration data are, and what is planted in them."""

import subprocess
import sys
from importlib.resources import files
from statistics import fmean

import pytest
from slow_cases import slow_after

from attune_data import load_episodes, load_sage, load_scenarios
from attune_data.eibench.demo import MODELS, Manner
from attune_data.kinds import DIALOGUE, EPISODE
from attune_data.testing import synthetic


@pytest.mark.parametrize(
    ("room", "file"), slow_after(1, [("eibench", "demo_episodes.jsonl"), ("sage", "demo_dialogues.jsonl")])
)
def test_the_command_writes_the_demo_file(room: str, file: str) -> None:
    written = subprocess.run([sys.executable, "-m", f"attune_data.{room}.demo"], capture_output=True, check=True)
    same = written.stdout == (files(f"attune_data.{room}") / file).read_bytes()
    assert same, f"{file} is not what the generator writes; write it again"


def test_every_model_plays_every_scenario() -> None:
    scenarios, episodes = load_scenarios("demo"), load_episodes("demo", on_error="raise")
    assert [episode.key[:2] for episode in episodes] == [(one.id, model) for model in MODELS for one in scenarios]
    assert all(episode.synthetic for episode in episodes)
    assert all(dialogue.synthetic for dialogue in load_sage("demo", on_error="raise"))


def test_the_same_seed_gives_the_same_records() -> None:
    scenarios = load_scenarios("demo")[:2]
    first, again, other = (list(synthetic(EPISODE, scenarios, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert list(synthetic(DIALOGUE, seed=1)) == list(synthetic(DIALOGUE, seed=1))


def test_a_model_that_is_worth_more_leaves_a_better_state() -> None:
    models = {f"m{gain}": Manner(("I see.",), gain) for gain in (-4, 0, 4)}
    episodes = synthetic(EPISODE, load_scenarios("demo"), models, seed=1, max_rounds=5)
    ends = [fmean(episode.final_trust or 0 for episode in episodes if episode.model == model) for model in models]
    points = [
        fmean(dialogue.emo_point for dialogue in synthetic(DIALOGUE, models, seed=1) if dialogue.model == model)
        for model in models
    ]
    assert ends == sorted(ends)
    assert points == sorted(points)
    assert ends[2] - ends[0] > 20
    assert points[2] - points[0] > 40


def test_the_states_in_the_history_lead_to_the_end() -> None:
    for episode in load_episodes("demo"):
        last = episode.history[-1].meta
        assert last is not None
        assert (last.anger, last.trust) == (episode.final_anger, episode.final_trust)
        assert (episode.outcome == "simulator_stop") == (last.stop_reason is not None)
