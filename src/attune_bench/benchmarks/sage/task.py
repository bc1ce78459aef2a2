"""Playing SAGE: a model talks with a simulated person, whose emotion each of its replies moves.

The requests of a conversation
------------------------------
The person begins with the profile's ``first_talk`` at an emotion of 40. A round is a reply of the model; before each
but the first the simulator is asked twice, in one message each: how the person takes the last reply (``planning``: four
texts and the change of the emotion), then what the person says (``reply``), in view of these texts and of the band of
the emotion. The last reply is not judged. So there are at most 10 calls of the model and 18 of the simulator.

The model sees its instructions and what was said, nothing else: neither profile nor emotion, and of its own replies the
words without the thinking. The simulator sees the profile's ``player`` and ``scene``, which has the hidden topic, and
what was said.

The end of a conversation
-------------------------
It ends after words of the person with a goodbye in them, at an emotion of 100 or below 10, and after the last round.
``ended_by`` is ``simulator_stop``, ``max_rounds``; ``parse_failed`` where no answer of the simulator could be read in
three tries, ``error`` where the model's reply ended early twice. The last two have an ``error`` and no score.

The protocol follows SAGE's released code; ``docs/comparability.md`` has the differences, call by call.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from attune_bench.runner.calls import Call, message
from attune_bench.runner.episodes import (
    EpisodeFolder,
    EpisodeSettings,
    Language,
    Steps,
    read_output,
    read_reply_to,
    reply_to,
    without_thinking,
)
from attune_bench.runner.task import AnswerFormat, Task
from attune_data.sage import FAILURE, SUCCESS, SageDialogue, SageProfile, emotion_state, missing_text
from attune_data.text import without_surrogates

START = 40
MAX_ROUNDS = 10
_MOST = 10  # a change, up or down

# What the person is called in the JSON of a conversation, and what a goodbye is: in Chinese as published.
_PERSON: Mapping[Language, str] = {"zh": "你", "en": "you"}
_GOODBYE: Mapping[Language, re.Pattern[str]] = {
    "zh": re.compile("再见|拜拜"),
    "en": re.compile(r"再见|拜拜|\b(?:good)?bye\b", re.IGNORECASE | re.ASCII),
}


@dataclass(frozen=True, slots=True)
class SageSettings(EpisodeSettings):
    """Who talks with whom, and how.

    Parameters
    ----------
    **settings
        As of `attune_bench.runner.episodes.EpisodeSettings`. Answers are free text with labels, as published.

    Examples
    --------
    >>> from attune_data import load_records
    >>> from attune_data.sage import PROFILE
    >>> settings = SageSettings("vendor/model", "vendor/person")
    >>> [settings.language_of(profile) for profile in load_records("demo", PROFILE)]
    ['en', 'en', 'zh']
    """

    bundled: ClassVar[tuple[str, str]] = ("attune_bench.benchmarks.sage", "sage-v1")

    _: KW_ONLY
    max_rounds: int = MAX_ROUNDS
    answer_format: AnswerFormat = "free"

    def __post_init__(self) -> None:
        EpisodeSettings.__post_init__(self)
        if self.answer_format != "free":
            raise ValueError(f"answer_format is {self.answer_format!r}; SAGE asks for free text with labels only")

    def language_of(self, profile: SageProfile) -> Language:
        """Return the language of the instructions for a profile."""
        return self.language_for((profile.player, profile.scene, profile.first_talk))


# Bold and headings belong to a label, and a colon may be a wide one.
_LABEL = r"[#*]*[ \t]*(?<![A-Za-z])({})[^\w\n:\uff1a]{{0,9}}[:\uff1a]\**"
_PLANNING = re.compile(_LABEL.format("Content|Target ?Completion|Activity|Analyse|Change"))
_REPLY = re.compile(_LABEL.format("Thinking|Response"))
_TEXTS = {"content": "Content", "TargetCompletion": "TargetCompletion", "activity": "Activity", "analyse": "Analyse"}
# A dash behind a number is a range. No more digits than are needed to see that a number is beyond the greatest change.
_NUMBER = re.compile(r"(?:(?<!\d)(?<!\d )([+\-\u2212\u2013\u2014\uff0b\uff0d])[ \t]*)?(\d{1,3})\d*([.,/]\d+)?")
_BARE = re.compile(r"\A[\W_]*\d")
_ECHO = re.compile(r"\A\[[^\]\n]*\]\s*\n")
_BRACKETS = re.compile(r"\A\[([^\[\]]*)\]\Z")
_QUOTES = re.compile("\\A\u201c([^\u201c\u201d]*)\u201d\\Z")


def _sections(answer: str, labels: re.Pattern[str]) -> dict[str, str]:
    """Return the texts behind labels; thinking between proper tags is left out, and a repeated label counts last."""
    parts = labels.split(without_thinking(answer)[0])
    texts = (_BRACKETS.sub(r"\1", _ECHO.sub("", text.strip()).strip().removeprefix("* ")) for text in parts[2::2])
    return {label.replace(" ", ""): text.strip() for label, text in zip(parts[1::2], texts, strict=True)}


def read_planning(answer: str) -> dict[str, Any] | None:
    r"""Read how the person takes a reply: texts behind labels, empty without a label, and the change of the emotion.

    The change, clipped to -10..10, is the only number with a sign behind its label, or the only number, where the text
    begins with it. None for a text that begins with another number, a fraction, and other texts ("from 40 to 35").

    Examples
    --------
    >>> read_planning("Content: She asks.\n**Analyse**: Too soon.\nChange:\n[-12]")
    {'content': 'She asks.', 'TargetCompletion': '', 'activity': '', 'analyse': 'Too soon.', 'change': -10}
    >>> read_planning("Change: from 40 to 35 (-5)")["change"], read_planning("Change: from 40 to 35")
    (-5, None)
    """
    found = _sections(answer, _PLANNING)
    text = found.get("Change", "")
    numbers = [match.groups("") for match in _NUMBER.finditer(text)]
    signed = [number for number in numbers if number[0]]
    counted = signed + (numbers[:1] if signed else numbers) * bool(_BARE.search(text))
    changes = {rest.strip(".0") or int(digits) * (1 if sign in "+\uff0b" else -1) for sign, digits, rest in counted}
    if len(changes) != 1 or isinstance(change := changes.pop(), str):
        return None
    return {name: found.get(label, "") for name, label in _TEXTS.items()} | {"change": min(max(change, -_MOST), _MOST)}


def read_reply(answer: str) -> tuple[str, str] | None:
    r"""Return what the person says, behind the label ``Response``, and what was thought before; None without words.

    Examples
    --------
    >>> read_reply("Thinking:\nShort.\nOrigin:\nNo.\nResponse:\n\u201cNo, thanks.\u201d")
    ('No, thanks.', 'Short.\nOrigin:\nNo.')
    >>> read_reply("No, thanks.") is None
    True
    """
    found = _sections(answer, _REPLY)
    words = _QUOTES.sub(r"\1", found.get("Response", "")).strip()
    return (words, found.get("Thinking", "")) if words else None


class _Dialogue:
    """The state of a conversation on its way."""

    def __init__(self, profile: SageProfile, settings: SageSettings) -> None:
        if why := missing_text(profile):
            raise ValueError(why)
        self._profile = profile
        self._settings = settings
        self._language = settings.language_of(profile)
        self._emotion = START
        self._history: list[dict[str, Any]] = [{"role": "user", "content": profile.first_talk, "emotion-point": START}]
        self._error: str | None = None

    def play(self) -> Steps[str]:
        """Play the rounds; return what ended them."""
        for number in range(1, self._settings.max_rounds + 1):
            if number > 1 and (ended_by := (yield from self._answer(number - 1))):
                return ended_by
            words, thinking = read_output((yield from reply_to(self._call_model(number))))
            thought = {"think": thinking} if thinking else {}
            self._history.append({"role": "assistant", "content": words, **thought})
        return "max_rounds"

    def _answer(self, number: int) -> Steps[str | None]:
        """Let the person take in the last reply and answer it; return what ends the conversation then."""
        template = {"emotion": str(self._emotion), "dialogue": self._quoted(self._history)}
        planning = yield from self._read(f"planning-{number}", "planning", read_planning, template)
        if planning is None:
            return "parse_failed"
        emotion = min(max(self._emotion + planning["change"], 0), SUCCESS)
        template = {
            "emotion": emotion_state(emotion),
            "dialogue": self._quoted(self._history[:-2]),
            "latest": self._quoted(self._history[-2:]),
            "completion": planning["TargetCompletion"],
            "activity": planning["activity"],
            "analyse": planning["analyse"],
        }
        said = yield from self._read(f"person-{number}", "reply", read_reply, template)
        if said is None:
            return "parse_failed"
        # As in the published files, the change that the emotion had room for.
        planning["change"], self._emotion = emotion - self._emotion, emotion
        words, thinking = said
        state = {"emotion-point": emotion, "planning": planning}
        self._history.append({"role": "user", "content": words, "thinking": thinking, **state})
        is_over = _GOODBYE[self._language].search(words) or not FAILURE <= emotion < SUCCESS
        return "simulator_stop" if is_over else None

    def _read(self, name: str, template: str, read: Any, values: Mapping[str, str]) -> Steps[Any]:
        """Ask the simulator with a template; return what was read, None where nothing could be."""
        text = self._render(
            template, purpose=self._render("purpose"), person=self._profile.player, scene=self._profile.scene, **values
        )
        call = Call(name, self._settings.simulator, "simulator", (message("user", text),), schema_name=template)
        found, _, answer = yield from read_reply_to(call, lambda answer: read(without_surrogates(answer)))
        if found is None:
            begins = " ".join(without_surrogates(answer).split())[:100]
            self._error = f"{name}: no answer of the simulator could be read; the last one begins {begins!r}"
        return found

    def _call_model(self, number: int) -> Call:
        said = (message(line["role"], line["content"]) for line in self._history)
        messages = (message("system", self._render("model")), *said)
        return Call(f"reply-{number}", self._settings.model, "model", messages, schema_name="reply")

    def _quoted(self, history: Sequence[Mapping[str, Any]]) -> str:
        """Return messages as JSON, which no text within can end."""
        names = {"user": _PERSON[self._language], "assistant": "NPC"}
        said = [{"role": names[line["role"]], "content": line["content"]} for line in history]
        return json.dumps(said, ensure_ascii=False, indent=2)

    def _render(self, name: str, **values: str) -> str:
        return self._settings.render(f"{self._language}/{name}", **values)

    def record(self, ended_by: str, error: str | None = None) -> SageDialogue:
        """Return the record of what was played."""
        profile, settings, error = self._profile, self._settings, error or self._error
        return SageDialogue.model_validate(
            {
                "id": profile.id,
                "model": settings.model,
                "emo_point": self._emotion,
                "emo_state": emotion_state(self._emotion),
                "target": "eq",
                "player": profile.player,
                "scene": profile.scene,
                "character": profile.main_cha,
                "topic": profile.topic,
                "task": profile.task,
                "history": self._history,
                **({"error": error} if error is not None else {}),
                "ended_by": ended_by,
                "language": self._language,
                **settings.recorded(),
                **({"synthetic": True} if profile.synthetic else {}),
            }
        )


def _answers_read(dialogue: Mapping[str, Any]) -> list[bool]:
    """Return for each answer of the simulator whether it could be read, and False for a reply that ended early."""
    judged, error = sum("planning" in line for line in dialogue["history"]), dialogue.get("error")
    return [True] * (2 * judged + str(error).startswith("person-")) + [False] * (error is not None)


TASK: Task[SageProfile, SageSettings] = EpisodeFolder(SageDialogue, "{model}_result.jsonl").task(
    "sage",
    "profile",
    SageSettings,
    _Dialogue,
    unusable=missing_text,
    answers_read=_answers_read,
    answer="Change: 0 Response: .",
    repeatable=False,
)
"""Profiles, and the conversations in which a model talks with the person of each."""
