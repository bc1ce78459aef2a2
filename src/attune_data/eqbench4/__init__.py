"""EQ-Bench 4: role-plays of models with a simulated person, and the entries of the board.

The site has one file for each role-play, ``transcripts/<slug>/<i>.json``, and the board in ``eqbench4_data.js``. The
number of a file says nothing of its scenario: each model has the scenarios in an order of its own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Strict

from attune_data.collection import ForeignFile, Messages, record_kind
from attune_data.display import Message, Part
from attune_data.record import LARGEST, ByKey, Items, Nested, Number, SnakeCaseRecord, Text
from attune_data.repair import IssueCollector
from attune_data.text import listed, plural

TRAITS: Mapping[str, str] = {
    "naturalness_authenticity": "Naturalness",
    "analytical": "Analytical",
    "validation_propensity": "Validating",
    "challenge_propensity": "Challenging",
    "interpretive_boldness": "Interpretive boldness",
    "directive_advice_orientation": "Directive advice",
    "escalation_containment": "Escalation containment",
    "yielding": "Yielding",
}
"""The tendencies with their labels, each 0 to 10 by one judge."""

ABILITIES: Mapping[str, str] = {
    "bond_and_rapport": "Bond and rapport",
    "authenticity": "Authenticity",
    "attunement": "Attunement",
    "meeting_prefs_and_needs": "Preferences and needs",
    "emotion_sensemaking": "Emotion sensemaking",
    "emotion_management": "Emotion management",
}
"""The abilities with their labels: the mean margin, -5 to 5, by which the model won against its neighbours."""

RANGES: Mapping[str, tuple[int, int]] = {**dict.fromkeys(TRAITS, (0, 10)), **dict.fromkeys(ABILITIES, (-5, 5))}
"""The scale of each tendency and ability, lowest and highest."""

_ROUNDING = 0.005 + 1e-9  # The board has two digits.

Whole = Annotated[int, Strict(), Field(ge=0, le=LARGEST)]


class EQBench4Message(SnakeCaseRecord):
    """A message of a role-play."""

    role: Literal["assistant", "user"] = Field(description="Who speaks: the model (`assistant`) or the person.")
    content: Text = Field("", description="What is said.")
    monologue: Text = Field("", description="What the person thinks and the model does not see.")


class EQBench4Roleplay(SnakeCaseRecord):
    """A role-play of one model with the simulated person of one scenario, with a judge's view of the model.

    Examples
    --------
    >>> one = EQBench4Roleplay(scenario_id="s1", evaluated_model="a", source_type="generated", dims={"yielding": 4.0})
    >>> one.id, one.type
    ('s1/a', 'generated')
    """

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
    abilities: ByKey[Number] = Field(
        {}, description="By ability -5 to 5: the mean margin against the model's neighbours on the board."
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


class EQBench4Points(SnakeCaseRecord):
    """The values of one model in its role-plays, in the order of their files; values that are missing leave no gap."""

    traits: ByKey[Items[Number]] = Field({}, description="By tendency its values.")
    abilities: ByKey[Items[Number]] = Field({}, description="By ability its values.")


class EQBench4Entry(SnakeCaseRecord):
    """What the board has of one model."""

    model: str = Field(min_length=1, description="The model.")
    slug: str | None = Field(None, description="The folder of its role-plays.")
    rank: Whole | None = Field(None, description="Its rank by rating, 1 is the best.")
    elo: Number | None = Field(None, description="Its rating from comparisons in pairs, in points of Elo.")
    ci_low: Number | None = Field(None, description="Lower end of the published interval of the rating.")
    ci_high: Number | None = Field(None, description="Upper end of it.")
    n_scenarios: Whole | None = Field(None, description="Number of its role-plays, as published.")
    dims: ByKey[Number] = Field({}, description="By tendency the published mean.")
    abilities: ByKey[Number] = Field({}, description="By ability the published mean margin.")
    profile_points: Nested[EQBench4Points] = Field(EQBench4Points(), description="The values of each role-play.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @property
    def id(self) -> str:
        """The model."""
        return self.model


def _entries(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the entries of a board."""
    models = document.get("models")
    return models if isinstance(models, list) and "ability_modes" in document else None


# Rules.


def _check_roleplay(roleplay: EQBench4Roleplay, findings: IssueCollector) -> None:
    """Report missing tendencies, and values beyond the scale."""
    if missing := [name for name in TRAITS if name not in roleplay.dims]:
        message = f"{plural(len(missing), 'tendency', 'tendencies')} without a value: {listed(missing, 3)}"
        findings.add("$.dims", "not-scored", "warning", None, message, "kept; it lowers coverage")
    for key, values in (("dims", roleplay.dims), ("abilities", roleplay.abilities)):
        for name, value in values.items():
            low, high = RANGES.get(name, (value, value))
            if not low <= value <= high:
                message = f"a value is from {low} to {high}"
                findings.add(f"$.{key}.{name}", "beyond-scale", "warning", value, message, "kept; not scored")


def _check_roleplays(roleplays: Sequence[EQBench4Roleplay], _: int, findings: IssueCollector) -> None:
    """Report scenarios that a model lacks and most have, and tendencies by several judges."""
    models = Counter(one.scenario_id for one in roleplays)
    own: dict[str, set[str]] = {}
    judges: dict[str, dict[str, None]] = {}
    for one in roleplays:
        own.setdefault(one.evaluated_model, set()).add(one.scenario_id)
        if one.dims:
            judges.setdefault(one.pointwise_judge_model or "not named", {})[one.evaluated_model] = None
    for model, having in own.items():
        if lacking := [name for name, count in models.items() if name not in having and 2 * count >= len(own)]:
            message = f"{model} has no role-play of {plural(len(lacking), 'scenario')} that most models have"
            findings.add("$", "missing-roleplay", "warning", listed(lacking, 3), message, "not scored there")
    if len(judges) > 1:
        by = "; ".join(f"{judge} judged {listed([*models], 3)}" for judge, models in judges.items())
        message = f"the tendencies are of {len(judges)} judges, and not on one scale: {by}"
        findings.add("$", "several-judges", "warning", listed([*judges], 3), message, "kept; models are not compared")


def _check_entry(entry: EQBench4Entry, findings: IssueCollector) -> None:
    """Report means that are not the mean of their values, and lists that are not as long as they should be."""
    points = entry.profile_points
    for name, published in entry.dims.items():
        values = points.traits.get(name, ())
        if values and abs(fmean(values) - published) > _ROUNDING:
            message = f"the mean of its {plural(len(values), 'value')} is {fmean(values):.3f}"
            findings.add(f"$.dims.{name}", "other-mean", "warning", published, message, "the values count")
    lengths = Counter(len(values) for values in points.traits.values())
    wrong = sorted(length for length in lengths if length != entry.n_scenarios)
    if entry.n_scenarios is not None and wrong:
        message = f"lists of {listed([str(one) for one in wrong], 3)} values for {entry.n_scenarios} role-plays"
        findings.add("$.profile_points.traits", "number-of-values", "warning", wrong, message, "kept")
    most = max(lengths, default=0)
    fewest = min((len(values) for values in points.abilities.values()), default=most)
    if fewest < most:
        message = f"{plural(most - fewest, 'role-play has', 'role-plays have')} no margins; the file does not say which"
        findings.add("$.profile_points.abilities", "missing-margins", "note", fewest, message, "kept")


def _check_entries(entries: Sequence[EQBench4Entry], _: int, findings: IssueCollector) -> None:
    """Report models with fewer role-plays than others."""
    counts = {one.model: max(map(len, one.profile_points.traits.values()), default=0) for one in entries}
    most = max(counts.values(), default=0)
    for model, count in counts.items():
        if count < most:
            message = f"{model} has {count} of {plural(most, 'role-play')}; the file does not say which scenario lacks"
            findings.add("$", "missing-roleplay", "warning", count, message, "not scored there")


# Display.


def _roleplay_parts(roleplay: EQBench4Roleplay) -> Iterator[Part]:
    facts = [(name, getattr(roleplay, name) or "") for name in ("title", "type", "relationship", "final_status")]
    who = ("person by", roleplay.persona_model or ""), ("judge", roleplay.pointwise_judge_model or "")
    yield Part(facts=[*facts, *who, *_values(roleplay.dims, roleplay.abilities)])
    yield Part(
        messages=[
            Message(
                speaker="Model" if one.role == "assistant" else "Person", text=one.content,
                is_person=one.role == "user", notes=[("thinks", one.monologue)],
            )
            for one in roleplay.turns
        ]
    )  # fmt: skip


def _values(dims: Mapping[str, float], abilities: Mapping[str, float]) -> list[tuple[str, str]]:
    tendencies = ", ".join(f"{TRAITS.get(name, name)} {value:g}" for name, value in dims.items())
    margins = ", ".join(f"{ABILITIES.get(name, name)} {value:+g}" for name, value in abilities.items())
    return [("tendencies", tendencies), ("margins", margins and f"{margins}, each against the model's neighbours")]


def _messages(roleplay: EQBench4Roleplay) -> Messages:
    return [(one.role, one.content) for one in roleplay.turns]


def _entry_parts(entry: EQBench4Entry) -> Iterator[Part]:
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
    other_files=(
        ForeignFile(
            "the index of a model's role-plays", frozenset(("dims_mean", "transcripts")), "their files are read"
        ),
        ForeignFile("a list of scenarios", frozenset(("scenario_families", "docs")), "role-plays have them too"),
    ),
    check=_check_roleplay,
    check_all=_check_roleplays,
    demo="eqbench4/demo_roleplays.jsonl",
    documents="attune_data.eqbench4.documents:roleplays",
    parts=_roleplay_parts,
    messages=_messages,
)
ENTRY = record_kind(
    EQBench4Entry,
    noun="entry",
    plural="entries",
    keys=frozenset(("profile_points", "ability_modes")),
    docs="eqbench4.md",
    unpack=_entries,
    check=_check_entry,
    check_all=_check_entries,
    prefer="eqbench4_data*.js",
    demo="eqbench4/demo_entries.jsonl",
    documents="attune_data.eqbench4.documents:entries",
    parts=_entry_parts,
)
