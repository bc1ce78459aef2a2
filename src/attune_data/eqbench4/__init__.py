"""EQ-Bench 4: role-plays of models with a simulated person, and the entries of the board.

The site has one file for each role-play, ``transcripts/<slug>/<i>.json``, and the board in ``eqbench4_data.js``. The
number of a file says nothing of its scenario: each model has the scenarios in an order of its own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Strict, ValidationError

from attune_data.collection import ForeignFile, record_kind
from attune_data.display import Message, Part
from attune_data.record import LARGEST, ByKey, Items, Number, SnakeCaseRecord, Text
from attune_data.repair import IssueCollector
from attune_data.text import listed, plural

_ROUNDING = 0.005 + 1e-9  # The board has two digits.

Whole = Annotated[int, Strict(), Field(ge=0, le=LARGEST)]


class EQBench4Message(SnakeCaseRecord):
    """A message of a role-play."""

    role: Literal["assistant", "user"] = Field(description="Who speaks: the model (`assistant`) or the person.")
    content: Text = Field("", description="What is said.")
    monologue: Text = Field("", description="What the person thinks and the model does not see.")


class EQBench4Roleplay(SnakeCaseRecord):
    """A role-play of one model with the simulated person of one scenario, with a judge's view of the model."""

    column_properties: ClassVar[tuple[str, ...]] = ("type",)

    scenario_id: str = Field(min_length=1, description="Id of the scenario, which other models have too.")
    evaluated_model: str = Field(min_length=1, description="The model under test.")
    i: Whole | None = Field(None, description="Number of the file; another model has another scenario there.")
    title: str | None = Field(None, description="What the person says it is about.")
    category: str | None = Field(None, description="The area of life, such as `work`.")
    relationship: str | None = Field(None, description="Whom the model plays, such as `chatbot` or `friend`.")
    source_type: str | None = Field(None, description="`generated` from lists, or written by hand.")
    task_type: str | None = Field(None, description="What a scenario written by hand is of; null where generated.")
    persona_model: str | None = Field(None, description="The model that plays the person.")
    final_status: str | None = Field(None, description="`ended` where the person left early, which is no failure.")
    turns: Items[EQBench4Message] = Field((), description="The messages, the model first.")
    dims: ByKey[Number] = Field({}, description="By tendency 0-10: how strong it is, not how good.")
    abilities: ByKey[Number] = Field({}, description="By ability the mean margin against neighbours, -5 to 5.")
    slug: str | None = Field(
        None, description="The folder of the model; only of the board's file, which does not say the scenario."
    )
    pointwise_judge_model: str | None = Field(None, description="The judge of the tendencies.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @property
    def id(self) -> str:
        """``scenario/model``."""
        return f"{self.scenario_id}/{self.evaluated_model}"

    @property
    def type(self) -> str | None:
        """What a scenario written by hand is of, else its source, such as ``generated``."""
        return self.task_type or self.source_type


class EQBench4Entry(SnakeCaseRecord):
    """What the board has of one model."""

    model: str = Field(min_length=1, description="The model.")
    slug: str | None = Field(None, description="The folder of its role-plays.")
    rank: Whole | None = Field(None, description="Its rank by rating, 1 is the best.")
    elo: Number | None = Field(None, description="Its rating from comparisons in pairs, in points of Elo.")
    ci_low: Number | None = Field(None, description="Lower end of the published interval of the rating.")
    ci_high: Number | None = Field(None, description="Upper end of it.")
    n_scenarios: Whole | None = Field(None, description="Number of its role-plays, as published.")
    scenarios: Whole | None = Field(None, description="Number of scenarios of the board: the most that a model has.")
    dims: ByKey[Number] = Field({}, description="By tendency the published mean.")
    abilities: ByKey[Number] = Field({}, description="By ability the published mean margin.")
    profile_points: ByKey[ByKey[Items[Number]]] = Field(
        {},
        description="Under `traits` and `abilities`, by name, the values of its role-plays in the order of their files;"
        " a value that is missing leaves no gap.",
    )
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @property
    def id(self) -> str:
        """The model."""
        return self.model

    @property
    def roleplays(self) -> int:
        """Number of role-plays that have tendencies."""
        return max(map(len, self.profile_points.get("traits", {}).values()), default=0)


def _entries(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the entries of a board, each with the number of scenarios of the board."""
    models = document.get("models")
    if not isinstance(models, list) or "ability_modes" not in document:
        return None
    counts = [one.get("n_scenarios") for one in models if isinstance(one, Mapping)]
    most = max((count for count in counts if isinstance(count, int)), default=0)
    return [{**one, "scenarios": most} if isinstance(one, Mapping) else one for one in models]


def _roleplays(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the values of each role-play in a board, without its scenario, which the board does not say.

    A list of margins that lacks some says not which, and is left out.
    """
    entries = _entries(document)
    return None if entries is None else [one for entry in entries for one in _of_entry(entry)]


def _of_entry(entry: Any) -> Iterator[Any]:
    try:
        known = EQBench4Entry.model_validate(entry)
    except ValidationError:  # Its own kind says what is wrong.
        yield entry
        return
    slug, count, points = known.slug or known.model, known.roleplays, known.profile_points
    for i in range(count):
        about = {"scenario_id": f"{slug} {i}", "evaluated_model": known.model, "i": i, "slug": slug}
        for key, lists in (("dims", points.get("traits", {})), ("abilities", points.get("abilities", {}))):
            about[key] = {name: values[i] for name, values in lists.items() if len(values) == count}
        yield {**about, "synthetic": known.synthetic}


# Rules.


def _check_roleplay(roleplay: EQBench4Roleplay, findings: IssueCollector) -> None:
    """Report a role-play without tendencies, and values beyond the scale."""
    if not roleplay.dims:
        findings.add("$.dims", "not-scored", "warning", None, "it has no tendencies", "kept; it lowers coverage")
    for key, values, low, high in (("dims", roleplay.dims, 0, 10), ("abilities", roleplay.abilities, -5, 5)):
        for name, value in values.items():
            if not low <= value <= high:
                message = f"a value is from {low} to {high}"
                findings.add(f"$.{key}.{name}", "beyond-scale", "warning", value, message, "kept; not scored")


def _check_roleplays(roleplays: Sequence[EQBench4Roleplay], _: int, findings: IssueCollector) -> None:
    """Report scenarios that most models have and one lacks, and tendencies by another judge than most."""
    models = Counter(one.evaluated_model for one in roleplays)
    scenarios = Counter(one.scenario_id for one in roleplays)
    having = {(one.evaluated_model, one.scenario_id) for one in roleplays}
    for model, count in models.items():
        lacking = [one for one in scenarios if 2 * scenarios[one] > len(models) and (model, one) not in having]
        shared = sum(scenarios[name] > 1 for name in scenarios if (model, name) in having)
        if lacking and 2 * shared >= count:
            message = f"{model} has no role-play of {plural(len(lacking), 'scenario')} that most models have"
            findings.add("$", "missing-roleplay", "warning", listed(lacking, 3), message, "not scored there")
    judges = Counter(one.pointwise_judge_model for one in roleplays if one.dims)
    (usual, times), *others = judges.most_common() or [(None, 0)]
    for judge, _ in others if times > 1 else ():
        judged = dict.fromkeys(one.evaluated_model for one in roleplays if one.pointwise_judge_model == judge)
        of_others = f"others are judged by {usual or 'nobody named'}, and judges have no common scale"
        message = f"the judge of {listed([*judged], 3)}; {of_others}"
        findings.add("$", "several-judges", "warning", judge, message, "kept; such models are not compared")


def _check_entry(entry: EQBench4Entry, findings: IssueCollector) -> None:
    """Report means that are not the mean of their values, and lists that are shorter than they should be."""
    traits, margins, count = *(entry.profile_points.get(key, {}) for key in ("traits", "abilities")), entry.roleplays
    for name, published in entry.dims.items():
        mean = fmean(traits[name]) if traits.get(name) else published
        if abs(mean - published) > _ROUNDING:
            message = f"the mean of its {plural(len(traits[name]), 'value')} is {mean:.3f}"
            findings.add(f"$.dims.{name}", "other-mean", "warning", published, message, "the values count")
    path = "$.profile_points"
    if wrong := [name for name, values in traits.items() if len(values) != (entry.n_scenarios or count)]:
        message = f"not as many values as role-plays, {entry.n_scenarios or count}: {listed(wrong, 3)}"
        findings.add(f"{path}.traits", "number-of-values", "warning", count, message, "kept")
    if count < (entry.scenarios or 0):
        message = f"{entry.model} has {count} of {entry.scenarios} role-plays; the file does not say of which scenarios"
        findings.add(f"{path}.traits", "missing-roleplay", "warning", count, message, "not scored there")
    if (fewest := min(map(len, margins.values()), default=count)) < count:
        message = f"{entry.model} has margins of {fewest} of {count} role-plays; the file does not say which"
        findings.add(f"{path}.abilities", "missing-margins", "note", fewest, message, "these margins are not scored")


# Display.


def _roleplay_parts(roleplay: EQBench4Roleplay) -> Iterator[Part]:
    facts = [(name, getattr(roleplay, name) or "") for name in ("title", "type", "relationship", "final_status")]
    who = ("person by", roleplay.persona_model or ""), ("judge", roleplay.pointwise_judge_model or "")
    yield Part(facts=[*facts, *who, *_values(roleplay.dims, roleplay.abilities)])
    yield Part(messages=[_message(one, is_person=one.role == "user") for one in roleplay.turns])


def _message(one: EQBench4Message, *, is_person: bool) -> Message:
    speaker, thought = "Person" if is_person else "Model", [("thinks", one.monologue)]
    return Message(speaker=speaker, text=one.content, is_person=is_person, notes=thought)


def _values(dims: Mapping[str, float], abilities: Mapping[str, float]) -> list[tuple[str, str]]:
    tendencies = ", ".join(f"{name} {value:g}" for name, value in dims.items())
    margins = ", ".join(f"{name} {value:+g}" for name, value in abilities.items())
    return [("tendencies", tendencies), ("margins", margins and f"{margins}, each against the model's neighbours")]


def _entry_parts(entry: EQBench4Entry) -> Iterator[Part]:
    yield Part(facts=[("model", entry.model), ("role-plays", str(entry.roleplays))])
    named = (("rank", entry.rank), ("rating", entry.elo), ("from", entry.ci_low), ("to", entry.ci_high))
    facts = [(name, f"{value:g}") for name, value in named if value is not None]
    yield Part(facts=[*facts, *_values(entry.dims, entry.abilities)])


ROLEPLAY = record_kind(
    EQBench4Roleplay,
    noun="roleplay",
    plural="roleplays",
    keys=frozenset(("evaluated_model",)),
    is_other=lambda document: "dims" not in document,
    docs="eqbench4.md",
    unpack=_roleplays,
    other_files=(
        ForeignFile(
            "the index of a model's role-plays", frozenset(("dims_mean", "transcripts")), "their files are read"
        ),
        ForeignFile("a list of scenarios", frozenset(("scenario_families", "docs")), "role-plays have them too"),
    ),
    check=_check_roleplay,
    check_all=_check_roleplays,
    demo="eqbench4/demo_roleplays.jsonl",
    parts=_roleplay_parts,
)
ENTRY = record_kind(
    EQBench4Entry,
    noun="entry",
    plural="entries",
    keys=frozenset(("profile_points", "ability_modes")),
    docs="eqbench4.md",
    unpack=_entries,
    check=_check_entry,
    demo="eqbench4/demo_entries.jsonl",
    parts=_entry_parts,
)
