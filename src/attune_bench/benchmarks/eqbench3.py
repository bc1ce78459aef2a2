"""EQ-Bench 3: how a model is asked and judged, transcripts scored by the rubric, ratings from verdicts on two of them.

The unit is the situation, and the cluster is the story, which a role-play and its analyses share. Iterations are
repeats. A transcript that failed, or whose scores could not be read, lowers coverage and not the score.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, inf, isfinite
from statistics import fmean
from typing import Any, ClassVar

from attune_bench.runner.calls import TEXT, Call, Decoding, Message, Schema, choice_schema, message, object_schema
from attune_bench.runner.judge import Judge
from attune_bench.runner.pairs import Match, Pairing
from attune_bench.runner.task import (
    TRIES,
    Fields,
    ModelSettings,
    Task,
    call_to_make,
    parse_outcomes,
    read_answer,
)
from attune_bench.scores import pairwise
from attune_bench.scores.records import score_items
from attune_bench.scores.table import ScoreTable
from attune_data.comparisons import Comparison
from attune_data.eqbench3 import (
    SIDES,
    STORIES,
    VERDICT,
    EQBench3Situation,
    EQBench3Transcript,
    EQBench3Verdict,
    counted_pluses,
    plus_signs,
    read_sections,
)
from attune_data.text import listed, plural
from attune_metrics.eqbench3 import CRITERIA, METRICS, SATURATION, STYLE, PlusCounts, eqbench3_task_score
from attune_metrics.metric import MetricInputError

_RUBRIC = METRICS[0].name
_COUNTING = frozenset((*CRITERIA["standard"], *CRITERIA["analysis"]))


_TEMPLATES = {"role-play": "role_play", "drafting": "drafting", "analysis": "analysis"}
_HEADINGS = {
    "thinking_feeling": "I'm thinking & feeling", "their_thinking_feeling": "They're thinking & feeling",
    "response": "My response", "perspective_taking": "Perspective-taking", "draft_brainstorming": "Draft brainstorming",
    "draft": "Draft",
}  # fmt: skip
_REASONING = "chain_of_thought_reasoning"
_NOTE = "Answer with the JSON object alone."
_OF_TURNS, _OF_DEBRIEF = 0.7, 0.5  # temperatures
_SHORTEST = 100  # characters of an answer, of which a judged transcript has one at least


@dataclass(frozen=True, slots=True)
class EQBench3Settings(ModelSettings):
    """How a model is asked: `ModelSettings`, and the judges of the rubric; of several judges the mean counts."""

    temperature: float | None = _OF_TURNS
    max_tokens: int | None = 12_000
    judge_model: tuple[str, ...] = ()

    bundled: ClassVar[tuple[str, str]] = ("attune_bench.benchmarks", "eqbench3-v1")
    roles: ClassVar[tuple[str, ...]] = ("judge",)

    @property
    def decoding(self) -> dict[str, Decoding]:
        """How responses are decoded, by role; judges are asked at temperature 0, as published."""
        found = dict(ModelSettings.decoding.__get__(self))
        if "judge" in found:
            found["judge"] = replace(found["judge"], temperature=0.0, max_tokens=8_000)
        return found


@dataclass(frozen=True, slots=True)
class RubricAnswer:
    """The judge's answer: its reasoning, then a number for each criterion, which is not clamped, as published.

    Examples
    --------
    >>> RubricAnswer(("warmth", "depth_of_insight")).read({"warmth": "15/20", "depth_of_insight": 12, "eq": "high"})
    ({'warmth': 15.0, 'depth_of_insight': 12.0}, 1)
    """

    criteria: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        """The JSON schema of the answer."""
        return object_schema({_REASONING: TEXT, **{name: {"type": "number"} for name in self.criteria}})

    @property
    def form(self) -> str:
        """The answer in words, for the request."""
        return _form(self.criteria, "number from 0 to 20")

    def read(self, said: Fields) -> tuple[Fields, int]:
        """Return the numbers by criterion, of a text its first number, and how many other values there are."""
        found = {name: number for name in self.criteria if (number := _first_number(said.get(name))) is not None}
        return found, len(said.keys() - {_REASONING}) - len(found)


def _form(criteria: Iterable[str], value: str) -> str:
    """Return the answer of a judge in words: the reasoning, and a value of each criterion."""
    values = ",\n".join(f'  "{name}": {value}' for name in criteria)
    return f'{{\n  "{_REASONING}": "your reasoning",\n{values}\n}}'


def _first_number(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if isfinite(value) else None
    digits = re.search(r"\b\d{1,9}(\.\d{1,9})?\b", value) if isinstance(value, str) else None
    return None if digits is None else float(digits[0])


def _judge(situation: EQBench3Situation, settings: EQBench3Settings) -> Judge:
    criteria = (*CRITERIA[situation.rubric], *(STYLE if situation.rubric == "standard" else ()))
    return Judge(models=settings.judge_model, answer=RubricAnswer(criteria), note=_NOTE)


def _shown(situation: EQBench3Situation, role: str, content: str, limits: Sequence[float] = (inf,) * 3) -> str:
    """Return a message as the judge reads it: of a role-play or draft its sections, empty where there is no heading."""
    if role == "assistant" and situation.type != "analysis":
        sections = read_sections(content, situation.type).items()
        cut = [(name, _cut(text, limit)) for (name, text), limit in zip(sections, limits, strict=True)]
        content = "\n\n".join(f"{_HEADINGS[name]}\n\n{section}" for name, section in cut)
    return f"{role.capitalize()}:\n{content}\n---"


def _cut(text: str, limit: float) -> str:
    return text if len(text) <= limit else f"{text[: int(limit)]}... [truncated]"


def _without_signs(text: str) -> str:
    """Return a text for the judge without the characters ``*`` and ``#``, as published."""
    return text.replace("*", "").replace("#", "")


def _request(
    situation: EQBench3Situation, settings: EQBench3Settings, said: Iterable[Message], debrief: str
) -> list[Message]:
    """Return the request to the judge of the rubric."""
    texts = {"transcript": "\n".join(_shown(situation, one["role"], one["content"]) for one in said)}
    answer = _judge(situation, settings).answer
    assert isinstance(answer, RubricAnswer)  # noqa: S101
    if situation.type == "analysis":
        asked = settings.render("rubric_analysis", form=answer.form, **texts)
    else:
        asked = settings.render("rubric", form=answer.form, debrief=debrief, **texts)
    return [message("user", _without_signs(asked))]


def _said(
    situation: EQBench3Situation, settings: EQBench3Settings, answers: Mapping[str, str]
) -> Iterator[tuple[str, list[Message]]]:
    """Yield the id of each call to the model with its messages, the debrief last; missing answers are empty."""
    said: list[Message] = []
    for number, prompt in enumerate(situation.prompts, start=1):
        name = f"turn-{number}"
        said.append(message("user", settings.render(_TEMPLATES[situation.type], prompt=prompt)))
        yield name, [*said]
        said.append(message("assistant", answers.get(name, "")))
    if situation.type != "analysis":
        yield "debrief", [*said, message("user", settings.render("debrief"))]


def _calls(
    situation: EQBench3Situation, settings: EQBench3Settings, answers: Mapping[str, str] | None
) -> Sequence[Call]:
    found = []
    given = answers or {}
    for place, (name, said) in enumerate(_said(situation, settings, given)):
        own = _of_debrief(settings) if name == "debrief" else {}
        found.append(Call(name, settings.model, "model", tuple(said), pending=0 if given else place, decoding=own))
        if answers is not None and name not in answers:
            return found
    judge, pending = _judge(situation, settings), len(found)
    request = _request(situation, settings, _history(situation, settings, given), given.get("debrief", ""))
    if answers is None:
        return [*found, *judge.calls("rubric", request, pending=pending)]
    return [*found, *(judge.calls_to_make("rubric", request, answers) if _is_judged(answers) else ())]


def _of_debrief(settings: EQBench3Settings) -> dict[str, Any]:
    """Return how the debrief is decoded otherwise than turns: as published, without ``min_p`` and less at random."""
    own: dict[str, Any] = {} if settings.temperature != _OF_TURNS else {"temperature": _OF_DEBRIEF}
    if "min_p" in settings.extra_body:
        own["extra_body"] = {name: value for name, value in settings.extra_body.items() if name != "min_p"}
    return own


def _is_judged(answers: Mapping[str, str]) -> bool:
    return _are_judged(text for name, text in answers.items() if name.startswith("turn-"))


def _are_judged(texts: Iterable[str]) -> bool:
    """Tell whether one of the answers of a transcript is long enough for a judge."""
    return any(len(text.strip()) >= _SHORTEST for text in texts)


def _history(situation: EQBench3Situation, settings: EQBench3Settings, answers: Mapping[str, str]) -> list[Message]:
    """Return the messages of all turns, without the debrief."""
    last = f"turn-{situation.turns}"
    said = next(said for name, said in _said(situation, settings, answers) if name == last)
    return [*said, message("assistant", answers.get(last, ""))]


def _assemble(
    situation: EQBench3Situation, answers: Mapping[str, str], settings: EQBench3Settings
) -> EQBench3Transcript:
    history = _history(situation, settings, answers)
    judgements = _judge(situation, settings).read("rubric", answers)
    scores = judgements.mean
    document: dict[str, Any] = {"scenario_id": situation.id, "test_model": settings.model, "status": "completed"}
    if settings.judge_model:
        why = "the judge's answer could not be read" if _is_judged(answers) else f"no answer of {_SHORTEST} characters"
        document |= {"judge_model": ", ".join(settings.judge_model), "status": "rubric_scored" if scores else "error"}
        document |= {} if scores else {"error": why}
    said = [one["content"] for one in history if one["role"] == "assistant"]
    document |= {
        "conversation_history": history,
        "parsed_responses": [{**read_sections(text, situation.type), "raw": text} for text in said],
        "rubric_scores": scores,
        "calls": judgements.calls if _is_judged(answers) else {},
    }
    if situation.type != "analysis":
        document["debrief_response"] = answers.get("debrief", "")
    return EQBench3Transcript.model_validate(document)


def _answers_read(transcript: Mapping[str, Any]) -> Iterator[bool]:
    """Yield for each answer whether it has a section that is not empty, or any text; then of the judge's."""
    for parsed in transcript["parsed_responses"]:
        yield any(text for name, text in parsed.items() if name != "raw" or len(parsed) == 1)
    yield from parse_outcomes(transcript)


TASK: Task[EQBench3Situation, EQBench3Settings] = Task(
    name="eqbench3",
    calls=_calls,
    assemble=_assemble,
    settings=EQBench3Settings,
    unit="situation",
    fields=lambda _, settings, source: {**settings.provenance(), "provider": source.providers["model"]},
    answers_read=_answers_read,
)
"""The turns of a situation one after the other, the debrief, then the judge of the rubric."""


# Comparisons in pairs.

_PAIR_CRITERIA = {
    "standard": (
        "demonstrated_empathy", "pragmatic_ei", "depth_of_insight", "social_dexterity", "emotional_reasoning",
        "appropriate_validating_challenging", "message_tailoring", "overall_eq",
    ),
    "analysis": (
        "depth_of_insight", "authentic_eu", "causal_attribution", "theory_of_mind", "incisiveness",
        "reading_between_lines", "correctness", "overall_eq",
    ),
}  # fmt: skip
_MOST_PLUSES = 5
# In characters, as published: the three sections of an answer, the debrief, an analysis.
_SECTION_LIMITS, _DEBRIEF_LIMIT, _ANALYSIS_LIMIT = (2_200, 1_600, 1_600), 4_000, 6_000


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """The judge's answer about two transcripts: its reasoning, then for each criterion the better side's plus signs.

    Examples
    --------
    >>> PairAnswer(("pragmatic_ei", "overall_eq")).read({"pragmatic_ei": "A0493++", "overall_eq": "neither"})
    ({'pragmatic_ei': 'A0493++'}, 1)
    """

    criteria: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        """The JSON schema of the answer."""
        better = choice_schema(f"{side}{'+' * count}" for side in SIDES for count in range(1, _MOST_PLUSES + 1))
        return object_schema({_REASONING: TEXT, **dict.fromkeys(self.criteria, better)})

    @property
    def form(self) -> str:
        """The answer in words, for the request."""
        return _form(self.criteria, f'"{" or ".join(SIDES)}, then one to five +"')

    def read(self, said: Fields) -> tuple[Fields, int]:
        """Return the values that name a side, of any key but the reasoning, as published, and how many others."""
        found = {
            name: value
            for name, value in said.items()
            if name != _REASONING and isinstance(value, str) and any(side in value for side in SIDES)
        }
        return found, len(said.keys() - {_REASONING}) - len(found)


def _pair_answer(match: Match) -> PairAnswer:
    return PairAnswer(_PAIR_CRITERIA[match.unit.rubric])


def _pair_request(match: Match, settings: EQBench3Settings) -> str:
    situation, form = match.unit, _pair_answer(match).form
    if situation.type == "analysis":
        texts = [_cut(next(iter(_answers(one)), ""), _ANALYSIS_LIMIT) for one in (match.first, match.second)]
        first, second = map(_without_signs, texts)
        analysed = _without_signs("\n\n".join(situation.prompts))
        return settings.render("pairs_analysis", transcript=analysed, first=first, second=second, form=form)
    first, second = (_without_signs(_played(situation, one)) for one in (match.first, match.second))
    note = situation.note or "There are no notes on this situation."
    return settings.render("pairs", first=first, second=second, note=note, form=form)


def _played(situation: EQBench3Situation, transcript: EQBench3Transcript) -> str:
    """Return a transcript with its debrief as the judge of pairs reads it, cut to the length of all transcripts."""
    said = [one for one in transcript.conversation_history if one.role != "system"]
    shown = [_shown(situation, one.role, one.content, _SECTION_LIMITS) for one in said]
    return "\n".join([*shown, f"Debrief:\n{_cut(transcript.debrief_response or '', _DEBRIEF_LIMIT)}"])


def _answers(transcript: EQBench3Transcript) -> list[str]:
    return [one.content for one in transcript.conversation_history if one.role == "assistant"]


def _why_not_judged(match: Match) -> str:
    """Return why a pair is not judged, as published; empty where it is."""
    are_judged = all(_are_judged(_answers(one)) for one in (match.first, match.second))
    return "" if are_judged else f"{match.id}: a transcript without an answer of {_SHORTEST} characters"


def _pair_calls(match: Match, settings: EQBench3Settings, answers: Mapping[str, str] | None) -> Sequence[Call]:
    answer = _pair_answer(match)
    request = message("user", _pair_request(match, settings))
    first = Call("pair", settings.model, "model", (request,), answer.schema, "pair")
    call = call_to_make(first, answers or {}, answer.read, note=_NOTE, tries=TRIES[settings.answer_format])
    return [call] if call else []


def _pair_verdict(match: Match, answers: Mapping[str, str], settings: EQBench3Settings) -> EQBench3Verdict:
    reading = read_answer(answers, "pair", _pair_answer(match).read)
    first, second = plus_signs(reading.fields)
    lengths = [fmean(map(len, said)) if (said := _answers(one)) else None for one in (match.first, match.second)]
    found = {"plus_for_test": first, "plus_for_other": second, "judge_response": reading.fields}
    document = {
        "scenario_id": match.unit.id, "test_model": match.models[0], "neighbor_model": match.models[1],
        "repeat": match.repeat, "story": match.unit.story, "test_first": True, "judge_model": settings.model,
        "test_model_avg_response_length": lengths[0], "neighbor_model_avg_response_length": lengths[1],
        **(found if reading.fields else {"error": "the judge's answer could not be read"}),
        "calls": {"pair": {"outcome": reading.outcome, "dropped": reading.dropped}},
        "synthetic": match.unit.synthetic,
    }  # fmt: skip
    return EQBench3Verdict.model_validate(document)


def _judge_of_pairs(settings: EQBench3Settings) -> EQBench3Settings:
    """Return how the judge of a run is asked about pairs, at temperature 0 as published."""
    if len(settings.judge_model) != 1:
        raise ValueError("--pairs needs one judge, which reads the answers of both models: --judge-model MODEL")
    return replace(
        settings, model=settings.judge_model[0], judge_model=(), temperature=0.0, max_tokens=8_000,
        reasoning_effort=None, extra_body={},
    )  # fmt: skip


def row(transcript: EQBench3Transcript) -> tuple[str, None, str]:
    """Return the model, no condition, and the situation of a transcript: its row in the scores."""
    return transcript.test_model, None, transcript.scenario_id


def _values(situation: EQBench3Situation, transcript: EQBench3Transcript) -> dict[str, list[float | None]]:
    """Return the score of a transcript and its criteria; None of one that was not scored."""
    scores: Mapping[str, float] = transcript.rubric_scores if transcript.is_scored else {}
    names = (*CRITERIA[situation.rubric], *(STYLE if situation.rubric == "standard" else ()))
    found = {f"eqbench3_{name}": [_on_scale(scores.get(name))] for name in names}
    return {_RUBRIC: [_task_score(situation, scores)], **found}


def _task_score(situation: EQBench3Situation, scores: Mapping[str, float]) -> float | None:
    counting = _COUNTING if situation.rubric == "standard" else {*CRITERIA["analysis"]}
    if scores.keys().isdisjoint(counting):
        return None
    return _on_scale(eqbench3_task_score(scores, rubric=situation.rubric))


def _on_scale(score: float | None) -> float | None:
    return score if score is not None and 0 <= score <= 20 else None


def score(
    situations: Iterable[EQBench3Situation],
    transcripts: Iterable[EQBench3Transcript],
    *,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Score transcripts by the rubric, as published: the mean of the criteria that count, then the mean over them.

    Parameters
    ----------
    situations : iterable of EQBench3Situation
        The situations. Transcripts of others are left out, and a note says so.
    transcripts : iterable of EQBench3Transcript
        Transcripts of any number of models and iterations.
    progress : callable, optional
        Called with the number of transcripts in the end.

    Returns
    -------
    ScoreTable
        The metric ``eqbench3_rubric``, 0 to 20, and one for each criterion. Criteria of style have no direction. Null
        for a transcript that was not scored; a note names the models that have one.

    Raises
    ------
    MetricInputError
        As `attune_bench.scores.records.score_items`.
    """
    known, given = {one.id: one for one in situations}, list(transcripts)
    table = score_items(
        known.values(), given, _values, row=row, metrics=METRICS, cluster="story", traits=("type", "category"),
        words={"unit": "situation", "cluster": "story", "primary": _RUBRIC}, progress=progress,
    )  # fmt: skip
    own = [one for one in given if one.scenario_id in known]
    notes = []
    tasks: dict[str, list[float]] = {}
    without: dict[str, list[str]] = {}
    for one in own:
        value = _task_score(known[one.scenario_id], one.rubric_scores if one.is_scored else {})
        if value is not None:
            tasks.setdefault(one.test_model, []).append(5 * value)
        else:
            why = "whose scores have no mean from 0 to 20" if one.is_scored else "without the judge's scores"
            without.setdefault(why, []).append(one.test_model)
    for why, models in sorted(without.items()):
        notes.append(f"Not scored: {plural(len(models), 'transcript')} {why}, of {listed(sorted({*models}), 6)}.")
    if table.repeats is not None and tasks:
        means = ", ".join(f"{model} {fsum(found) / len(found):.1f}" for model, found in sorted(tasks.items()))
        notes.append(f"Means over all transcripts, as published, in which each iteration counts once: {means}.")
    return table.note(*notes) if notes else table


def plus_counts(verdicts: Iterable[EQBench3Verdict]) -> list[PlusCounts]:
    """Return the plus signs of the verdicts that can be counted, in their order, those of analysis as 1 and 0.

    Examples
    --------
    >>> about = {"scenario_id": "401", "test_model": "a", "neighbor_model": "b", "test_first": True}
    >>> plus_counts([EQBench3Verdict(**about, plus_for_test=14, plus_for_other=1)])
    [PlusCounts(test='a', other='b', scenario='401', iteration='1', plus_test=1, plus_other=0, fraction=None)]
    """
    found = []
    for one in verdicts:
        if one.fault:
            continue
        told = one.test_model, one.neighbor_model, one.scenario_id, str(one.repeat)
        if one.plus_for_test is None or one.plus_for_other is None:
            found.append(PlusCounts(*told, None, None, one.fraction_for_test))
        else:
            counts = counted_pluses(one.plus_for_test, one.plus_for_other, rubric=one.rubric)
            found.append(PlusCounts(*told, *counts))
    return found


def _margin(counts: PlusCounts) -> float:
    """Return the difference of plus signs; of a fraction the difference that it stands for."""
    if counts.plus_test is None or counts.plus_other is None:
        return round(2 * SATURATION * ((counts.fraction or 0.0) - 0.5), 9)
    return counts.plus_test - counts.plus_other


def as_comparisons(verdicts: Iterable[EQBench3Verdict]) -> list[Comparison]:
    """Return the verdicts that can be counted as comparisons in pairs, with the difference of plus signs as margin.

    The unit is the situation, the cluster its story, the iteration a repeat.

    Examples
    --------
    >>> about = {"scenario_id": "401", "test_model": "a", "neighbor_model": "b", "test_first": False}
    >>> [one] = as_comparisons([EQBench3Verdict(**about, plus_for_test=14, plus_for_other=1)])
    >>> one.outcome, one.margin, one.shown, one.cluster
    (1.0, 1, 'b', '303')
    """
    held = [one for one in verdicts if not one.fault]
    return [
        Comparison(
            unit=one.scenario_id, a=one.test_model, b=one.neighbor_model, margin=_margin(counts),
            first=one.test_model if one.test_first else one.neighbor_model,
            length_a=one.test_model_avg_response_length, length_b=one.neighbor_model_avg_response_length,
            cluster=one.story or STORIES.get(one.scenario_id, one.scenario_id), repeat=one.repeat,
            judge=one.judge_model, synthetic=one.synthetic,
        )
        for one, counts in zip(held, plus_counts(held), strict=True)
    ]  # fmt: skip


def score_pairs(
    verdicts: Iterable[EQBench3Verdict],
    *,
    margins: pairwise.Margins = "verdicts",
    ties: pairwise.Ties = "half",
    penalty: float | None = None,
    anchors: Mapping[str, float] | None = None,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Rate models by verdicts, in one fit to which their order does not matter.

    Parameters
    ----------
    verdicts : iterable of EQBench3Verdict
        Verdicts on any number of models. Those that cannot be counted are left out, and a note says so.
    margins, ties, penalty, anchors
        As for `attune_bench.scores.pairwise.score`.
    progress : callable, optional
        Called with the number of verdicts in the end.

    Returns
    -------
    ScoreTable
        The metrics ``rating`` and ``win_rate``.

    Raises
    ------
    MetricInputError
        Where no verdict can be counted, or the ratings cannot be fitted.
    """
    given = list(verdicts)
    comparisons = as_comparisons(given)
    if not comparisons:
        raise MetricInputError(f"none of {plural(len(given), 'verdict')} can be counted: see the issues of the file")
    table = pairwise.score(comparisons, margins=margins, ties=ties, penalty=penalty, anchors=anchors, progress=progress)
    notes = []
    if left_out := len(given) - len(comparisons):
        notes.append(f"Left out: {plural(left_out, 'verdict')} that cannot be counted.")
    orders = Counter((one.unit, one.repeat, one.judge, *sorted((one.a, one.b))) for one in comparisons)
    if single := sum(count == 1 for count in orders.values()):
        notes.append(f"Judged in one order only: {single} of {plural(len(orders), 'pair')} of transcripts.")
    about = {"unit": "situation", "cluster": "story"}
    noted = table.note(*notes) if notes else table
    return replace(noted, provenance=noted.provenance.model_copy(update=about))


PAIRING: Pairing[EQBench3Settings] = Pairing(
    task=Task(
        name="eqbench3-pairs",
        calls=_pair_calls,
        assemble=_pair_verdict,
        settings=EQBench3Settings,
        unit="comparison",
        fields=lambda _, settings, source: {**settings.provenance(), "provider": source.providers["model"]},
        unusable=_why_not_judged,
    ),
    settings=_judge_of_pairs,
    kind=VERDICT,
    comparisons=as_comparisons,
)
"""One judge compares the transcripts of two models, called A0493 and A0488, in both orders."""
