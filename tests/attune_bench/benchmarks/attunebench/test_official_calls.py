"""What the published runs showed and asked, fact by fact, beside what our calls show and ask.

A fact is one row of a table: the call, and what its request shows or does not show, or where it is in the thread. The
words are ours; the facts are those of the published calls. `test_official_answers.py` has scales and answers.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, answer_to
from slow_cases import slow_after
from telling_conversation import ASKED, BOOK, CONVERSATION, MODES, PAIRS, SKIPPED, STRATEGIES, WORDS, calls, request

from attune_bench.benchmarks.attunebench.task import Strategy
from attune_bench.runner.calls import Message
from attune_data.record import Mode

VERBOSE, OMNISCIENT = ("verbose", "verbose_omniscient"), ("omniscient", "verbose_omniscient")


# Where a call is.

TURN_1 = ["turn-1/draft", "note", "turn-1/read", "note"]
TURN_2 = ["turn-2/draft", "note", "turn-2/read", "note"]
TURN_3 = ["turn-3/draft", "note", "turn-3/read", "note"]
THREADS = {
    "turn-2/draft": [*TURN_1],
    "turn-2/read": [*TURN_1, *TURN_2[:2]],
    "turn-2/read-hp": [*TURN_1, *TURN_2],
    "turn-2/pairwise": [*TURN_1, *TURN_2],
    "turn-3/draft": [*TURN_1, *TURN_2],
    "post": [*TURN_1, *TURN_2, *TURN_3],
    "turn-2/judge/judge": [],
}


@pytest.mark.parametrize(("name", "before"), THREADS.items())
@pytest.mark.parametrize(("mode", "strategy"), list(product(MODES, STRATEGIES)))
def test_a_call_comes_after(name: str, before: list[str], mode: Mode, strategy: Strategy) -> None:
    known = calls(mode, strategy)
    kinds = {request(call): call.id for call in known.values()} | {"(Answer received. It is not shown.)": "note"}
    first, *others = known[name].messages
    assert first["role"] == "system"
    assert [kinds[message["content"]] for message in others] == [*before, name]
    assert [message["role"] for message in others] == ["user", "assistant"] * (len(before) // 2) + ["user"]


# What a request shows and asks.


@dataclass(frozen=True)
class Fact:
    """What the published call shows or says, in the words of ours; `system` where it is in the system message."""

    fact: str
    call: str
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    modes: tuple[str, ...] = MODES
    strategies: tuple[str, ...] = STRATEGIES
    system: bool = False
    only_in_modes: bool = False


TWO_ANSWERS = ("`observed`: did the OM actually exhibit the behaviour? Answer factually",)
FACTS = [
    Fact("the role of an expert", "post", ("an expert in emotional intelligence",), system=True),
    Fact("turn by turn, up to three steps", "post", ("one turn at a time", "up to three steps"), system=True),
    Fact("JSON only", "post", ("one JSON object", "nothing before it and nothing after it"), system=True),
    Fact(
        "a trace justifies draft, emotions and judgement, and cites the text",
        "post",
        ("reasoning trace", "justifies your draft, the emotions that you name and your judgement", "cites the words"),
        modes=VERBOSE,
        system=True,
        only_in_modes=True,
    ),
    Fact(
        "profile, PANAS and topic attitude will be shown",
        "post",
        ("you are shown the HP's profile", "PANAS from before the conversation", "attitude to its topic"),
        modes=OMNISCIENT,
        system=True,
        only_in_modes=True,
    ),
    Fact("the HP's message", "turn-1/draft", ("MESSAGE-1",), ("REPLY-1", "IMPROVED-1", "EDITED-1")),
    Fact("as if it were the OM", "turn-1/draft", ("the reply that you would give to the HP if you were the OM",)),
    Fact("before the OM's reply", "turn-1/draft", ("You have not seen the OM's reply yet",)),
    Fact("emotions come later", "turn-1/draft", ("Do not predict the HP's emotions yet",)),
    Fact(
        "in omniscient modes the whole profile, unknown keys and responses too",
        "turn-1/draft",
        ("A-COUNTRY", "A-DIAGNOSIS", "AN-OWN-KEY", '"who_5": 13', "A-RESPONSE", '"schema_version": "2.0"'),
        modes=OMNISCIENT,
        only_in_modes=True,
    ),
    Fact("the topic attitude", "turn-1/draft", ("AN-ATTITUDE",), modes=OMNISCIENT, only_in_modes=True),
    Fact(
        "the PANAS totals",
        "turn-1/draft",
        ("positive feelings add up to 30, those of the negative feelings to 20",),
        modes=OMNISCIENT,
        only_in_modes=True,
    ),
    Fact("no PANAS items", "turn-1/draft", hidden=("proud", "Proud")),
    Fact("no empty key, and not who it is", "turn-1/draft", hidden=("education", "profile_type", "notes", "A-PARTI")),
    Fact("the profile on the first turn only", "turn-2/draft", ("MESSAGE-2",), ("A-COUNTRY", "add up to")),
    Fact("the key of a draft", "turn-1/draft", ('{"drafted_response": string',)),
    Fact(
        "and its trace",
        "turn-1/draft",
        ('"response_reasoning": string}', "`response_reasoning` is your reasoning trace", "Cite the words"),
        modes=VERBOSE,
        only_in_modes=True,
    ),
    Fact("message and reply", "turn-2/read", ("MESSAGE-2", "REPLY-2"), ("IMPROVED-2", "EDITED-2", "MESSAGE-1")),
    Fact("emotions that the HP is experiencing", "turn-2/read", ("emotions that the HP is experiencing",)),
    Fact("only the 20 words", "turn-2/read", (f"Use only these words, each at most once: {', '.join(WORDS)}.",)),
    Fact("an empty list without a clear shift", "turn-2/read", ("an empty list where", "no clear shift")),
    Fact("intensity 1-7 or null", "turn-2/read", ("an integer from 1 (slight) to 7 (extreme), or null",)),
    Fact("(a) factually", "turn-2/read", TWO_ANSWERS),
    Fact(
        "(b) yes or no to this question, from state and needs",
        "turn-2/read",
        ("`preferred`: judge by the HP's state and needs", "Would the HP have answered yes or no to this question?"),
    ),
    Fact(
        "how the two differ",
        "turn-2/read",
        ("differ where the behaviour occurred and was unwanted, or was wanted and did not occur",),
    ),
    Fact("observer phrasing", "turn-2/read", (BOOK.binary["B11"].observer_text,), (BOOK.binary["B11"].text,)),
    Fact("ids to skip", "turn-2/read", (f"Skip the questions that do not apply to this turn: {SKIPPED}.",)),
    Fact("skipped questions are not asked", "turn-2/read", hidden=("- B5:", "- B16:")),
    Fact(
        "the trace",
        "turn-2/read",
        ('"emotion_reasoning": string', "why you name these emotions and judge the reply", "Cite the words"),
        modes=VERBOSE,
        only_in_modes=True,
    ),
    Fact("the HP's wording", "turn-2/read-hp", (BOOK.binary["B11"].text,), (BOOK.binary["B11"].observer_text,)),
    Fact("(a) as in the review", "turn-2/read-hp", TWO_ANSWERS),
    Fact(
        "(b) this exact question",
        "turn-2/read-hp",
        ("`preferred`: how did the HP answer this exact question? Predict",),
    ),
    Fact(
        "an example, unwanted advice",
        "turn-2/read-hp",
        (
            'whether the response gave advice. It gave advice, and the HP did not want any: `observed` is "yes" and '
            '`preferred` is "no".',
        ),
    ),
    Fact("message, reply, alternates", "turn-2/pairwise", ("MESSAGE-2", "REPLY-2", "IMPROVED-2", "EDITED-2")),
    Fact(
        "under masks",
        "turn-2/pairwise",
        (" original>>>\nREPLY-2", " alternate1>>>\nIMPROVED-2", " alternate2>>>\nEDITED-2"),
        ("human", "llmImproved", "humanEdited"),
    ),
    Fact("A and B differ", "turn-2/pairwise", ("Which reply is A and which is B differs from one question to the",)),
    Fact("which the HP chose", "turn-2/pairwise", ("Which reply did the HP choose in each comparison, A or B?",)),
    Fact(
        "an expert evaluator", "turn-2/judge/judge", ("expert evaluator of replies in emotional support",), system=True
    ),
    Fact("JSON only", "turn-2/judge/judge", ("one JSON object",), system=True),
    Fact(
        "this turn's message, draft and reference only",
        "turn-2/judge/judge",
        ("MESSAGE-2", " draft>>>", " reference>>>\nEDITED-2"),
        ("MESSAGE-1", "REPLY-1", "EDITED-1", "REPLY-2", "IMPROVED-2", "A-COUNTRY"),
    ),
    Fact(
        "ratings relative to the reference",
        "turn-2/judge/judge",
        ("relative to the reference", "from 1 (a very poor match) to 7 (an excellent match)"),
    ),
    Fact(
        "quality and intent",
        "turn-2/judge/judge",
        ("`overall_score`: the overall quality of the draft", "the intent of the reference"),
    ),
    Fact("fit to the emotions", "turn-2/judge/judge", ("`emotional_appropriateness`: how well the draft matches",)),
    Fact("as effective", "turn-2/judge/judge", ("`helpfulness`: whether the draft is as effective as the reference",)),
    Fact(
        "tone",
        "turn-2/judge/judge",
        ("`tone_match`: how well the tone", "in warmth, formality, directness and empathy"),
    ),
    Fact("the questions of the draft", "turn-2/judge/judge", ("does the draft exhibit the behaviour", "- B501: ")),
    Fact(
        "no reference, no ratings",
        "turn-3/judge/judge",
        ("does the draft exhibit the behaviour",),
        ("reference", "overall_score", "from 1"),
    ),
    Fact(
        "totals before the conversation",
        "post",
        ("positive feelings add up to 30, those of the negative feelings to 20",),
        strategies=("absolute", "delta"),
    ),
    Fact("all 20 items", "post", (f"each of the 20 feelings: {', '.join(WORDS)}.",)),
    Fact("no item from before, no total", "post", hidden=("add up to", "30", "20,"), strategies=("blind_delta",)),
    Fact(
        "1-7", "post", ("rating of each feeling after the conversation, an integer from 1",), strategies=("absolute",)
    ),
    Fact(
        "change",
        "post",
        ("feeling changed, an integer from -6 to 6: the rating after the conversation minus",),
        strategies=("delta", "blind_delta"),
    ),
    Fact(
        "Q1: any of the options",
        "post",
        ("`q1_lookingFor`: what was", f"Give a list of any of {json.dumps(BOOK.q1_options)}"),
    ),
    Fact(
        "Q2: how clearly the model understood their emotions",
        "post",
        (
            "`q2_emotionClarity`: how clearly did the OM understand the HP's emotions? Give one of "
            + json.dumps(BOOK.q2_options),
        ),
    ),
    Fact(
        "Q3: overall fit",
        "post",
        (
            "`q3_modelFit`: how well did",
            f"needed, overall? Give one of {json.dumps(BOOK.q3_options)}",
        ),
    ),
    Fact(
        "the follow-up, after a mixed or off-target fit",
        "post",
        (
            "`q3_followUp_whatFeltOff`: what felt off",
            f'only after "{BOOK.q3_negative[0]}" or "{BOOK.q3_negative[1]}"',
            "in any other case an empty list",
        ),
    ),
    Fact("perceiving", "post", ("`perceiving`: the OM's ability to identify the HP's current emotional state",)),
    Fact(
        "facilitating",
        "post",
        ("`facilitating`: ", "the HP's state and the context into account when it reasons and crafts replies"),
    ),
    Fact(
        "understanding",
        "post",
        ("`understanding`: ", "to grasp how emotions combine, how they change, and how they could develop"),
    ),
    Fact(
        "managing", "post", ("`managing`: ", "convey emotion clearly and fittingly, in a manner that seems thoughtful")
    ),
    Fact("branches 1-7", "post", ("integers from 1 (very badly) to 7 (very well)",)),
]


def check(fact: Fact, mode: Mode, strategy: Strategy, messages: Sequence[Message]) -> None:
    said = messages[0 if fact.system else -1]["content"]
    if mode in fact.modes and strategy in fact.strategies:
        assert [text for text in fact.shown if text not in said] == []
        assert [text for text in fact.hidden if text in said] == []
    elif fact.only_in_modes:
        assert [text for text in fact.shown if text in said] == []


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact.call}: {fact.fact}")
def test_a_request_says(fact: Fact) -> None:
    for mode, strategy in product(MODES, STRATEGIES):
        check(fact, mode, strategy, calls(mode, strategy)[fact.call].messages)


@pytest.mark.parametrize(("mode", "strategy"), slow_after(3, list(product(MODES, STRATEGIES))))
def test_what_a_server_receives_of_a_run_says_the_same(
    mode: Mode, strategy: Strategy, call: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    def answer(body: dict[str, Any]) -> str:
        ratings = dict.fromkeys(("overall_score", "emotional_appropriateness", "helpfulness", "tone_match"), 4)
        judged = ratings | {"answers": dict.fromkeys(ASKED, "yes")}
        return json.dumps(judged) if body["model"] == "judge" else answer_to(body)

    (tmp_path / "one.json").write_bytes(CONVERSATION.to_json())
    with ModelServer(answer=answer) as server:
        options = ("--modes", mode, "--panas-strategy", strategy, "--judge-model", "judge", "--base-url", server.url)
        assert (
            call(
                "run", "local", "vendor/model", tmp_path / "one.json", *options, "--free-json", "-o", tmp_path / "runs"
            )[0]
            == 0
        )
    assert [body for body in server.bodies if "response_format" in body] == []
    # Which call it is: of the model its request; of the judge, who is shown the draft that was answered, its turn.
    known = {request(one): name for name, one in calls(mode, strategy).items()}
    received: dict[str, Sequence[Message]] = {}
    for body in server.bodies:
        last = body["messages"][-1]["content"]
        (turn,) = (number for number in "123" if f"MESSAGE-{number}" in last) if body["model"] == "judge" else "0"
        received[known[last] if turn == "0" else f"turn-{turn}/judge/judge"] = body["messages"]
    assert len(server.bodies) == len(received)
    assert received.keys() == calls(mode, strategy).keys()
    for fact in FACTS:
        check(fact, mode, strategy, received[fact.call])


def test_what_the_three_strategies_ask_is_all_that_they_change() -> None:
    for mode in MODES:
        first, *others = [[call for name, call in calls(mode, each).items() if name != "post"] for each in STRATEGIES]
        assert all(first == other for other in others)
        assert len({request(calls(mode, strategy)["post"]) for strategy in STRATEGIES}) == 3


@pytest.mark.parametrize("name", ["turn-2/read", "turn-2/read-hp", "turn-2/judge/judge"])
def test_questions_are_in_the_order_of_the_file(name: str) -> None:
    call = calls("default", "absolute")[name]
    lines = [line for line in request(call).splitlines() if line.startswith("- B")]
    assert [line.split(":")[0].removeprefix("- ") for line in lines] == ASKED
    assert list(call.schema["properties"]["answers"]["properties"]) == ASKED


def test_a_comparison_shows_question_labels_and_texts() -> None:
    _, *shown = request(calls("default", "absolute")["turn-2/pairwise"]).split("### Comparison ")
    questions = [BOOK.pairwise["general"].text, BOOK.pairwise["PW1"].text, '"Warmer?"']
    labels = {"original": "original", "alternate": "alternate1", "human": "alternate2"}
    texts = {"original": "REPLY-2", "alternate": "IMPROVED-2", "human": "EDITED-2"}
    for place, (part, question, (_, a, b)) in enumerate(zip(shown, questions, PAIRS, strict=True)):
        lines = part.splitlines()
        # Number, question, and of each side its label and, between two marks, its text.
        assert lines[:5:2] == [str(place), question, f"A is `{labels[a]}`:"]
        assert (lines[7], lines[10], lines[13]) == (texts[a], f"B is `{labels[b]}`:", texts[b])
