"""The rounds of an episode: who speaks when, every way it ends, and how the state moves."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from attune_bench.benchmarks.eibench.task import TASK, EIBenchSettings, run_episode
from attune_bench.runner import Call, CallFailedError, Complete, IncompleteAnswerError
from attune_data import Episode, Scenario, load_scenarios

Json = dict[str, Any]

SETTINGS = EIBenchSettings("vendor/model", "vendor/person")
DEMO: dict[str, Scenario] = {scenario.scene: scenario for scenario in reversed(load_scenarios("demo"))}


def start_of(scenario: Scenario) -> tuple[int, int]:
    """Return anger and trust at the start."""
    return scenario.anchors("anger")[0], scenario.anchors("trust")[0]


def judged(anger: Any = 0, trust: Any = 0, reply: Any = "Hm.", goes_on: Any = "yes", **more: Any) -> str:
    said = {"reflection": "1. Hm.", "anger_delta": anger, "trust_delta": trust, "reply": reply, "continue": goes_on}
    return json.dumps(said | more)


def scripted(model: Iterable[str], person: Iterable[str], seen: list[Call] | None = None) -> Complete:
    """Answer from two lists; then words of the model, and judgements that change nothing."""
    sides = {"model": iter(model), "simulator": iter(person)}
    usual = {"model": "I see.", "simulator": judged()}

    async def complete(call: Call, _attempt: int) -> str:
        if seen is not None:
            seen.append(call)
        return next(sides[call.role], usual[call.role])

    return complete


def play(
    scene: str = "support",
    model: Iterable[str] = (),
    person: Iterable[str] = (),
    seen: list[Call] | None = None,
    scenario: Scenario | None = None,
    **settings: Any,
) -> Episode:
    chosen = EIBenchSettings("vendor/model", "vendor/person", **settings)
    return asyncio.run(run_episode(scenario or DEMO[scene], scripted(model, person, seen), settings=chosen))


def states(episode: Episode) -> list[tuple[int | None, int | None]]:
    return [(line.meta.anger, line.meta.trust) for line in episode.history if line.meta is not None]


# Turns.


@pytest.mark.parametrize("scene", ["support", "defense", "repair"])
def test_the_person_opens_and_eight_rounds_are_17_messages(scene: str) -> None:
    seen: list[Call] = []
    episode = play(scene, seen=seen)
    assert [line.role for line in episode.history] == ["aggressor", *["defender", "aggressor"] * 8]
    assert episode.history[0].content == DEMO[scene].aggressor_profile.opening_line
    assert (episode.ended_by, episode.outcome, episode.n_rounds) == ("max_rounds", "max_rounds", 8)
    assert [call.id for call in seen] == [f"{what}-{n}" for n in range(1, 9) for what in ("reply", "round")]
    assert [call.id for call in TASK.planned(DEMO[scene], SETTINGS)] == [call.id for call in seen]
    assert len(seen) == 16


def test_in_charm_the_model_opens_and_its_ninth_reply_is_not_judged() -> None:
    seen: list[Call] = []
    episode = play("charm", seen=seen)
    assert [line.role for line in episode.history] == ["defender", *["aggressor", "defender"] * 8]
    assert [call.role for call in seen] == ["model", *["simulator", "model"] * 8]
    assert (episode.outcome, episode.n_rounds, len(states(episode))) == ("max_rounds", 8, 8)
    assert [call.id for call in TASK.planned(DEMO["charm"], SETTINGS)] == [call.id for call in seen]
    assert len(seen) == 17


def test_judge_all_judges_the_ninth_reply_and_nobody_answers_it() -> None:
    seen: list[Call] = []
    episode = play("charm", person=[*[judged()] * 8, judged(-4, 3, "I have to go.")], seen=seen, judge_all=True)
    anger, trust = start_of(DEMO["charm"])
    assert [call.role for call in seen] == ["model", *["simulator", "model"] * 8, "simulator"]
    assert (episode.final_anger, episode.final_trust) == (anger - 4, trust + 3)
    assert (episode.outcome, episode.history[-1].content) == ("max_rounds", "I have to go.")
    settings = EIBenchSettings("m", "s", judge_all=True)
    assert len(TASK.planned(DEMO["charm"], settings)) == 18
    assert len(TASK.planned(DEMO["repair"], settings)) == 16


def test_a_silence_after_the_ninth_reply_ends_it_as_after_any_other() -> None:
    for scene, before in (("charm", 8), ("repair", 7)):
        episode = play(scene, person=[*[judged()] * before, judged(-4, 3, "")], judge_all=True)
        assert (episode.ended_by, episode.outcome) == ("simulator_stop", "empty_simulator_reply")


def test_a_judgement_of_the_ninth_reply_that_cannot_be_read_fails_as_any_other() -> None:
    episode = play("charm", person=[*[judged(-1, 2)] * 8, *["Hm."] * 3], judge_all=True)
    anger, trust = start_of(DEMO["charm"])
    assert (episode.ended_by, episode.outcome) == ("parse_failed", "parse_failed")
    # The state after eight judgements of -1 and 2.
    assert (episode.final_anger, episode.final_trust) == (anger - 8, trust + 16)


def test_max_rounds() -> None:
    assert play("repair", max_rounds=2).n_rounds == 2
    assert len(play("charm", max_rounds=1).history) == 3


def test_a_missing_opening_line_is_three_dots() -> None:
    person = DEMO["repair"].aggressor_profile
    for line in (None, " "):
        silent = person.model_copy(update={"opening_line": line})
        scenario = DEMO["repair"].model_copy(update={"aggressor_profile": silent})
        assert play(scenario=scenario).history[0].content == "..."


def test_an_opening_line_is_said_as_any_words() -> None:
    person = DEMO["repair"].aggressor_profile.model_copy(update={"opening_line": "<think>Late.</think> You?\n"})
    scenario = DEMO["repair"].model_copy(update={"aggressor_profile": person})
    assert play(scenario=scenario).history[0].content == "You?"


# Ends.

STOP = judged(-3, 2, "Fine.", "no", stop_reason="settled")


def test_a_stop_keeps_its_changes_and_its_words() -> None:
    episode = play("repair", person=[judged(1, 1), STOP])
    anger, trust = start_of(DEMO["repair"])
    assert (episode.ended_by, episode.outcome) == ("simulator_stop", "simulator_stop")
    assert (episode.final_anger, episode.final_trust) == (anger - 2, trust + 3)
    last = episode.history[-1]
    assert last.meta is not None
    assert (last.content, last.meta.stop_reason, last.meta.quadrant) == ("Fine.", "settled", "Repair")


@pytest.mark.parametrize("extra", [{}, {"stop_reason": ""}, {"stop_reason": None}])
def test_a_stop_without_a_reason_or_a_word_is_told_from_a_silence(extra: Json) -> None:
    episode = play("repair", person=[judged(reply="", goes_on="no", **extra)])
    assert episode.outcome == "simulator_stop"
    assert json.loads(episode.to_json())["history"][-1]["meta"]["stop_reason"] == ""


@pytest.mark.parametrize(
    ("goes_on", "stops"),
    [("no", True), ("No", True), ("NO", True), ("no ", False), (False, False), (None, False), ("never", False)],
)
def test_only_no_stops_and_what_was_said_is_recorded(goes_on: Any, stops: bool) -> None:
    episode = play("repair", person=[judged(goes_on=goes_on)])
    assert (episode.outcome == "simulator_stop") == stops
    said = json.loads(episode.to_json())["history"][2]["meta"].get("continue")
    assert said == goes_on


@pytest.mark.parametrize("silence", ["", "  \n", "<think>Nothing comes to mind.</think>"])
@pytest.mark.parametrize("scene", ["support", "charm"])
def test_a_model_that_says_nothing_aloud_ends_it(scene: str, silence: str) -> None:
    before = ["Hello.", "I see."]
    episode = play(scene, model=[*before, silence], person=[judged(-2, 0), judged(-2, 0)])
    assert (episode.ended_by, episode.outcome) == ("simulator_stop", "empty_reply")
    # Two replies were judged in either case.
    assert episode.final_anger == start_of(DEMO[scene])[0] - 4
    assert episode.history[-1].role == "aggressor"


def test_a_model_that_opens_with_nothing() -> None:
    episode = play("charm", model=[""])
    assert (episode.outcome, episode.history, episode.n_rounds, episode.reward) == ("empty_reply", (), 0, 0)


@pytest.mark.parametrize("reply", ["", "<think>Leave me.</think>"])
@pytest.mark.parametrize("scene", ["support", "charm"])
def test_a_person_who_says_nothing_has_judged_before(scene: str, reply: Any) -> None:
    episode = play(scene, person=[judged(), judged(-5, 5, reply)])
    anger, trust = start_of(DEMO[scene])
    assert (episode.ended_by, episode.outcome) == ("simulator_stop", "empty_simulator_reply")
    assert (episode.final_anger, episode.final_trust) == (anger - 5, trust + 5)
    assert states(episode)[-1] == (episode.final_anger, episode.final_trust)


@pytest.mark.parametrize("reply", [None, 7, ["Well."]])
def test_a_reply_that_is_no_text_is_asked_for_again(reply: Any) -> None:
    odd = judged(-9, 9, reply)
    episode = play("support", person=[odd, odd, judged(-1, 1, "Well."), odd, odd, odd])
    anger, trust = start_of(DEMO["support"])
    assert (episode.outcome, episode.history[2].content) == ("parse_failed", "Well.")
    meta = episode.history[2].meta
    assert meta is not None
    assert meta.parse == "retried"
    # The changes of an answer that does not count do not count either.
    assert (episode.final_anger, episode.final_trust) == (anger - 1, trust + 1)


@pytest.mark.parametrize("reply", ["  ", "\n", "</think>", "<think>Leave me.</thinki>"])
def test_white_space_and_tags_alone_are_three_dots_and_it_goes_on(reply: str) -> None:
    episode = play("support", person=[judged(-1, 1, reply)])
    anger, trust = start_of(DEMO["support"])
    assert (episode.outcome, episode.history[2].content) == ("max_rounds", "...")
    assert (episode.final_anger, episode.final_trust) == (anger - 1, trust + 1)


def test_a_model_that_forgets_a_tag_says_its_thinking_aloud() -> None:
    outputs = ["<think>He is hurt. Tell me.", "He is hurt.</think>Tell me.", "<think>"]
    seen: list[Call] = []
    episode = play("support", model=outputs, seen=seen)
    assert [line.content for line in episode.history[1:7:2]] == ["He is hurt. Tell me.", "He is hurt.Tell me.", "..."]
    assert all(line.thinking is None for line in episode.history)
    # The simulator judges these words, and the model sees what it wrote.
    judged_words = [call.messages[1]["content"] for call in seen if call.id == "round-1"]
    assert "He is hurt. Tell me." in judged_words[0]
    own = [message["content"] for message in seen[-2].messages if message["role"] == "assistant"]
    assert own[:3] == outputs


def test_an_answer_that_was_cut_off_is_asked_for_again() -> None:
    whole = judged(-3, 2)
    episode = play("defense", person=[whole[:-1], whole], max_rounds=1)
    anger, trust = start_of(DEMO["defense"])
    assert (episode.outcome, episode.final_anger, episode.final_trust) == ("max_rounds", anger - 3, trust + 2)
    meta = episode.history[2].meta
    assert meta is not None
    assert meta.parse == "retried"
    assert play("defense", person=[whole[:-1]] * 3).outcome == "parse_failed"


def test_thinking_goes_before_the_judgement_is_looked_for() -> None:
    drafted = f"<think>Perhaps {judged(10, -10)}</think>"
    episode = play("repair", person=[drafted + judged(-3, 2, "Well."), drafted, drafted, drafted])
    anger, trust = start_of(DEMO["repair"])
    assert (episode.outcome, episode.history[2].content) == ("parse_failed", "Well.")
    assert (episode.final_anger, episode.final_trust) == (anger - 3, trust + 2)


@pytest.mark.parametrize("answer", ["I would rather not.", "", "{}", "[1]", '{"reflection": }'])
def test_three_answers_that_cannot_be_read_end_it(answer: str) -> None:
    seen: list[Call] = []
    episode = play("defense", person=[judged(2, -2), *["x" * 300 + answer] * 3], seen=seen)
    anger, trust = start_of(DEMO["defense"])
    assert (episode.ended_by, episode.outcome) == ("parse_failed", "parse_failed")
    assert (episode.final_anger, episode.final_trust) == (anger + 2, trust - 2)
    assert [call.id for call in seen[-4:]] == ["reply-2", "round-2", "round-2", "round-2"]
    assert len({json.dumps(call.messages) for call in seen[-3:]}) == 1, "no corrective message"
    meta = episode.history[-1].meta
    assert meta is not None
    assert (episode.history[-1].content, meta.parse_failed) == ("...", True)
    assert meta.raw_preview == ("x" * 300 + answer)[-200:]


def test_a_second_or_third_answer_that_can_be_read_counts() -> None:
    episode = play("defense", person=["no", judged(1), "no", "no", "Sure: " + judged(1), judged(1)])
    found = [line.meta.parse for line in episode.history[2:8:2] if line.meta]
    assert found == ["retried", "retried", "parsed"]


def test_the_attempts_are_numbered() -> None:
    attempts: list[tuple[str, int]] = []

    async def complete(call: Call, attempt: int) -> str:
        attempts.append((call.id, attempt))
        return "I see."

    asyncio.run(run_episode(DEMO["support"], complete, SETTINGS))
    assert attempts == [("reply-1", 0), ("round-1", 0), ("round-1", 1), ("round-1", 2)]


def test_two_replies_that_ended_early_name_the_model_and_could_not_be_read() -> None:
    async def complete(call: Call, _attempt: int) -> str:
        if call.id == "reply-2":
            raise IncompleteAnswerError("cut off")
        return judged(1) if call.role == "simulator" else "I see."

    episode = asyncio.run(run_episode(DEMO["support"], complete, SETTINGS))
    assert (episode.outcome, episode.error) == ("error", "two replies of the model vendor/model ended early; cut off")
    assert TASK.answers_read(json.loads(episode.to_json())) == [True, False]


@pytest.mark.parametrize("role", ["model", "simulator"])
def test_a_call_without_an_answer_is_no_result(role: str) -> None:
    async def complete(call: Call, _attempt: int) -> str:
        if call.role == role:
            raise CallFailedError("down")
        return "I see."

    with pytest.raises(CallFailedError, match="down"):
        asyncio.run(run_episode(DEMO["support"], complete, SETTINGS))


@pytest.mark.parametrize("side", ["aggressor_profile", "defender_profile"])
def test_a_scenario_that_cannot_be_played(side: str) -> None:
    empty = getattr(DEMO["support"], side).model_copy(update={"system_prompt": " \n"})
    with pytest.raises(ValueError, match=rf"no {side}\.system_prompt"):
        play(scenario=DEMO["support"].model_copy(update={side: empty}))


# States.


def test_the_state_moves_within_its_bounds() -> None:
    # demo_support: anger 75, trust 40. By hand: 75 + 10 (of 14) = 85, 40 - 10 (of -12.9) = 30; then 95, 20; then
    # 100 (of 105), 10; then 90, 11 (of 1.9); then unchanged, as neither text nor null is a number.
    scenario = load_scenarios("demo")["demo_support_01"]
    changes = [(14, -12.9), ("+10", "-10"), (10.7, -10), (-11, "1.9"), ("better", None)]
    episode = play(person=[judged(*change) for change in changes], scenario=scenario, max_rounds=5)
    assert states(episode) == [(75, 40), (85, 30), (95, 20), (100, 10), (90, 11), (90, 11)]
    metas = [line.meta for line in episode.history[2::2]]
    assert [(m.anger_delta, m.trust_delta) for m in metas if m] == [(10, -10), (10, -10), (10, -10), (-10, 1), (0, 0)]
    assert metas[-1] is not None
    assert metas[-1].parse == "parsed; anger_delta is no number; trust_delta is no number"
    # Anger 75 to a worst of 95, at 90: -15/20. Trust 40 to a worst of 10, at 11: -29/30.
    assert episode.anger_score == pytest.approx(-0.75, abs=1e-12)
    assert episode.trust_score == pytest.approx(-29 / 30, abs=1e-12)
    assert episode.reward == pytest.approx((-0.75 - 29 / 30) / 2, abs=1e-12)


def test_one_change_alone_and_states_in_place_of_changes() -> None:
    scenario = load_scenarios("demo")["demo_support_01"]
    answers: list[Json] = [{"anger_delta": -5}, {"anger": 30, "reflection": ""}, {"trust": "55.9"}, {"anger": "low"}]
    person = [json.dumps({"reply": "Hm.", **answer}) for answer in answers]
    episode = play(person=person, scenario=scenario, max_rounds=4)
    assert states(episode) == [(75, 40), (70, 40), (30, 40), (30, 55), (30, 55)]
    last = [line.meta for line in episode.history][-1]
    assert last is not None
    assert (last.anger_delta, last.trust_delta, last.parse) == (None, None, "parsed; anger is no number")


def test_the_record_says_how_it_was_made() -> None:
    made = json.loads(play("support", max_rounds=3, seed=7).to_json())
    anger, trust = start_of(DEMO["support"])
    expected = {
        "model": "vendor/model",
        "profile_id": "demo_support_01",
        "scene_tag": "support",
        "goal_score": None,
        "goal_reason": None,
        "stop_reason": None,
        "simulator": "vendor/person",
        "prompt_version": "eibench-v2",
        "max_rounds": 3,
        "initial_anger": anger,
        "initial_trust": trust,
        "seed": 7,
        "language": "en",
        "licence": "CC BY 4.0",
    }
    assert {name: made[name] for name in expected} == expected
    assert made["history"][0]["meta"] == {"anger": anger, "trust": trust}
    assert made["history"][2]["meta"]["reflection"] == "1. Hm."


def test_the_history_has_the_words_and_the_thinking_apart_without_halves_of_characters() -> None:
    raw = "<think>Careful \ud83d.</think>\nGood \ud83d morning."
    made = json.loads(play("support", model=[raw]).to_json())["history"]
    assert made[1] == {"role": "defender", "content": "Good \ufffd morning.", "thinking": "Careful \ufffd."}
    assert made[3] == {"role": "defender", "content": "I see."}


def test_the_end_of_an_unreadable_answer_is_whole_text_too() -> None:
    meta = play(person=["Hm \ud83d."] * 3).history[-1].meta
    assert meta is not None
    assert meta.raw_preview == "Hm \ufffd."


def test_a_scenario_that_lacks_an_anchor_is_not_played() -> None:
    record = json.loads(DEMO["support"].to_json())
    del record["rub_goals"]["target_trust"]
    scenario = Scenario.model_validate(record)
    with pytest.raises(ValueError, match=r"'demo_support_\d+' has no rub_goals\.target_trust"):
        play(scenario=scenario)
    assert TASK.planned(scenario, SETTINGS) == []
