"""Recovery of states in EIBench and SAGE, by hand on small results."""

from typing import Any

import pytest

from attune_bench import score
from attune_bench.benchmarks import benchmark_named
from attune_bench.benchmarks.eibench.report import ANALYSES as OF_EPISODES
from attune_bench.benchmarks.sage.report import ANALYSES as OF_DIALOGUES
from attune_bench.report.html import html_report
from attune_data import Episode, SageDialogue, load_episodes, load_sage, load_scenarios

of_episodes, of_dialogues = (one["state_recovery"].function for one in (OF_EPISODES, OF_DIALOGUES))
QUICK: dict[str, Any] = {"resamples": 200}
pytestmark = pytest.mark.filterwarnings("ignore:200 resamples are too few")


def dialogue(scenario: int, *emotions: int) -> SageDialogue:
    said = [{"role": "user", "content": "So.", "emotion_point": emotion} for emotion in emotions]
    return SageDialogue(scenario_id=f"s{scenario}", model="m", emo_point=emotions[-1], history=said)


def test_dialogues_by_hand() -> None:
    results = [
        *(dialogue(place, 50, 40, 50) for place in range(3)),
        dialogue(3, 50, 40, 30, 5),  # the person left
        dialogue(4, 50, 60, 50),  # cut off
        dialogue(5, 50, 60, 70),  # never worse
    ]
    [row] = of_dialogues(score(results), results=results, **QUICK).iter_rows(named=True)
    assert (row["model"], row["axis"], row["falls"], row["per_reply"]) == ("m", "emotion", 5, 5 / 13)
    # Three of four were back after a reply, and the fourth never.
    assert (row["back"], row["turns_back"], row["left"]) == (0.75, 1, 1 / 5)
    assert (row["n"], row["clusters"], row["reason"]) == (6, 6, None)
    few = of_dialogues(score(results[:4]), results=results[:4], **QUICK).row(0, named=True)
    assert (few["low"], few["reason"]) == (None, "fewer than 5 scenarios with a fall")
    calm = of_dialogues(score(results[5:]), results=results, **QUICK).row(0, named=True)
    assert (calm["falls"], calm["back"], calm["reason"]) == (0, None, "the state never got worse")


def episode(scenario: str, *states: tuple[int, int], ended_by: str = "max_rounds") -> Episode:
    history: list[dict[str, Any]] = [{"role": "aggressor", "content": "Well?"}]
    for anger, trust in states[1:]:
        reply = {"role": "aggressor", "content": "Oh.", "meta": {"anger": anger, "trust": trust}}
        history += [{"role": "defender", "content": "I see."}, reply]
    if ended_by == "simulator_stop":
        history[-1]["meta"]["stop_reason"] = "enough"
    (first_anger, first_trust), (anger, trust) = states[0], states[-1]
    return Episode(
        scenario_id=scenario, model="m", ended_by=ended_by, initial_anger=first_anger, initial_trust=first_trust,
        final_anger=anger, final_trust=trust, history=history,
    )  # fmt: skip


def test_episodes_by_hand() -> None:
    data = load_scenarios("demo")
    names = [scenario.id for scenario in data][:3]
    results = [
        episode(names[0], (50, 40), (60, 40), (50, 45)),  # anger rises, and falls again
        episode(names[1], (50, 40), (60, 30), (60, 35), ended_by="simulator_stop"),
        episode(names[2], (50, 40), (45, 45), (40, 50)),
    ]
    found = of_episodes(score(data, results), data=data, results=results, **QUICK)
    rows = found.select("axis", "falls", "per_reply", "back", "left").rows()
    assert rows == [("anger", 2, 2 / 6, 0.5, 1 / 2), ("trust", 1, 1 / 6, 0, 1)]
    # A failed episode says nothing of recovery.
    broken = results[0].model_copy(update={"error": "no answer"})
    held = [broken, *results[1:]]
    assert of_episodes(score(data, results), data=data, results=held, **QUICK)["falls"].to_list() == [1, 1]


@pytest.mark.slow
def test_pages_have_the_section() -> None:
    episodes, data, dialogues = load_episodes("demo"), load_scenarios("demo"), load_sage("demo")
    pages = [
        html_report(score(data, episodes), benchmark=benchmark_named("eibench"), data=data, results=episodes, **QUICK),
        html_report(score(dialogues), benchmark=benchmark_named("sage"), results=dialogues, **QUICK),
    ]
    for page, axis, share in zip(pages, ("anger", "emotion"), ("29%", "39%"), strict=True):
        assert f"Within 3 replies, synthetic/hasty brings {axis} back after {share} of its falls" in page
    without = html_report(score(dialogues), benchmark=benchmark_named("sage"), **QUICK)
    assert "needs the dialogues (--results)" in without
