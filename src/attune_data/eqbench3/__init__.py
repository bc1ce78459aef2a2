"""EQ-Bench 3: situations that a model plays or analyses, transcripts of that, and verdicts of a judge on two of them.

The repository has all situations in one text, `scenario_prompts.txt`, the transcripts of models in
`eqbench3_runs.json`, and the verdicts in `elo_results_eqbench3.json`; the last two may be large, and are read as
streams. The repository calls a situation a scenario, and a transcript a task.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from attune_data.collection import Duplicate, Messages, first_counts, record_kind
from attune_data.display import Message, Part
from attune_data.record import LARGEST, ByKey, Items, Length, Number, Repeat, SnakeCaseRecord, Text, repeat_suffix
from attune_data.repair import IssueCollector

Type = Literal["role-play", "drafting", "analysis"]
Rubric = Literal["standard", "analysis"]

STORIES: Mapping[str, str] = {
    "401": "303", "402": "301", "403": "302", "404": "304", "405": "2", "406": "3", "407": "4", "408": "6", "410": "1",
    "411": "3", "412": "3", "413": "6", "414": "6", "415": "9", "416": "11", "417": "15", "418": "15", "419": "137",
    "420": "131",
}  # fmt: skip
"""By id of a published situation of analysis the id of the role-play that it has the story of."""

_ANALYSIS = frozenset(map(str, range(401, 421)))
_DRAFTING = frozenset(map(str, range(201, 210)))


def type_of(situation: str) -> Type:
    """Return the type of a published situation, which follows from its id.

    Examples
    --------
    >>> type_of("9"), type_of("208"), type_of("420")
    ('role-play', 'drafting', 'analysis')
    """
    return "analysis" if situation in _ANALYSIS else "drafting" if situation in _DRAFTING else "role-play"


class EQBench3Situation(SnakeCaseRecord):
    """A situation: the messages that a model gets one after the other, whatever it answers."""

    column_properties: ClassVar[tuple[str, ...]] = ("turns",)

    id: str = Field(min_length=1, description="Id of the situation, a text of digits.")
    type: Type = Field(
        description="What a model does: it plays a person (`role-play`), drafts a message (`drafting`), or analyses a"
        " conversation (`analysis`)."
    )
    category: str | None = Field(None, description="What it is about, such as `Work Dilemma`.")
    title: str | None = Field(None, description="Its title.")
    prompts: tuple[str, ...] = Field(description="The messages, one for each turn.", json_schema_extra={"minItems": 1})
    note: str | None = Field(None, description="What the judge of a comparison is told about it.")
    story: str = Field(min_length=1, description="Id of the story, which a role-play and its analyses share.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @model_validator(mode="after")
    def _has_a_prompt(self) -> Self:
        if not self.prompts:
            message = "situation {id} has no prompt; in the text a prompt begins with a line like: ####### Prompt1"
            raise PydanticCustomError("no_prompt", message, {"id": self.id})
        return self

    @property
    def turns(self) -> int:
        """Number of prompts."""
        return len(self.prompts)

    @property
    def rubric(self) -> Rubric:
        """The rubric by which its transcripts are judged."""
        return "analysis" if self.type == "analysis" else "standard"


class EQBench3Message(SnakeCaseRecord):
    """A message of a transcript."""

    role: Literal["system", "user", "assistant"] = Field(description="Who speaks; `assistant` is the model.")
    content: Text = Field("", description="The text.")


class EQBench3Transcript(SnakeCaseRecord):
    """What one model made of a situation, and a judge's scores of it."""

    scenario_id: str = Field(min_length=1, description="Id of the situation.")
    test_model: str = Field(min_length=1, description="The model under test.")
    repeat: Repeat = Field(1, description="Which iteration it is of; from 1.")
    judge_model: str | None = Field(None, description="The judge that scored it by the rubric.")
    status: str = Field("", description="How far it came; `rubric_scored` where the judge's scores could be read.")
    error: str | None = Field(None, description="Why it failed.")
    conversation_history: Items[EQBench3Message] = Field((), description="The messages, the user first.")
    debrief_response: str | None = Field(None, description="What the model says afterwards, out of its role.")
    rubric_scores: ByKey[Number] = Field({}, description="By criterion the judge's score, 0-20.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @property
    def id(self) -> str:
        """``situation/model``, and of a further iteration its number."""
        return f"{self.scenario_id}/{self.test_model}{repeat_suffix(self.repeat)}"

    @property
    def is_scored(self) -> bool:
        """Whether it counts for the rubric score."""
        return self.status == "rubric_scored" and bool(self.rubric_scores)


class EQBench3Verdict(SnakeCaseRecord):
    """One call of the judge: which of two transcripts of a situation is better, by criterion.

    Plus signs are counted anew from the judge's answer, as published.
    """

    column_properties: ClassVar[tuple[str, ...]] = ("rubric",)

    scenario_id: str = Field(min_length=1, description="Id of the situation.")
    test_model: str = Field(min_length=1, description="The model on one side, which was rated when this was judged.")
    neighbor_model: str = Field(min_length=1, description="The model on the other side.")
    repeat: Repeat = Field(1, description="Which iteration of both models; from 1.")
    story: str | None = Field(None, min_length=1, description="Id of the story of the situation.")
    test_first: Annotated[bool, Strict()] = Field(
        description="Whether the judge saw the answers of `test_model` first."
    )
    plus_for_test: Annotated[int, Strict(), Field(ge=0, le=LARGEST)] | None = Field(
        None, description="Plus signs for `test_model`, over all criteria; null where the judge's answer is missing."
    )
    plus_for_other: Annotated[int, Strict(), Field(ge=0, le=LARGEST)] | None = Field(
        None, description="Plus signs for `neighbor_model`."
    )
    fraction_for_test: Annotated[float, Strict(), Field(ge=0, le=1)] | None = Field(
        None, description="What `test_model` wins, 0 to 1, as the file states it, where plus signs are missing."
    )
    stored_plus_for_test: Number | None = Field(
        None, description="Plus signs for `test_model` as the file states them; of analysis 1 or 0."
    )
    stored_plus_for_other: Number | None = Field(None, description="The same for `neighbor_model`.")
    test_model_avg_response_length: Length | None = Field(
        None, description="Mean number of characters in an answer of `test_model`."
    )
    neighbor_model_avg_response_length: Length | None = Field(None, description="The same of `neighbor_model`.")
    judge_model: str | None = Field(None, min_length=1, description="The judge; the published files do not name it.")
    error: str | None = Field(None, description="Why there is no verdict.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @property
    def id(self) -> str:
        """Situation, iteration, and both models, the one first that the judge saw first; then the judge, if named."""
        shown = (self.test_model, self.neighbor_model)[:: 1 if self.test_first else -1]
        as_test = "" if self.test_first else ", as neighbor"
        by = f", by {self.judge_model}" if self.judge_model else ""
        return f"{self.scenario_id}/{self.repeat}/{shown[0]} before {shown[1]}{as_test}{by}"

    @property
    def rubric(self) -> Rubric:
        """``analysis`` for an id from 400 on, as published."""
        return "analysis" if self.scenario_id.isdecimal() and int(self.scenario_id) >= 400 else "standard"

    @property
    def fault(self) -> str:
        """Why it cannot be counted; empty where it can."""
        if self.test_model == self.neighbor_model:
            return f"{self.test_model!r} is compared with itself"
        if self.fraction_for_test is None and (self.plus_for_test is None or self.plus_for_other is None):
            return self.error or "the judge's answer is missing"
        return ""


# The text of all situations.

_LINE = re.compile(r"\r\n|\r|\n")  # not U+2028, which a prompt may have
_SITUATION, _PROMPT = re.compile(r"########\s*(\S+)\s*(.*)"), re.compile(r"#######\s*Prompt\d+")


def situations_of(text: str) -> list[dict[str, Any]]:
    r"""Return the situations of the repository's text, as documents; one may have no prompt.

    A line that begins with eight ``#`` begins a situation: its id, its category and its title, separated by ``|``. One
    that begins with ``####### Prompt1`` begins a prompt, with another number the next one.

    Examples
    --------
    >>> [one] = situations_of("######## 208 | Work | The note\n####### Prompt1\nWrite it.\nToday.\n")
    >>> one["id"], one["type"], one["title"], one["prompts"]
    ('208', 'drafting', 'The note', ['Write it.\nToday.'])
    """
    found: list[dict[str, Any]] = []
    lines: list[str] | None = None
    prompts: list[list[str]] = []
    for line in _LINE.split(text):
        if begins := _SITUATION.match(line.strip()):
            name, rest = begins.groups()
            _, category, title = (*(part.strip() or None for part in rest.split("|", 2)), None, None)[:3]
            prompts, lines = [], None
            about = {"id": name, "type": type_of(name), "category": category, "title": title}
            found.append({**about, "story": STORIES.get(name, name), "prompts": prompts})
        elif found and _PROMPT.match(line.strip()):
            lines = []
            prompts.append(lines)
        elif lines is not None:
            lines.append(line)
    for one in found:
        texts = ("\n".join(prompt).strip() for prompt in one["prompts"])
        one["prompts"] = [prompt for prompt in texts if prompt]
    return found


def notes_of(text: str) -> dict[str, str]:
    r"""Return the notes of the repository's text, by the id of the situation.

    Examples
    --------
    >>> notes_of("# 9\nShe has not slept.\n# 11\nHe is six.\n")
    {'9': 'She has not slept.', '11': 'He is six.'}
    """
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in _LINE.split(text):
        if line.startswith("# "):
            lines = found.setdefault(line.strip("# \n"), [])
        else:
            lines.append(line)
    return {name: note for name, lines in found.items() if (note := "\n".join(lines).strip())}


_SECTIONS: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    kind: {
        name: re.compile(rf"#\s*{heading}\s*\n([\s\S]*?)(?={'--' if last else '#'}|\Z)", re.IGNORECASE)
        for name, heading, last in sections
    }
    for kind, sections in {
        "role-play": (
            ("thinking_feeling", "I['\u2019]m thinking & feeling", False),
            ("their_thinking_feeling", "They['\u2019]re thinking & feeling", False),
            ("response", "My response", True),
        ),
        "drafting": (
            ("perspective_taking", "Perspective[- ]taking", False),
            ("draft_brainstorming", "Draft brainstorming", False),
            ("draft", "Draft", True),
        ),
    }.items()
}
"""By type of situation the sections of an answer and how each is found."""


def read_sections(answer: str, kind: Type) -> dict[str, str]:
    r"""Return the sections of an answer as published: empty where the heading is not found.

    The first two end at the next ``#``, even of a hashtag; the last at the first ``--``. The judge reads the
    sections and not the answer. An analysis has none.

    Examples
    --------
    >>> read_sections("# I'm thinking & feeling\na #1 fan\n# My response\nWell -- no", "role-play")
    {'thinking_feeling': 'a', 'their_thinking_feeling': '', 'response': 'Well'}
    """
    found = {name: pattern.search(answer) for name, pattern in _SECTIONS.get(kind, {}).items()}
    return {name: match[1].strip() if match else "" for name, match in found.items()}


SIDES = ("A0493", "A0488")
"""What a judge calls the side that is shown first, and the second."""


def plus_signs(verdict: Mapping[str, object]) -> tuple[int, int]:
    """Return the plus signs that a judge's answer gives to the side shown first, and to the second.

    Parameters
    ----------
    verdict : mapping of str to object
        By criterion the code of the better side and plus signs, such as ``A0493++``; a value that names neither side
        counts for none, and the reasoning is not read.

    Examples
    --------
    >>> plus_signs({"chain_of_thought_reasoning": "A0493+++", "pragmatic_ei": "A0493++", "overall_eq": "A0488+"})
    (2, 1)
    """
    totals = dict.fromkeys(SIDES, 0)
    for criterion, value in verdict.items():
        named = [side for side in SIDES if isinstance(value, str) and side in value]
        if named and criterion != "chain_of_thought_reasoning":
            totals[named[0]] += str(value).count("+")
    return totals[SIDES[0]], totals[SIDES[1]]


def counted_pluses(first: int, second: int, *, rubric: Rubric) -> tuple[int, int]:
    """Return the plus signs of one comparison as they count: for analysis only which side has more, 1 to 0.

    Examples
    --------
    >>> counted_pluses(14, 1, rubric="standard"), counted_pluses(14, 1, rubric="analysis")
    ((14, 1), (1, 0))
    """
    return (first, second) if rubric == "standard" else (int(first > second), int(second > first))


# Documents of many records.


def _situations(document: Mapping[str, Any]) -> list[Any] | None:
    text = document.get("text")
    return situations_of(text) or None if isinstance(text, str) and len(document) == 1 else None


_LEFT_OUT = ("master_prompt_template", "debrief_prompt", "prompts", "iteration_index")
"""What a task repeats of the benchmark's own texts, and the number of its iteration, which is its `repeat`."""


def _transcripts(document: Mapping[str, Any]) -> list[Any] | None:
    runs = [run for run in document.values() if isinstance(run, Mapping) and "scenario_tasks" in run]
    return [task for run in runs for task in _tasks(run)] if runs else None


def _tasks(run: Mapping[str, Any]) -> Iterator[Any]:
    about = {"test_model": run.get("model_name", run.get("test_model")), "judge_model": run.get("judge_model")}
    about["truncate_for_rubric"] = run.get("truncate_for_rubric")
    by_iteration = run["scenario_tasks"]
    for iteration, tasks in by_iteration.items() if isinstance(by_iteration, Mapping) else ():
        number = _number(iteration)
        for situation, task in tasks.items() if isinstance(tasks, Mapping) else ():
            own = {name: one for name, one in about.items() if one is not None}
            if isinstance(task, Mapping):
                own = {**{name: one for name, one in task.items() if name not in _LEFT_OUT}, **own}
            yield {**own, "scenario_id": situation, "repeat": number}


def _number(iteration: Any) -> Any:
    """Return the number of an iteration, which files have as text; anything else as it is."""
    return int(iteration) if re.fullmatch("[0-9]{1,9}", str(iteration)) else iteration


def _verdicts(document: Mapping[str, Any]) -> list[Any] | None:
    about = document.get("__metadata__")
    if isinstance(about, Mapping):
        judged = about.get("global_pairwise_comparisons", [])
        return [_verdict(one) for one in judged] if isinstance(judged, list) else None
    # Of a large file a piece may have ratings alone.
    is_ratings = bool(document) and all(isinstance(one, Mapping) and "elo" in one for one in document.values())
    return [] if is_ratings else None


def _verdict(judged: Any) -> Any:
    pair = judged.get("pair") if isinstance(judged, Mapping) else None
    if not isinstance(pair, Mapping):
        return judged
    order, answer = str(judged.get("order", "")), judged.get("judge_response")
    is_first = order.startswith("A0493:test")
    stored = judged.get("plus_for_test"), judged.get("plus_for_other")
    found = {
        name: judged[name]
        for name in ("scenario_id", "error", "test_model_avg_response_length", "neighbor_model_avg_response_length")
        if judged.get(name) is not None
    }
    situation = str(judged.get("scenario_id"))
    found |= {"story": STORIES.get(situation, situation)}
    found |= {"test_model": pair.get("test_model"), "neighbor_model": pair.get("neighbor_model")}
    found |= {"repeat": _number(pair.get("iteration_index", 1)), "test_first": is_first}
    if None not in stored:
        found |= {"stored_plus_for_test": stored[0], "stored_plus_for_other": stored[1]}
        found |= {"plus_for_test": stored[0], "plus_for_other": stored[1]}
    if isinstance(answer, Mapping):
        both = plus_signs(answer)[:: 1 if is_first else -1]
        found |= {"plus_for_test": both[0], "plus_for_other": both[1]}
    if "plus_for_test" not in found and judged.get("fraction_for_test") is not None:
        found |= {"fraction_for_test": judged["fraction_for_test"]}
    return found


# Rules.


def _check_situation(situation: EQBench3Situation, findings: IssueCollector) -> None:
    """Report prompts without a word."""
    for place, prompt in enumerate(situation.prompts):
        if not prompt.strip():
            message = "a prompt without a word, to which a model has nothing to answer"
            findings.add(f"$.prompts[{place}]", "blank-prompt", "warning", prompt, message, "kept")


def _check_transcript(transcript: EQBench3Transcript, findings: IssueCollector) -> None:
    """Report a transcript without scores, and scores beyond the scale."""
    if not transcript.is_scored:
        found, message = transcript.status or None, transcript.error or "the judge's scores are missing"
        findings.add("$.status", "not-scored", "warning", found, message, "kept; it lowers coverage, not the score")
    for criterion, score in transcript.rubric_scores.items():
        if not 0 <= score <= 20:
            message = "a score is from 0 to 20; in the mean it counts as it is, as published"
            findings.add(f"$.rubric_scores.{criterion}", "beyond-scale", "warning", score, message, "kept")


_MOST_PLUSES = 40


def _check_verdict(verdict: EQBench3Verdict, findings: IssueCollector) -> None:
    """Report a verdict that cannot be counted, too many plus signs, and those that the file states otherwise."""
    if verdict.fault:
        findings.add("$", "no-verdict", "warning", None, verdict.fault, "kept; not counted")
    elif verdict.stored_plus_for_test is not None:
        given = verdict.plus_for_test or 0, verdict.plus_for_other or 0
        stored = verdict.stored_plus_for_test, verdict.stored_plus_for_other
        if stored not in (given, counted_pluses(*given, rubric=verdict.rubric)):
            message = f"the judge's answer has {given[0]} and {given[1]} plus signs, counted anew as published"
            findings.add("$.stored_plus_for_test", "other-pluses", "note", [*stored], message, "the answer counts")
    total = (verdict.plus_for_test or 0) + (verdict.plus_for_other or 0)
    if total > _MOST_PLUSES:
        message = f"plus signs of an answer are {_MOST_PLUSES} at most, 5 for each of 8 criteria"
        findings.add("$.plus_for_test", "beyond-scale", "warning", total, message, "kept; counted as published")


def _that_counts(first: EQBench3Verdict, second: EQBench3Verdict) -> Duplicate:
    """Decide that the first of two verdicts counts that can be counted."""
    if first.fault and not second.fault:
        return Duplicate(second_counts=True, why=", which has a verdict", severity="note")
    if second.fault and not first.fault:
        return Duplicate(why=", which has a verdict", severity="note")
    return first_counts(first, second)


# Display.


def _situation_parts(situation: EQBench3Situation) -> Iterator[Part]:
    facts = [("type", situation.type), ("category", situation.category or ""), ("title", situation.title or "")]
    yield Part(facts=[*facts, ("story", situation.story), ("note", situation.note or "")])
    yield Part(messages=[Message(speaker=f"Prompt {n}", text=one) for n, one in enumerate(situation.prompts, start=1)])


def _transcript_parts(transcript: EQBench3Transcript) -> Iterator[Part]:
    scores = [(name, f"{score:g}") for name, score in transcript.rubric_scores.items()]
    yield Part(facts=[("status", transcript.status), ("judge", transcript.judge_model or ""), *scores])
    speakers = {"user": "User", "assistant": "Model", "system": "System"}
    said = [
        Message(speaker=speakers[one.role], text=one.content, is_person=one.role == "user")
        for one in transcript.conversation_history
    ]
    debrief = transcript.debrief_response
    yield Part(messages=[*said, *([Message(speaker="Debrief", text=debrief)] if debrief else [])])


def _messages(transcript: EQBench3Transcript) -> Messages:
    said = [(one.role, one.content) for one in transcript.conversation_history]
    return [("assistant" if role == "assistant" else "user", content) for role, content in said if role != "system"]


SITUATION = record_kind(
    EQBench3Situation,
    noun="situation",
    plural="situations",
    keys=frozenset(("prompts",)),
    docs="eqbench3.md",
    unpack=_situations,
    check=_check_situation,
    prefer="scenario_prompts*.txt",
    cluster="story",
    demo="eqbench3/demo_situations.jsonl",
    parts=_situation_parts,
)
TRANSCRIPT = record_kind(
    EQBench3Transcript,
    noun="transcript",
    plural="transcripts",
    keys=frozenset(("rubric_scores", "conversation_history")),
    docs="eqbench3.md",
    unpack=_transcripts,
    check=_check_transcript,
    key=lambda transcript: (transcript.scenario_id, transcript.test_model, transcript.repeat),
    identity="situation, model and iteration",
    of=lambda transcript: transcript.scenario_id,
    demo="eqbench3/demo_transcripts.jsonl",
    parts=_transcript_parts,
    messages=_messages,
)
VERDICT = record_kind(
    EQBench3Verdict,
    noun="verdict",
    plural="verdicts",
    keys=frozenset(("neighbor_model", "__metadata__")),
    docs="eqbench3-pairs.md",
    unpack=_verdicts,
    check=_check_verdict,
    duplicate=_that_counts,
    identity="situation, iteration, models, order and judge",
    demo="eqbench3/demo_verdicts.jsonl",
)
