"""Spiral-Bench v1: conversations of models with a suggestible person, and a judge's findings in each reply.

The repository has all conversations of a model in one file, by run, file of prompts and prompt. Loading takes them
apart; several conversations of one prompt are repeats. The judge reads chunks of replies, and the whole at the end.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Strict

from attune_data.collection import record_kind
from attune_data.display import Message, Part
from attune_data.record import ByKey, Integer, Items, Length, Nested, Repeat, SnakeCaseRecord, Text, repeat_suffix
from attune_data.repair import IssueCollector

BEHAVIOURS = (
    "pushback", "de-escalation", "safe_redirection", "suggestions_to_seek_help", "delusion_reinforcement",
    "consciousness_claims", "emotional_or_narrative_escalation", "harmful_advice", "sycophancy_or_praise",
)  # fmt: skip
"""What the judge looks for in every chunk, the protective behaviours first."""

_Level = Annotated[float, Strict(), Field(ge=0, le=10)]


class SpiralSpan(SnakeCaseRecord):
    """Words of the model in which the judge sees a behaviour."""

    behaviour: str = Field(min_length=1, description="The behaviour.")
    text: Text = Field("", description="The words, as the judge quotes them.")
    intensity: Length | None = Field(None, description="How strong it is, 1-3; null where the judge gave no number.")


class SpiralChunk(SnakeCaseRecord):
    """The judge's findings in one chunk of a conversation; without values the judge's answer could not be read."""

    name: str = Field(description="Name of the chunk, such as `chunk3`.")
    replies: Items[Integer] = Field((), description="Which replies of the model it has, counted from 0.")
    values: ByKey[Length] = Field({}, description="By behaviour the sum of the intensities of its spans.")
    spans: Items[SpiralSpan] = Field((), description="What the judge quotes.")
    reasoning: Text = Field("", description="The judge's whole answer.")
    error: str | None = Field(None, description="Why there are no findings.")


class SpiralFinal(SnakeCaseRecord):
    """The judge's ratings of a whole conversation."""

    off_rails: _Level | None = Field(None, description="How far the conversation went off the rails, 0-10.")
    safety: _Level | None = Field(None, description="How safe the model's replies were, 0-10.")
    social_dexterity: _Level | None = Field(None, description="How skilfully the model dealt with the person, 0-10.")


class SpiralMessage(SnakeCaseRecord):
    """A message of a conversation."""

    role: Literal["user", "assistant"] = Field(description="Who speaks: `user`, the person, or `assistant`, the model.")
    content: Text = Field("", description="The text.")


class SpiralChatlog(SnakeCaseRecord):
    """One conversation of a model with the simulated person, and what the judge found in it."""

    column_names: ClassVar[Mapping[str, str]] = {"evaluated_model": "model"}

    prompt_id: str = Field(min_length=1, description="Id of the prompt, the person's first message.")
    category: str = Field(min_length=1, description="Category of the prompt, such as `mania_psychosis`.")
    evaluated_model: str = Field(min_length=1, description="The model under test.")
    user_model: str | None = Field(None, description="The model that plays the person.")
    repeat: Repeat = Field(1, description="Which conversation of this prompt in its file; from 1.")
    transcript: Items[SpiralMessage] = Field((), description="The messages, the person first.")
    completed: Annotated[bool, Strict()] = Field(True, description="Whether the conversation had all its turns.")
    judgements: Items[SpiralChunk] = Field((), description="The judge's findings, by chunk.")
    final_judgement: Nested[SpiralFinal] = Field(SpiralFinal(), description="The judge's ratings of the whole.")
    stored_score: Length | None = Field(None, description="A score of the model as its file states it; never used.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @property
    def ratings(self) -> dict[str, float | None]:
        """The ratings of the final judgement, by name."""
        return {name: getattr(self.final_judgement, name) for name in SpiralFinal.model_fields}

    @property
    def id(self) -> str:
        """``prompt/model``, and the number of a further conversation."""
        return f"{self.prompt_id}/{self.evaluated_model}{repeat_suffix(self.repeat)}"


def _chatlogs(document: Mapping[str, Any]) -> list[Any] | None:
    found: list[Any] = []
    counts: Counter[tuple[str, Any]] = Counter()
    for run in document.values():
        by_file = [one for one in run.values() if isinstance(one, Mapping)] if isinstance(run, Mapping) else []
        begin = len(found)
        for prompt, conversations in (pair for one in by_file for pair in one.items()):
            for one in conversations if isinstance(conversations, list) else ():
                if isinstance(one, Mapping) and "evaluated_model" in one:
                    counts[prompt, named := str(one["evaluated_model"])] += 1
                    judged = _chunks(one["judgements"]) if "judgements" in one else ()
                    found.append({"prompt_id": prompt, **one, "judgements": judged, "repeat": counts[prompt, named]})
        with suppress(LookupError, TypeError):
            found[begin]["stored_score"] = run["__meta__"]["scoring_summary"][0]["score_0_100"]
    return found or None


def _chunks(judged: Any) -> Any:
    """Return chunks as a record has them; what is no object stays as it is, and is reported."""
    if not isinstance(judged, Mapping):
        return judged
    return [_chunk(name, judged[name]) for name in sorted(judged, key=lambda name: (len(name), name))]


def _chunk(name: str, judged: Any) -> Any:
    if not isinstance(judged, Mapping):
        return judged
    kept = {"assistant_turn_indexes": "replies", "raw_text": "reasoning", "error": "error"}
    found: dict[str, Any] = {"name": name} | {own: judged[key] for key, own in kept.items() if key in judged}
    if isinstance(values := judged.get("metrics"), Mapping):
        found["values"] = {_behaviour(key): value for key, value in values.items()}
    if isinstance(quoted := judged.get("full_metrics"), Mapping):
        pairs = ((key, one) for key, spans in quoted.items() for one in (spans if isinstance(spans, list) else [spans]))
        found["spans"] = [_span(_behaviour(key), one) for key, one in pairs]
    return found


def _span(behaviour: str, quoted: Any) -> dict[str, Any]:
    text, intensity = quoted if isinstance(quoted, list) and len(quoted) == 2 else (quoted, None)
    is_number = isinstance(intensity, int | float) and not isinstance(intensity, bool) and 0 <= intensity < 1e15
    stated = {} if is_number or intensity is None else {"stated": str(intensity)}
    return {"behaviour": behaviour, "text": str(text or ""), "intensity": intensity if is_number else None, **stated}


def _behaviour(name: str) -> str:
    """Return the name of a behaviour as the repository's scoring spells it."""
    return "_".join(name.lower().replace("/", " ").split())


def _check(chatlog: SpiralChatlog, findings: IssueCollector) -> None:
    """Report a stored score, chunks without findings or with others than expected, and a missing final judgement."""
    if (stored := chatlog.stored_score) is not None:
        message = "`__meta__.scoring_summary` of the file states it; it is older than the published score"
        findings.add("$.stored_score", "stored-score", "warning", stored, message, "kept; never used")
    for place, chunk in enumerate(chatlog.judgements):
        path, sums = f"$.judgements[{place}]", Counter[str]()
        if not chunk.values:
            message = "the judge's answer could not be read; counts without any behaviour, as published"
            findings.add(path, "chunk-not-judged", "warning", chunk.error or chunk.name, message, "kept")
        elif odd := sorted(chunk.values.keys() ^ {*BEHAVIOURS}):
            message, consequence = "expected the nine behaviours", "missing: 0; unknown: left out"
            findings.add(f"{path}.values", "behaviours-of-chunk", "warning", odd, message, consequence)
        for number, span in enumerate(chunk.spans):
            sums[span.behaviour] += span.intensity or 0  # type: ignore[assignment]  # also of floats
            if stated := (span.model_extra or {}).get("stated"):
                own = f"{path}.spans[{number}].intensity"
                findings.add(own, "intensity-of-span", "warning", stated, "no number from 0", "left out of the span")
        for name, value in chunk.values.items():
            if chunk.spans and abs(sums[name] - value) > 1e-9:
                message = f"the intensities of its spans add up to {sums[name]:g}"
                findings.add(f"{path}.values.{name}", "sum-of-spans", "warning", value, message, "the value counts")
    if None in chatlog.ratings.values():
        message = "the judge's ratings of the whole conversation are missing"
        findings.add("$.final_judgement", "not-scored", "warning", None, message, "kept; it has no part in the score")


def _parts(chatlog: SpiralChatlog) -> Iterator[Part]:
    rated = [(name.replace("_", " "), f"{one:g} of 10") for name, one in chatlog.ratings.items() if one is not None]
    yield Part(facts=[("category", chatlog.category), ("person", chatlog.user_model or ""), *rated])
    notes: dict[int, list[tuple[str, str]]] = {}
    for chunk in chatlog.judgements:
        quoted = [(f"{one.behaviour} {one.intensity or ''}".strip().replace("_", " "), one.text) for one in chunk.spans]
        notes.setdefault(max(chunk.replies, default=-1), []).extend(quoted)
    messages, replies = [], 0
    for one in chatlog.transcript:
        if one.role == "user":
            messages.append(Message(speaker="Person", text=one.content, is_person=True))
        else:
            messages.append(Message(speaker="Model", text=one.content, notes=notes.get(replies, ())))
            replies += 1
    yield Part(messages=messages)


CHATLOG = record_kind(
    SpiralChatlog,
    noun="chatlog",
    plural="chatlogs",
    keys=frozenset(("evaluated_model", "final_judgement")),
    is_other=lambda document: "scenario_id" in document,
    docs="spiralbench.md",
    unpack=_chatlogs,
    check=_check,
    key=lambda chatlog: (chatlog.prompt_id, chatlog.evaluated_model, chatlog.repeat),
    identity="prompt, model and repeat",
    of=lambda chatlog: chatlog.prompt_id,
    demo="spiralbench/demo_chatlogs.jsonl",
    parts=_parts,
    messages=lambda chatlog: [(one.role, one.content) for one in chatlog.transcript],
)
