"""EQ-Bench 3 as it is run: turns in order, the debrief, what the judge reads, and how its answer is read."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from model_server import ModelServer

from attune_bench.benchmarks.eqbench3 import TASK, EQBench3Settings
from attune_bench.runner import endpoint, run_sync
from attune_bench.runner.calls import Call
from attune_data import load_records
from attune_data.eqbench3 import EQBench3Situation, read_sections
from attune_data.kinds import TRANSCRIPT
from attune_metrics.eqbench3 import CRITERIA, STYLE

PLAYED = EQBench3Situation(id="9", type="role-play", prompts=("Hello.", "And now?"), story="9")
DRAFTED = EQBench3Situation(id="208", type="drafting", prompts=("Write it.",), story="208")
ANALYSED = EQBench3Situation(id="415", type="analysis", prompts=("A: Hm. B: What?",), story="9")
ALONE, JUDGED = EQBench3Settings("m"), EQBench3Settings("m", judge_model=("j",))

REPLY = (
    f"# I'm thinking & feeling\n{'I am torn. ' * 10}\n\n# They\u2019re thinking & feeling\nsad\n# My response\nStay."
)
SCORES = dict.fromkeys((*CRITERIA["standard"], *STYLE), 12)


def calls(
    situation: EQBench3Situation, answers: Mapping[str, str] | None = None, settings: EQBench3Settings = JUDGED
) -> list[Call]:
    return list(TASK.calls(situation, settings, answers))


def asked(call: Call) -> str:
    return call.messages[-1]["content"]


# Sections.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# I'm thinking & feeling\na #1 fan\n# My response\nWell -- no", ("a", "", "Well")),
        ("#i\u2019M THINKING & FEELING\n\n tired \n## They're thinking & feeling\nx", ("tired", "x", "")),
        ("Well, no headings.", ("", "", "")),
    ],
)
def test_sections_of_a_role_play(text: str, expected: tuple[str, ...]) -> None:
    assert tuple(read_sections(text, "role-play").values()) == expected


def test_sections_of_a_draft_and_of_an_analysis() -> None:
    text = "# Perspective taking\nshe\n# Draft brainstorming\nways\n# Draft\nDear you,\n# not a heading\n--\nend"
    assert [*read_sections(text, "drafting").values()] == ["she", "ways", "Dear you,\n# not a heading"]
    assert read_sections(text, "analysis") == {}


# Calls.


def test_turns_follow_each_other_then_debrief_then_judge() -> None:
    answers: dict[str, str] = {}
    names = []
    for text in (REPLY, REPLY, "It went badly.", "{}"):
        *_, last = calls(PLAYED, answers)
        names.append(last.id)
        answers[last.id] = text
    assert names == ["turn-1", "turn-2", "debrief", "rubric/judge/j"]
    [first, second, debrief, *_] = calls(PLAYED, answers)
    assert [one["role"] for one in debrief.messages] == ["user", "assistant"] * 2 + ["user"]
    assert asked(first).startswith("Hello.\n\n--\n")
    assert second.messages[1]["content"] == REPLY
    assert [one.id for one in calls(PLAYED)] == names  # the plan
    assert [one.pending for one in calls(PLAYED)] == [0, 1, 2, 3]


def test_calls_of_each_type_and_of_none_without_a_judge() -> None:
    plans = {one.type: [call.id for call in calls(one)] for one in (DRAFTED, ANALYSED)}
    assert plans == {"drafting": ["turn-1", "debrief", "rubric/judge/j"], "analysis": ["turn-1", "rubric/judge/j"]}
    assert [call.id for call in calls(ANALYSED, settings=ALONE)] == ["turn-1"]
    headings = [line for line in asked(calls(DRAFTED)[0]).splitlines() if line.startswith("#")]
    assert headings == ["# Perspective-taking", "# Draft brainstorming", "# Draft"]
    # The bundled headings are those that the answer is read by.
    assert all(read_sections(f"{heading}\nx", "drafting")[name] for heading, name in zip(
        headings, ("perspective_taking", "draft_brainstorming", "draft"), strict=True
    ))  # fmt: skip
    played = [line for line in asked(calls(PLAYED)[0]).splitlines() if line.startswith("#")]
    assert [any(read_sections(f"{heading}\nx", "role-play").values()) for heading in played] == [True] * 3


def test_the_judge_reads_sections_without_signs_and_a_reply_without_headings_as_empty() -> None:
    answers = {"turn-1": REPLY, "turn-2": "I simply *talk* #on and on. " * 9, "debrief": "I *failed*."}
    request = asked(calls(PLAYED, answers)[-1])
    assert "My response\n\nStay." in request
    assert "simply" not in request
    assert "I failed." in request
    assert not set("*#") & set(request)
    assert all(f'"{name}": number from 0 to 20' in request for name in SCORES)
    # An analysis is read as it is.
    analysed = asked(calls(ANALYSED, {"turn-1": "B is *hurt*. " * 10})[-1])
    assert "B is hurt." in analysed
    assert '"theory_of_mind": number' in analysed
    assert "warmth" not in analysed


def test_short_answers_are_not_judged() -> None:
    answers = {"turn-1": "Short.", "turn-2": "Too.", "debrief": "x" * 500}
    assert [call.id for call in calls(PLAYED, answers)] == ["turn-1", "turn-2", "debrief"]
    made = TASK.assemble and TASK.assemble(PLAYED, answers, JUDGED)
    assert made is not None
    document = json.loads(made.to_json())
    assert (document["status"], document["error"]) == ("error", "no answer of 100 characters")
    assert document["calls"] == {}  # The judge was not asked, and no answer of it counts as unreadable.


def test_how_model_and_judge_are_asked() -> None:
    assert {role: (one.temperature, one.max_tokens) for role, one in JUDGED.decoding.items()} == {
        "model": (0.7, 12_000),
        "judge": (0.0, 8_000),
    }
    assert [*ALONE.decoding] == ["model"]
    # The debrief is less at random than turns, and has no min_p, as published.
    assert [call.decoding for call in calls(PLAYED)] == [{}, {}, {"temperature": 0.5}, {}]
    own = EQBench3Settings("m", temperature=0.2, extra_body={"min_p": 0.1, "top_k": 5})
    assert [call.decoding for call in calls(PLAYED, settings=own)] == [{}, {}, {"extra_body": {"top_k": 5}}]


# Runs.


def served(body: dict[str, Any]) -> str:
    if body["model"] == "j":
        return json.dumps({"chain_of_thought_reasoning": "hm", **SCORES, "warmth": "15/20", "extra": 1})
    return REPLY


def test_a_run_makes_transcripts_that_are_scored(tmp_path: Any) -> None:
    with ModelServer(answer=served) as server:
        there = endpoint("local", base_url=server.url)
        outcome = run_sync(TASK, [PLAYED, DRAFTED], JUDGED, there, output=tmp_path)
        assert outcome.skipped == ()
        assert server.calls == 4 + 3
        sent = sorted((len(one["messages"]), one["temperature"]) for one in server.bodies if one["model"] == "m")
        assert sent == [(1, 0.7), (1, 0.7), (3, 0.5), (3, 0.7), (5, 0.5)]  # two debriefs
    loaded = load_records(tmp_path, TRANSCRIPT)
    assert loaded.found == ()
    one = loaded["9/m"]
    assert (one.status, one.judge_model, one.is_scored) == ("rubric_scored", "j", True)
    assert one.rubric_scores["warmth"] == 15
    assert one.model_extra is not None
    assert [parsed["response"] for parsed in one.model_extra["parsed_responses"]] == ["Stay."] * 2
    assert one.model_extra["temperature"] == 0.7
    assert len(one.conversation_history) == 4
