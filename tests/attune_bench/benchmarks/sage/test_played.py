"""Conversations that are played: what each side sees, how answers are read, what ends them, the files of a run."""

import asyncio
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import Call as Invoke
from model_server import Json, ModelServer, answer_to, said

from attune_bench import Scores, score
from attune_bench.benchmarks.sage.scoring import board
from attune_bench.benchmarks.sage.task import (
    TASK,
    SageSettings,
    read_planning,
    read_reply,
)
from attune_bench.runner import IncompleteAnswerError, RunError, RunOutcome, endpoint, load_prompts, run_sync
from attune_bench.runner.calls import Call
from attune_bench.stats.comparability import MixedSettingsError, check_comparable
from attune_data import SageDialogue, load_records, load_sage
from attune_data.sage import PROFILE, SageProfile, emotion_state

SETTINGS = SageSettings("vendor/model", "vendor/person")
DEMO = list(load_records("demo", PROFILE))
SAMPLES = Path(__file__).parents[5] / "shared" / "samples" / "sage"
PERSON = ("--benchmark", "sage", "--simulator-model", "vendor/person")
Answers = dict[str, Sequence[Any]]


def planning(change: object, **texts: str) -> str:
    given = {"Content": "a", "TargetCompletion": "b", "Activity": "c", "Analyse": "d", **texts, "Change": change}
    return "\n".join(f"{label}:\n{text}" for label, text in given.items())


def reply(words: str) -> str:
    return f"Thinking:\nfour points\nOrigin:\na draft\nChange:\nshorter\nResponse:\n{words}"


def played(
    answers: Answers, profile: SageProfile = DEMO[0], settings: SageSettings = SETTINGS
) -> tuple[SageDialogue, list[Call]]:
    """Play a conversation in which each kind of call has these answers, the last of them for ever."""
    calls: list[Call] = []
    given: Answers = {"reply": ["Go on."], "planning": [planning(0)], "person": [reply("Hm.")]} | answers

    async def complete(call: Call, attempt: int) -> str:
        del attempt
        kind = call.id.partition("-")[0]
        number = sum(one.id.partition("-")[0] == kind for one in calls)
        calls.append(call)
        answer = given[kind][min(number, len(given[kind]) - 1)]
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    made = asyncio.run(TASK.make(profile, complete, settings))
    assert isinstance(made, SageDialogue)
    return made, calls


# What is asked, and what ends a conversation.


def test_ten_rounds_are_28_calls_in_the_published_order() -> None:
    dialogue, calls = played({})
    assert [call.id for call in calls] == [call.id for call in TASK.planned(DEMO[0], SETTINGS)]
    rounds = [name for n in range(1, 10) for name in (f"planning-{n}", f"person-{n}", f"reply-{n + 1}")]
    assert [call.id for call in calls] == ["reply-1", *rounds]
    assert [call.role for call in calls[:4]] == ["model", "simulator", "simulator", "model"]
    # The person first, the model last, and nobody judges what it says then.
    assert [line.role for line in dialogue.history] == ["user", "assistant"] * 10
    assert (dialogue.emo_point, dialogue.emo_state, dialogue.outcome) == (40, "Emotion-B", "neither")
    assert (dialogue.model_extra or {})["ended_by"] == "max_rounds"


def test_the_model_sees_its_instructions_and_the_words_alone() -> None:
    thought = "<think>Flatter her.</think> Tell me about the poles."
    dialogue, calls = played({"reply": [thought], "planning": [planning(6, Activity="SECRET")]})
    profile, last = DEMO[0], [call for call in calls if call.role == "model"][-1]
    assert [one["role"] for one in last.messages] == ["system", *["user", "assistant"] * 9, "user"]
    sent = json.dumps(last.messages)
    assert "Flatter her" not in sent
    assert "SECRET" not in sent
    assert "46" not in sent
    assert profile.task not in sent
    assert last.messages[1]["content"] == profile.first_talk
    assert (dialogue.history[1].content, dialogue.history[1].think) == ("Tell me about the poles.", "Flatter her.")


def test_the_simulator_sees_profile_emotion_and_words_and_plans_before_it_speaks() -> None:
    _, calls = played({"reply": ["<think>Flatter.</think>Poles?"], "planning": [planning(31, Analyse="KIND")]})
    asked = {call.id: call.messages for call in calls}
    assert {len(asked[f"{kind}-2"]) for kind in ("planning", "person")} == {1}
    first, then = (asked[f"{kind}-2"][0]["content"] for kind in ("planning", "person"))
    for text in (first, then):
        assert DEMO[0].player in text
        assert DEMO[0].scene in text
        assert "Flatter" not in text
        assert text.count('"NPC"') == 2
        assert "$" not in text
    # 40, and the most that a reply changes it; the band alone in the second call, with what was made of the reply.
    assert first.split("current emotion")[-1].strip().startswith("50")
    assert then.endswith("Emotion-B")
    assert "KIND" in then
    assert "KIND" not in first
    assert then.index(DEMO[0].first_talk) < then.index("Your latest exchange") < then.index('"Hm."')


def test_the_instructions_are_in_the_language_of_the_profile() -> None:
    [call] = [call for call in TASK.planned(DEMO[2], SETTINGS) if call.id == "planning-1"]
    assert '"role": "你"' in call.messages[0]["content"]
    forced = SageSettings("m", "p", language="en")
    [call] = [call for call in TASK.planned(DEMO[2], forced) if call.id == "planning-1"]
    assert '"role": "you"' in call.messages[0]["content"]


@pytest.mark.parametrize(
    ("changes", "words", "messages", "final"),
    [
        ([10], "Hm.", 13, 100),  # 40 and six times 10
        ([10] * 5 + [8, 9], "Hm.", 15, 100),  # 98 and 9: capped
        ([-10], "Hm.", 9, 0),  # 40, 30, 20, 10 goes on, 0
        ([-10, -10, -11], "Hm.", 9, 0),
        ([3], "Well, goodbye.", 3, 43),
        ([3], "Bye!", 3, 43),
        ([3], "Bystanders.", 20, 67),
        ([3], "再见", 3, 43),
    ],
)
def test_what_ends_a_conversation(changes: list[int], words: str, messages: int, final: int) -> None:
    dialogue, _ = played({"planning": [planning(one) for one in changes], "person": [reply(words)]})
    assert (len(dialogue.history), dialogue.emo_point) == (messages, final)
    assert dialogue.emo_state == emotion_state(final)
    points = [line.emotion_point or 0 for line in dialogue.history if line.role == "user"]
    steps = [line.planning.change for line in dialogue.history[2::2]]
    assert steps == [after - before for before, after in pairwise(points)]


def test_a_goodbye_in_chinese_ends_a_chinese_conversation() -> None:
    dialogue, _ = played({"person": [reply("行吧。拜拜。")]}, DEMO[2])
    assert len(dialogue.history) == 3
    assert len(played({"person": [reply("bye")]}, DEMO[2])[0].history) == 20


def test_an_empty_reply_is_part_of_the_conversation_and_is_judged() -> None:
    dialogue, calls = played({"reply": [""]})
    assert [line.content for line in dialogue.history[1::2]] == [""] * 10
    assert len(calls) == 28


# How answers are read.


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("+3", 3), ("-3", -3), ("[+3]", 3), ("\u22127", -7), ("\uff0d7", -7), ("12", 10), ("-99999999999", -10),
        ("+2.9", None), ("+5 (from 40 to 45)", 5), ("0", 0), ("- 5", -5), ("\u20135", -5), ("[\u2014 4]", -4),
        ("from 40 to 35 (-5)", -5), ("40 \u2192 35 (-5), so -5", None), ("2.7", None), ("5 points", 5), ("\uff0b3", 3),
        ("1. +5", None), ("from 40 to 35", None), ("40-35", None), ("40 - 35", None), ("a fall of 5", None),
        ("-5 or +5", None), ("5/10", None), ("5 on the scale of -10 to 10", None), ("7, up from -3", None),
        ("8 of +10 possible", None), ("5, that is +5", 5), ("-0.5", None), ("-3,5", None), ("-1/2", None), ("+5.0", 5),
        ("from 40.5 to 35 (-5)", -5), ("50 \u2212 12", None), ("99, +10", None),
    ],
)  # fmt: skip
def test_a_change_is_one_whole_number_that_no_other_number_may_be(text: str, change: int | None) -> None:
    found = read_planning(planning(text))
    assert (found and found["change"]) == change


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("*sighs* No", "*sighs* No"), ("Fine [laughs]", "Fine [laughs]"), ("[No.]", "No."),
        ("\u201cNo,\u201d he said, \u201cnever.\u201d", "\u201cNo,\u201d he said, \u201cnever.\u201d"),
        ("\u201cNo", "\u201cNo"), ("**No** way", "**No** way"), ("# 1, she says *", "# 1, she says *"),
    ],
)  # fmt: skip
def test_marks_are_taken_off_words_in_pairs_only(text: str, words: str) -> None:
    found = read_reply(reply(text))
    assert found is not None
    assert found[0] == words
    assert read_reply(f"**Thinking:** x\n**Response:** {text}") == (words, "x")


@pytest.mark.parametrize(
    "answer", ["", "Change: none", "1. She means well.\n2. It fits.\n5. +4", "<think>Change: 4</think>", "change is 4"]
)
def test_an_answer_without_a_change_behind_its_label_is_none(answer: str) -> None:
    assert read_planning(answer) is None


def test_labels_are_found_however_they_are_written() -> None:
    wide = "<think>Change: -9</think>**Content**\uff1a[what]\nTarget Completion: half\n### Activity:\n* Hm.\n\n"
    wide += "Analyse:x\nChange:\n**+4**"
    assert read_planning(wide) == {
        "content": "what",
        "TargetCompletion": "half",
        "activity": "Hm.",
        "analyse": "x",
        "change": 4,
    }
    # The form that was asked for, repeated above the text.
    echoed = read_planning(planning("[change]\n-2", Activity="[what goes through the mind]\nOh."))
    assert echoed is not None
    assert (echoed["activity"], echoed["change"]) == ("Oh.", -2)
    said_twice = read_reply("Thinking: x\nResponse: first\nResponse:\n[\u201cNo: never.\u201d]")
    assert said_twice == ("No: never.", "x")
    assert read_reply(reply("No.")) == ("No.", "four points\nOrigin:\na draft\nChange:\nshorter")


@pytest.mark.parametrize("answer", ["", "I am fine.", "Response:", "Response:\n[]", "Thinking:\nno words"])
def test_an_answer_without_words_behind_its_label_is_none(answer: str) -> None:
    assert read_reply(answer) is None


def test_an_answer_that_cannot_be_read_is_asked_for_three_times_with_one_request() -> None:
    dialogue, calls = played({"planning": ["?", IncompleteAnswerError("cut off"), planning(4)]})
    assert [call.id for call in calls[1:5]] == ["planning-1"] * 3 + ["person-1"]
    assert calls[1] == calls[2] == calls[3]
    assert dialogue.history[2].emotion_point == 44


@pytest.mark.parametrize(
    ("answers", "messages", "ended_by", "error"),
    [
        ({"planning": ["So so."]}, 2, "parse_failed", "planning-1: no answer of the simulator could be read; the last"),
        ({"person": ["So so."]}, 2, "parse_failed", "person-1: no answer of the simulator could be read; the last"),
        ({"reply": [IncompleteAnswerError("cut off")]}, 1, "error",
         "two replies of the model vendor/model ended early; cut off"),
    ],
)  # fmt: skip
def test_a_conversation_that_fails_has_no_score_and_says_why(
    answers: Answers, messages: int, ended_by: str, error: str
) -> None:
    failed, _ = played(answers)
    assert len(failed.history) == messages
    assert (failed.model_extra or {})["ended_by"] == ended_by
    assert (failed.error or "").startswith(error)
    assert (failed.emo_point, failed.outcome) == (40, "error")
    assert TASK.answers_read(json.loads(failed.to_json())) == [True] * ("person" in answers) + [False]
    good, _ = played({"planning": [planning(-10)]}, DEMO[1])
    scores = score([failed, good])
    values = dict(scores.values.select("unit", "emo_point").iter_rows())
    assert values == {failed.scenario_id: None, good.scenario_id: 0}
    assert board(scores).rows() == [("vendor/model", 0.0, 0, 1, 1)]
    assert "Left out: 1 dialogue that failed." in scores.provenance.notes
    assert score([good]).provenance.notes == ()


# Profiles.


def test_what_a_profile_lacks_is_said_and_it_is_not_played(tmp_path: Path) -> None:
    whole: Json = json.loads(DEMO[0].to_json())
    lacking = [{**whole, "id": "a", "first_talk": None}, {**whole, "id": "b", "scene": "A lost key."}]
    wrong = [{**whole, "id": "c", "player": 7}, {**whole, "id": "d", "cha_group": "dry"}, {**whole, "id": None}]
    path = tmp_path / "profiles.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (whole, *lacking, *wrong)))
    found = load_records(path)
    assert found.kind is PROFILE
    rules = {(issue.file.rpartition(":")[2], issue.path, issue.rule) for issue in found.found}
    assert rules >= {("2", "$.first_talk", "missing-text"), ("3", "$.task", "missing-text")}
    assert {place for place, *_ in rules} == {"2", "3", "4", "5", "6"}
    assert [TASK.unusable(one) for one in found if one.id in ("a", "b")] == [
        "profile 'a' has no first_talk to be played from",
        "",
    ]
    assert TASK.planned(found["a"], SETTINGS) == []
    with pytest.raises(ValueError, match="has no first_talk"):
        played({}, found["a"])


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the published results are not beside the repository")
@pytest.mark.slow
def test_a_record_has_every_key_of_the_published_ones() -> None:
    dialogue, _ = played({"reply": ["<think>a</think>b"]})
    made = json.loads(dialogue.to_json())
    known = json.loads((SAMPLES / "claude3.7-think_result.jsonl").read_text(encoding="utf-8").split("\n")[0])
    assert made.keys() >= known.keys()
    assert {name: type(value) for name, value in made.items() if name in known} == {
        name: type(value) for name, value in known.items()
    }
    for place in (0, 1, 2):
        assert made["history"][place].keys() == known["history"][place].keys()
    assert made["history"][2]["planning"].keys() == known["history"][2]["planning"].keys()


# Runs.


def speak(body: Json) -> str:
    return answer_to(body) if body["model"] == "vendor/person" else "I see."


def run(server: ModelServer, output: Path, settings: SageSettings = SETTINGS, profiles: Any = DEMO) -> RunOutcome:
    return run_sync(TASK, profiles, settings, endpoint("local", base_url=server.url), output=output)


@pytest.mark.slow
def test_a_run_writes_results_as_published_and_goes_on(tmp_path: Path) -> None:
    with ModelServer(answer=speak) as server:
        run(server, tmp_path, profiles=DEMO[:1])
        sent = server.calls
        outcome = run(server, tmp_path)
        assert (outcome.finished, outcome.earlier) == (3, 1)
        assert {body["temperature"] for body in server.bodies} == {0.7}
        assert all("response_format" not in body for body in server.bodies)
        path = tmp_path / "vendor_model" / "vendor_model_result.jsonl"
        before = path.read_bytes()
        every = server.calls
        path.unlink()
        (tmp_path / "vendor_model" / "_episodes" / "demo_noodles.json").unlink()
        assert run(server, tmp_path).finished == 3
        assert (server.calls, path.read_bytes()) == (every, before)
        assert 0 < sent < every
        with pytest.raises(RunError, match="contains episodes of another configuration"):
            run(server, tmp_path, SageSettings("vendor/model", "vendor/person", max_rounds=3))
    loaded = load_sage(tmp_path, on_error="raise")
    assert [dialogue.scenario_id for dialogue in loaded] == [profile.id for profile in DEMO]
    assert loaded.found == ()
    assert {dialogue.model for dialogue in loaded} == {"vendor/model"}
    assert score(loaded).provenance.synthetic


@pytest.mark.slow
def test_models_are_compared_within_one_simulator(tmp_path: Path) -> None:
    with ModelServer(answer=answer_to) as server:
        for model, simulator in (("a", "p"), ("b", "p"), ("c", "q")):
            run(server, tmp_path / model, SageSettings(model, simulator, max_rounds=2), DEMO[:1])
    a, b, c = (load_sage(tmp_path / model)[0] for model in "abc")
    check_comparable(score([a, b]))
    with pytest.raises(MixedSettingsError, match=r"simulator p \(of a\), q \(of c\)"):
        check_comparable(score([a, c]))
    published = [SageDialogue(scenario_id=a.scenario_id, model=name, emo_point=50, history=[]) for name in "xy"]
    check_comparable(score(published))
    assert score(published).provenance.comparability_keys == {}
    with pytest.raises(MixedSettingsError, match="not recorded"):
        check_comparable(score([a, published[0]]))


def test_a_wording_of_ones_own_is_used(tmp_path: Path) -> None:
    bundled = load_prompts("attune_bench.benchmarks.sage", "sage-v1")
    bundled.write(tmp_path / "mine")
    (tmp_path / "mine" / "en" / "model.md").write_text("Be brief.")
    settings = TASK.settings("m", simulator_model="p", prompts=tmp_path / "mine")
    assert TASK.planned(DEMO[0], settings)[0].messages[0]["content"] == "Be brief."
    assert settings.prompts.version == "custom"
    with pytest.raises(ValueError, match="answer_format is 'schema'; SAGE asks for free text with labels only"):
        TASK.settings("m", simulator_model="p", answer_format="schema")


def test_every_wording_asks_for_the_labels_that_are_read() -> None:
    bundled = load_prompts("attune_bench.benchmarks.sage", "sage-v1")
    for language in ("en", "zh"):
        form = bundled.texts[f"{language}/planning"] + "0"
        for label in ("Content", "TargetCompletion", "Activity", "Analyse", "Change"):
            assert f"\n{label}:\n" in form
        for label in ("Thinking", "Origin", "Change", "Response"):
            assert f"\n{label}:\n" in bundled.texts[f"{language}/reply"]
        assert ("再见" in bundled.texts[f"{language}/reply"]) == (language == "zh")


# The commands.

elsewhere = pytest.mark.usefixtures("elsewhere")


@elsewhere
@pytest.mark.slow
def test_the_command_runs_the_demo_and_its_results_are_scored(call: Invoke) -> None:
    with ModelServer(answer=speak) as server:
        given = ("run", "local", "vendor/model", "demo", *PERSON, "--base-url", server.url, "-o", "out")
        status, out, err = call(*given, "--dry-run")
        assert (status, err, server.calls) == (0, "", 0)
        assert out.startswith("3 profiles: 84 calls at most, and up to 2 more for each answer")
        status, out, err = call(*given)
        assert (status, err) == (0, "")
    assert out.splitlines()[0] == "out/vendor_model: 3 dialogues, one profile each"
    assert out.splitlines()[-1] == "next: attune-bench score --results out/vendor_model"
    assert call("validate", "out", "--strict")[0] == 0
    assert call("score", "--results", "out/vendor_model")[0] == 0
    assert board(Scores.read("scores.parquet"))["n"].to_list() == [3]
    status, out, _ = call("report", "scores.parquet")
    assert status == 0
    assert "simulator vendor/person" in " ".join(out.split())


@elsewhere
def test_the_command_says_that_nothing_could_be_read(call: Invoke) -> None:
    with ModelServer(answer=lambda _body: "So so.") as server:
        given = ("run", "local", "vendor/model", "demo", *PERSON, "--base-url", server.url, "-o", "out")
        status, _, err = call(*given, "--limit", 1)
        assert server.calls == 4
    assert status == 1
    assert "Try a larger model or a larger --max-tokens" in err
    assert "--free-json" not in err
    assert "'So so.'" in err
    assert call("validate", "out")[0] == 0
    assert call("validate", "out", "--strict")[0] == 1


@elsewhere
@pytest.mark.slow
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the published results are not beside the repository")
def test_a_run_is_set_beside_the_published_results(call: Invoke, tmp_path: Path) -> None:
    known = [json.loads(line) for line in (SAMPLES / "gpt-4.1_result.jsonl").read_text("utf-8").split("\n")[:8]]
    profiles = [
        {"id": one["id"], "player": one["player"], "scene": one["scene"], "main_cha": one["character"]}
        | {"task": one["task"], "cha_group": [], "first_talk": one["history"][0]["content"]}
        for one in known
    ]
    (tmp_path / "profiles.jsonl").write_text("".join(json.dumps(one) + "\n" for one in profiles))
    with ModelServer(answer=speak) as server:
        options = ("--simulator-model", "vendor/person", "--base-url", server.url, "--html", "page.html")
        status, out, err = call("run", "local", "vendor/model", "profiles.jsonl", *options, "-o", "out")
    assert (status, err) == (0, "")
    assert "vendor/model" in out
    assert Path("page.html").stat().st_size < 200_000
    assert call("validate", "--strict", "out")[0] == 0
    results = ("out", str(SAMPLES / "gpt-4.1_result.jsonl"))
    assert call("score", "--results", *results, "-o", "both.parquet")[0] == 0
    status, _, err = call("compare", "both.parquet")
    assert status == 2
    assert "simulator" in err
    status, out, _ = call("compare", "both.parquet", "--allow-mixed")
    assert status == 0
    assert "MIXED" in out
    assert re.search(r"gpt-4.1 +vendor/model .* 8\n", out)


@elsewhere
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("local", "m", "demo", *PERSON[:2]), "SAGE needs --simulator-model: "),
        (("local", "m", "demo", *PERSON, "--max-rounds", "0"), "max_rounds is 0"),
        (("local", "m", "demo", *PERSON, "--judge-all"), "--judge-all is an option of EIBench, and this is SAGE"),
        (("local", "m", "demo", *PERSON, "--repeats", "2"), "dialogues of SAGE have no field repeat"),
        (("local", "m", "demo", *PERSON, "--prompts", "none"), "none is no folder"),
        (("local", "m", "demo", *PERSON, "--where", "task=none"), "no profile has task 'none'; expected one of"),
    ],
)
def test_mistakes_are_one_line(arguments: Sequence[str], message: str, call: Invoke) -> None:
    status, out, err = call("run", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_server_that_refuses_costs_no_result(tmp_path: Path) -> None:
    def refusing(_number: int, body: Json) -> bytes:
        is_model = body["model"] == "vendor/model"
        return said("Yes.") if is_model else b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n"

    with ModelServer(refusing) as server:
        outcome = run(server, tmp_path, profiles=DEMO[:1])
    assert (outcome.finished, len(outcome.skipped)) == (0, 1)
    assert not list(tmp_path.glob("*/*_result.jsonl"))
