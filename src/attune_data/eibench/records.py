"""The records of EIBench: scenarios with a simulated person, episodes played in them, scenes, and rules of both.

The records mirror the benchmark's files; names that differ in Python are noted. *Anger* and *trust* are the two axes of
the person's state, 0-100; what they stand for depends on the scene (`attune_data.eibench.records`).
"""

import functools
import re
from collections.abc import Mapping
from itertools import pairwise
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal, cast, get_args

from pydantic import Field, Strict

from attune_data.codebook import OWN_NAME, Entry, Keys, Named, codebook_folder, read_toml
from attune_data.codebook import Text as EntryText
from attune_data.record import (
    Integer,
    Items,
    Level,
    Nested,
    Number,
    Repeat,
    SnakeCaseRecord,
    Text,
    repeat_suffix,
    says_generated,
)
from attune_data.repair import Fix, IssueCollector, check_change, closed, each, fix_of, keep, number, scored
from attune_data.text import plural, sanitize

Scene = Literal["support", "defense", "repair", "charm"]
SCENES: tuple[Scene, ...] = get_args(Scene)


class SceneMeaning(Entry):
    """One scene: who talks to whom, what the two axes stand for, who speaks first."""

    name: str = Field(alias=OWN_NAME)
    title: EntryText = Field(description="The name to show.")
    person: EntryText = Field(description="Whom the simulator plays, `aggressor` in the files.")
    model: EntryText = Field(description="Whom the model under test plays, `defender` in the files.")
    anger: EntryText = Field(description="What the first axis stands for; lower is better.")
    trust: EntryText = Field(description="What the second axis stands for; higher is better.")
    opens: Literal["person", "model"] = Field(description="Who speaks first.")


class Scenes(Entry):
    """The file ``codebook/eibench.toml``: the four scenes."""

    scenes: Annotated[Named[SceneMeaning], Keys(SCENES)] = Field(description="The scenes by tag.")


@functools.cache
def scenes() -> Mapping[str, SceneMeaning]:
    """Return every scene by its tag.

    Examples
    --------
    >>> scenes()["charm"].opens, scenes()["support"].anger
    ('model', 'sadness, pain, despair')
    """
    return read_toml(codebook_folder() / "eibench.toml", Scenes).scenes


Outcome = Literal["max_rounds", "simulator_stop", "empty_reply", "empty_simulator_reply", "parse_failed", "error"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

_ANCHORS = {
    f"{place}_{axis}{suffix}": attrgetter(f"{place}_{axis}")
    for place, suffix in (("initial_calibration.initial", ""), ("rub_goals.target", ""), ("worst_case.worst", "_min"))
    for axis in ("anger", "trust")
}
_TRAIN = re.compile(r"scene_[a-z]+_gen_\d+_\d+")
_TEST = re.compile(r"scene_[a-z]+_\d+")


class Profile(SnakeCaseRecord):
    """Who one side of the conversation is."""

    system_prompt: Text = Field("", description="Background, role, style, facts and aims, as a prompt.")
    opening_line: str | None = Field(None, description="What this side says first; EIBench uses the person's.")


class Calibration(SnakeCaseRecord):
    """The person's state at the start."""

    initial_anger: Level | None = Field(None, description="Anger at the start, 0-100.")
    initial_trust: Level | None = Field(None, description="Trust at the start, 0-100.")


class Targets(SnakeCaseRecord):
    """The state from which on an axis scores 1."""

    target_anger: Level | None = Field(None, description="Anger at or below which the axis scores 1.")
    target_trust: Level | None = Field(None, description="Trust at or above which the axis scores 1.")


class WorstCase(SnakeCaseRecord):
    """The state from which on an axis scores -1; in the file the names end in ``_min``, though it is not a minimum."""

    worst_anger: Level | None = Field(
        None, alias="worst_anger_min", description="Anger at or above which the axis scores -1."
    )
    worst_trust: Level | None = Field(
        None, alias="worst_trust_min", description="Trust at or below which the axis scores -1."
    )
    reason: str | None = Field(None, description="Why this is the worst case; not scored.")


class Message(SnakeCaseRecord):
    """One message of the prompt that a record carries."""

    role: str | None = Field(None, description="Who speaks: `system` or `user`.")
    content: Text = Field("", description="The text.")


class Scenario(SnakeCaseRecord):
    """One scenario of EIBench: two people, a start, a target and a worst case.

    ``split`` is not in the benchmark's files: `load_scenarios` takes it from the folder, else from the form of the
    id, and a collection writes it.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> scenario = load_scenarios("demo")["demo_support_01"]
    >>> scenario.initial_calibration.initial_anger, scenario.rub_goals.target_anger, scenario.worst_case.worst_anger
    (75, 35, 95)
    """

    from_place: ClassVar[frozenset[str]] = frozenset(("split",))
    column_prefixes: ClassVar[Mapping[str, str]] = {"aggressor_profile": "aggressor_", "defender_profile": "defender_"}

    scenario_id: str = Field(min_length=1, alias="id", description="Id of the scenario.")
    scene: Scene = Field(alias="scene_tag", description="What kind of situation it is.")
    split: str | None = Field(None, description="`test` or `train`, where it is known.")
    title: str | None = Field(None, description="A short title.")
    aggressor_profile: Nested[Profile] = Field(Profile(), description="The simulated person.")
    defender_profile: Nested[Profile] = Field(Profile(), description="Whom the model under test plays.")
    goal_one_liner: str | None = Field(None, description="The goal in one line; neither side sees it.")
    success_criteria: Items[str] = Field((), description="What success looks like; not scored.")
    success_criteria_weights: Items[Number] = Field((), description="Weights of the criteria; not used in scoring.")
    must_avoid: Items[str] = Field((), description="What the model should avoid; not scored.")
    initial_calibration: Nested[Calibration] = Field(
        Calibration(), description="The person's anger and trust at the start."
    )
    rub_goals: Nested[Targets] = Field(Targets(), description="The state that counts as success.")
    worst_case: Nested[WorstCase] = Field(WorstCase(), description="The state that counts as failure.")
    prompt: Items[Message] = Field((), description="Prompt of the record; the evaluation does not use it.")
    data_source: str | None = Field(None, description="The scene, as in `scene_tag`.")

    @property
    def id(self) -> str:
        """The scenario's id, by which a collection finds it."""
        return self.scenario_id

    @property
    def missing_anchors(self) -> tuple[str, ...]:
        """The anchors that the record lacks, by their place in the file, such as ``rub_goals.target_anger``."""
        return tuple(place for place, anchor in _ANCHORS.items() if anchor(self) is None)

    def anchors(self, axis: Literal["anger", "trust"]) -> tuple[int, int, int]:
        """Return start, target and worst case of an axis.

        Raises
        ------
        ValueError
            Where the record lacks an anchor, of either axis.

        Examples
        --------
        >>> from attune_data import load_scenarios
        >>> load_scenarios("demo")["demo_support_01"].anchors("trust")
        (40, 80, 10)
        """
        if missing := self.missing_anchors:
            raise ValueError(f"scenario {self.id!r} has no {' and no '.join(missing)}")
        found = (anchor(self) for place, anchor in _ANCHORS.items() if f"_{axis}" in place)
        return cast("tuple[int, int, int]", tuple(found))

    @property
    def synthetic(self) -> bool:
        """Whether the record says of itself that it was made up for this library (``synthetic``)."""
        return says_generated((self.model_extra or {}).get("synthetic"))

    @property
    def split_of_id(self) -> str | None:
        """The split that has ids of this form, or None."""
        if _TRAIN.fullmatch(self.id):
            return "train"
        return "test" if _TEST.fullmatch(self.id) else None

    def __repr__(self) -> str:
        """Return one line; `model_dump` gives every field."""
        return sanitize(f"<Scenario {self.id}: {self.scene}, {self.title or 'no title'}>")

    __str__ = __repr__


class State(SnakeCaseRecord):
    """What an utterance of the simulated person carries: the state after it, and how it was read."""

    anger: Level | None = Field(None, description="Anger after this utterance, 0-100.")
    trust: Level | None = Field(None, description="Trust after this utterance, 0-100.")
    anger_delta: Integer | None = Field(None, description="Change the simulator asked for, clipped to -10..10.")
    trust_delta: Integer | None = Field(None, description="Change the simulator asked for, clipped to -10..10.")
    reflection: str | None = Field(None, description="What the simulator considered before it judged.")
    parse: str | None = Field(None, description="How the simulator's answer was read, for instance `repaired`.")
    parse_failed: Annotated[bool, Strict()] | None = Field(None, description="True where no answer could be read.")
    raw_preview: str | None = Field(None, description="The end of an answer that could not be read.")
    stop_reason: str | None = Field(
        None, description="Why the simulator ended the conversation after this utterance; absent otherwise."
    )
    quadrant: str | None = Field(None, description="The scene, in title case.")


class Utterance(SnakeCaseRecord):
    """One message of an episode."""

    role: Literal["aggressor", "defender"] = Field(
        description="Who speaks: `aggressor`, the person, or `defender`, the model."
    )
    content: Text = Field(
        "", description="The words said aloud; files of older versions have the model's thinking too."
    )
    thinking: str | None = Field(None, description="What the model thought before it spoke, where it is recorded.")
    meta: State | None = Field(None, description="The state after it; only the person's utterances have one.")


class Episode(SnakeCaseRecord):
    """One conversation of a model with the simulated person of a scenario: a line of ``results.jsonl``.

    The official records have model, scenario, how it ended, final state, scores and history, or an error. Ours also
    say which simulator, which version of its instructions and which configuration it was, the state at the start, and
    in each `State` the deltas, the reflection and how the answer was read.

    Examples
    --------
    >>> person = {"role": "aggressor", "content": "Leave me alone.", "meta": {"anger": 60, "trust": 20}}
    >>> episode = Episode(profile_id="s1", scene="repair", model="m", ended_by="simulator_stop", history=[person])
    >>> episode.id, episode.outcome
    ('s1/m', 'empty_reply')
    """

    model: str = Field(min_length=1, description="The model under test.")
    scenario_id: str = Field(min_length=1, alias="profile_id", description="Id of the scenario.")
    scene: str | None = Field(None, alias="scene_tag", description="What kind of situation it is.")
    ended_by: str | None = Field(None, description="How the episode ended, as the runner recorded it.")
    n_rounds: Integer | None = Field(None, description="Half the number of messages, rounded down.")
    final_anger: Level | None = Field(None, description="Anger at the end, 0-100.")
    final_trust: Level | None = Field(None, description="Trust at the end, 0-100.")
    reward: Number | None = Field(None, description="Recorded score, -1 to 1; scoring computes it anew.")
    anger_score: Number | None = Field(None, description="Recorded score of the axis, -1 to 1.")
    trust_score: Number | None = Field(None, description="Recorded score of the axis, -1 to 1.")
    goal_score: Number | None = Field(None, description="Always null in official files.")
    goal_reason: str | None = Field(None, description="Always null in official files.")
    stop_reason: str | None = Field(
        None, description="Always null in official files; `meta` of the last message has it."
    )
    history: Items[Utterance] = Field((), description="The messages in order.")
    error: str | None = Field(None, description="What failed; null where the episode has a result.")
    simulator: str | None = Field(None, description="The model that played the person.")
    prompt_version: str | None = Field(None, description="Version of the simulator's instructions.")
    config_hash: str | None = Field(
        None, description="Hash of all settings that the numbers depend on, the model left out."
    )
    scenario_hash: str | None = Field(None, description="Hash of the scenario as it was played.")
    max_rounds: Integer | None = Field(None, description="The greatest number of rounds allowed.")
    initial_anger: Level | None = Field(None, description="Anger at the start, 0-100.")
    initial_trust: Level | None = Field(None, description="Trust at the start, 0-100.")
    repeat: Repeat = Field(1, description="Which time the model played this, where it played it several times; from 1.")

    @property
    def id(self) -> str:
        """``scenario/model``, then what else of the `key` is given, by which a collection finds it."""
        named = "/".join(part for part in self.key[:4] if part is not None)
        return f"{named}{repeat_suffix(self.repeat)}"

    @property
    def key(self) -> tuple[str, str, str | None, str | None, int]:
        """Scenario, model, simulator, configuration and repeat, which no two episodes share."""
        return self.scenario_id, self.model, self.simulator, self.config_hash, self.repeat

    @property
    def outcome(self) -> str | None:
        """How it ended, one of `OUTCOMES`, else as `ended_by` says.

        Official records say ``simulator_stop`` where a reply was empty too. Only a stop of the simulator leaves a stop
        reason in the last message; without one it is ``empty_reply`` where the model's turn was due, as after an
        endpoint that failed, and ``empty_simulator_reply`` where the person's was. A scenario counts as ended with
        ``error`` where the record has one.
        """
        if self.error is not None:
            return "error"
        if self.ended_by != "simulator_stop" or "history" not in self.model_fields_set:
            return self.ended_by
        if not self.history:
            return "empty_reply"
        last = self.history[-1]
        if last.meta is not None and "stop_reason" in last.meta.model_fields_set:
            return "simulator_stop"
        spoke = bool(last.content.strip())
        return "empty_reply" if (last.role == "aggressor") == spoke else "empty_simulator_reply"

    @property
    def synthetic(self) -> bool:
        """Whether the record says of itself that it was generated (``synthetic``)."""
        return says_generated((self.model_extra or {}).get("synthetic"))

    def __repr__(self) -> str:
        """Return one line; `model_dump` gives every field."""
        facts = filter(None, (self.scene, plural(len(self.history), "message"), self.outcome))
        return sanitize(f"<Episode {self.id}: {', '.join(facts)}>")

    __str__ = __repr__


LEVEL = number(0, 100)
_SCORED = scored(0, 100)


def _anchor(value: Any, path: str, findings: IssueCollector) -> Any:
    """Fix an anchor; a value that is no number stays and is refused: only a missing anchor has a meaning."""
    found = _SCORED(value, path, findings)
    return value if found is None else found


_scenario = fix_of(
    Scenario,
    {
        Scenario: {
            "scene_tag": closed({name: name for name in SCENES}, f"one of {', '.join(SCENES)}"),
            "success_criteria_weights": each(number(whole=False)),
            "prompt": each(fix_of(Message)),
        },
        Calibration: dict.fromkeys(("initial_anger", "initial_trust"), _anchor),
        Targets: dict.fromkeys(("target_anger", "target_trust"), _anchor),
        WorstCase: dict.fromkeys(("worst_anger_min", "worst_trust_min"), _anchor),
    },
)


def fix_scenario(value: Any, path: str, findings: IssueCollector) -> Any:
    """Fix a scenario, which may be wrapped, or have its start at an older place."""
    # As the Hub's viewer gives rows, beside their number and what it cut off.
    if isinstance(value.get("row"), dict) and "id" not in value:
        findings.add(f"{path}.row", "old-spelling", "note", list(value), "a record in a wrapper", "taken out of it")
        return fix_scenario(value["row"], path, findings)
    older = value.get("meta_config")
    if "initial_calibration" not in value and isinstance(older, dict) and "initial_calibration" in older:
        place = f"{path}.meta_config.initial_calibration"
        start = older["initial_calibration"]
        findings.add(place, "old-spelling", "note", start, "the start belongs at the top", "read from here")
        value = {**value, "initial_calibration": start}
    return _scenario(value, path, findings)


_ORDERS: tuple[tuple[Literal["anger", "trust"], str], ...] = (
    ("anger", "target < initial < worst"),
    ("trust", "worst < initial < target"),
)


def check_scenario(scenario: Scenario, findings: IssueCollector) -> None:
    """Report anchors that are missing or out of order, and texts without which an episode starts badly."""
    for place in (missing := scenario.missing_anchors):
        message = "the scenario lacks this anchor; EIBench's evaluation fills it in without a message"
        consequence = "kept; it can neither be played nor scored, unless as published"
        findings.add(f"$.{place}", "missing-anchor", "warning", None, message, consequence)
    for axis, order in () if missing else _ORDERS:
        initial, target, worst = scenario.anchors(axis)
        told = {"initial": initial, "target": target, "worst": worst}
        low, middle, high = (told[name] for name in order.split(" < "))
        if not low < middle < high:
            message = f"expected {axis} {order}; the official score takes its direction from initial and target"
            consequence = "kept; the scoring rules may differ"
            findings.add("$", "anchor-order", "warning", told, message, consequence)
    person = scenario.aggressor_profile
    needed = {
        "aggressor_profile.system_prompt": person.system_prompt,
        "defender_profile.system_prompt": scenario.defender_profile.system_prompt,
    }
    if scenes()[scenario.scene].opens == "person":
        needed["aggressor_profile.opening_line"] = person.opening_line or ""
    for place, found in needed.items():
        if not found.strip():
            message = f"a {scenario.scene} scenario needs this text to be played"
            findings.add(f"$.{place}", "missing-text", "warning", found, message, "kept; it can be scored")


def _flag(value: Any, path: str, findings: IssueCollector) -> Any:
    return value if value is None or isinstance(value, bool) else findings.unknown(path, value, "true or false")


_ROLES = {"aggressor": "aggressor", "user": "aggressor", "defender": "defender", "assistant": "defender"}
fix_episode: Fix = fix_of(
    Episode,
    {
        Episode: {**dict.fromkeys(("initial_anger", "initial_trust"), LEVEL), "repeat": keep},
        Utterance: {"role": closed(_ROLES, "aggressor or defender")},
        State: {**dict.fromkeys(("anger", "trust"), LEVEL), "parse_failed": _flag},
    },
)


_WHY = {
    "error": "the record says that the episode failed",
    "parse_failed": "the simulator's answer could not be read",
    "empty_reply": "the model gave no reply; did its endpoint fail?",
    "empty_simulator_reply": "the simulated person said nothing",
}


def check_episode(episode: Episode, findings: IssueCollector) -> None:
    """Report failures, an end without a state, and states that contradict each other."""
    if episode.scene not in SCENES:
        message = f"expected one of {', '.join(SCENES)}"
        findings.add("$.scene_tag", "unknown-scene", "warning", episode.scene, message, "kept under this name")
    outcome = episode.outcome
    if outcome in _WHY:
        said = episode.error if outcome == "error" else episode.ended_by
        findings.add("$", "failed-episode", "warning", said, _WHY[outcome], f"kept, as {outcome}")
    elif outcome not in OUTCOMES:
        message = "expected max_rounds, simulator_stop or parse_failed"
        findings.add("$.ended_by", "unknown-outcome", "warning", episode.ended_by, message, "kept under this name")
    if outcome == "error":
        return
    final = {"anger": episode.final_anger, "trust": episode.final_trust}
    for axis, value in final.items():
        if value is None:
            message = "the episode has no state at its end"
            findings.add(f"$.final_{axis}", "missing-final-state", "warning", None, message, "kept; cannot be scored")
    states = [(number, line.meta) for number, line in enumerate(episode.history) if line.meta is not None]
    # A person who said nothing had judged before, and that state is in no message.
    if states and outcome != "empty_simulator_reply":
        last = states[-1][1]
        for axis, value in final.items():
            recorded = getattr(last, axis)
            if None not in (value, recorded) and value != recorded:
                message = f"the last state in the history has {axis} {recorded}"
                findings.add(
                    f"$.final_{axis}", "final-state", "warning", value, message, "kept; the final one is scored"
                )
    for (_, before), (place, after) in pairwise(states):
        for axis in final:
            check_change(
                (getattr(before, axis), getattr(after, f"{axis}_delta"), getattr(after, axis)),
                f"$.history[{place}].meta.{axis}_delta",
                findings,
            )
