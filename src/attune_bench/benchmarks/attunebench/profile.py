"""Predicting the participant's profile from the conversation alone, an experiment: questions and scores."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from pathlib import Path
from statistics import fmean, median
from textwrap import fill
from typing import Any, ClassVar

from pydantic import Field

from attune_bench.benchmarks.attunebench.baselines import see
from attune_bench.benchmarks.attunebench.parsing import Tally
from attune_bench.benchmarks.attunebench.task import PACKAGE
from attune_bench.report.columns import UNDEFINED
from attune_bench.runner.calls import (
    Call,
    Schema,
    choice_schema,
    integer_schema,
    list_schema,
    message,
    object_schema,
    unit_file_name,
)
from attune_bench.runner.prompts import Fence
from attune_bench.runner.task import TRIES, ModelSettings, Task, call_to_make, read_answer, recorded_settings
from attune_data import Conversation
from attune_data.attunebench.profile import instruments
from attune_data.attunebench.records import ComputedScores
from attune_data.record import ByKey, Record
from attune_data.repair import number
from attune_data.text import WIDTH, grid
from attune_metrics.attunebench.preferences import jaccard

CHOICES = ("country", "education", "gender", "age_range", "english_proficiency", "conversation_topic_attitude")
"""The traits with one of several options as value; the options are the values that occur among the participants."""

LISTS = ("work_edu_background", "diagnoses")
"""The traits with any number of options as value."""

SCORES = tuple(name for name in ComputedScores.model_fields if name in instruments and not name.endswith("_t"))
"""Raw scores of questionnaires; T-scores follow from them."""


class ProfilePrediction(Record):
    """What a model takes a participant to be.

    Examples
    --------
    >>> ProfilePrediction(conversation_id="c1", em_model="vendor/model", predicted={"gender": "Female"}).id
    'c1|vendor/model'
    """

    conversation_id: str = Field(description="The conversation that was read.")
    em_model: str = Field(alias="em_model", description="The model that read it.")
    predicted: ByKey[Any] = Field(
        default_factory=dict, description="Trait to value; one without a usable answer is absent."
    )

    @property
    def id(self) -> str:
        """Conversation and model."""
        return f"{self.conversation_id}|{self.em_model}"


def profile_values(conversation: Conversation) -> dict[str, Any]:
    """Return the traits of a participant that are known, by name."""
    about = conversation.participant_profile
    values = {
        "conversation_topic_attitude": about.conversation_topic_attitude,
        **{name: getattr(about.demographics, name) for name in (*CHOICES, *LISTS) if hasattr(about.demographics, name)},
        **{name: getattr(about.computed_scores, name) for name in SCORES},
    }
    return {name: value for name, value in values.items() if value not in (None, "", ())}


def profile_options(conversations: Iterable[Conversation]) -> dict[str, list[Any]]:
    """Return the traits that are asked for and their options: the values that occur among the participants.

    A trait with a single option is left out, as that would be the answer.
    """
    known = [profile_values(conversation) for conversation in conversations]
    traits: dict[str, list[Any]] = {name: sorted({value[name] for value in known if name in value}) for name in CHOICES}
    traits |= {name: sorted({item for value in known for item in value.get(name, ())}) for name in LISTS}
    traits |= {name: list(range(int(instruments[name].low), int(instruments[name].high) + 1)) for name in SCORES}
    return {name: values for name, values in traits.items() if len(values) > 1}


@dataclass(frozen=True, slots=True)
class ProfileSettings(ModelSettings):
    """Who is asked for profiles, and how: `ModelSettings`, and the traits.

    Parameters
    ----------
    options : mapping of str to sequence
        The traits that are asked for and their options, see `profile_options`.

    Raises
    ------
    ValueError
        As of `ModelSettings`, and where the name of the model is empty.
    """

    options: Mapping[str, Sequence[Any]] = field(default_factory=dict, hash=False)

    bundled: ClassVar[tuple[str, str]] = (PACKAGE, "profile-v1")

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("the name of the model is empty")
        ModelSettings.__post_init__(self)

    def provenance(self) -> dict[str, Any]:
        """Return the settings that a prediction records, apart from the model."""
        recorded = ModelSettings.provenance(self).items()
        return {name: value for name, value in recorded if name not in ("model", "options")}

    def read(self, said: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Return the answers that are options, and how many are not."""
        predicted = _read(said, self.options)
        return predicted, len(said) - len(predicted)


def _calls(conversation: Conversation, settings: ProfileSettings, answers: Mapping[str, str] | None) -> list[Call]:
    asked, note = _call(conversation, settings), settings.render("retry")
    call = call_to_make(asked, answers or {}, settings.read, note=note, tries=TRIES[settings.answer_format])
    return [] if call is None else [call]


def _assemble(conversation: Conversation, answers: Mapping[str, str], settings: ProfileSettings) -> ProfilePrediction:
    reading = read_answer(answers, "profile", settings.read)
    return ProfilePrediction.model_validate(
        {
            "conversationId": conversation.id,
            "em_model": settings.model,
            **settings.provenance(),
            "calls": {"profile": {"outcome": reading.outcome, "dropped": reading.dropped}},
            "predicted": reading.fields,
        }
    )


PROFILE: Task[Conversation, ProfileSettings] = Task(
    name="attunebench-profile",
    calls=_calls,
    assemble=_assemble,
    unit="conversation",
    # Hidden from loading: it is no run file.
    file_name=lambda conversation, settings: f"_profile_{unit_file_name(conversation.id, settings.model)}",
    fields=lambda _conversation, _settings, source: {"provider": source.providers["model"]},
    recorded=lambda settings, source: (
        recorded_settings(settings) | {"em_model": settings.model, "provider": source.providers["model"]}
    ),
)
"""Conversations, and what a model takes their participants to be from nothing but the conversation."""


def _call(conversation: Conversation, settings: ProfileSettings) -> Call:
    asked = settings.options
    turns = see(conversation).turns
    fence = Fence.around(conversation.id, [text for turn in turns for text in (turn.message, turn.reply)])
    blocks = [
        block for turn in turns for block in (fence.block("HP", turn.message), fence.block("response", turn.reply))
    ]
    request = settings.render(
        "profile",
        conversation="\n\n".join(blocks),
        choices=_listed(asked, CHOICES),
        lists=_listed(asked, LISTS),
        scores="\n".join(
            f"- {name}: {instruments[name].title}, {instruments[name].measures}; {asked[name][0]} to {asked[name][-1]}"
            for name in SCORES
        ),
    )
    properties = {name: _schema(name, values) for name, values in asked.items()}
    system = message("system", settings.render("system", boundary=fence.code))
    messages = (system, message("user", request))
    return Call("profile", settings.model, "model", messages, object_schema(properties), "profile")


def _schema(name: str, values: Sequence[Any]) -> Schema:
    if name in SCORES:
        return integer_schema(values[0], values[-1])
    return list_schema(choice_schema(values), len(values)) if name in LISTS else choice_schema(values)


def _listed(asked: Mapping[str, Sequence[Any]], names: Iterable[str]) -> str:
    return "\n".join(f"- {name}: {' | '.join(map(_shown, asked[name]))}" for name in names if name in asked)


def _shown(option: object) -> str:
    """Return an option on one line, where it cannot pass for a line of ours."""
    return " ".join(str(option).split())


def _read(answer: Mapping[str, Any], asked: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return the answers that are options; the others are missing."""
    read: dict[str, Any] = {}
    for name, values in asked.items():
        options = {_shown(value).casefold(): value for value in values}
        said = answer.get(name)
        if name in SCORES:
            said = number()(said, "", Tally())
        if name in LISTS:
            items = said if isinstance(said, list) else [said]
            chosen = [options[key] for item in items if (key := _shown(item).casefold()) in options]
            if chosen or said == []:
                read[name] = list(dict.fromkeys(chosen))
        elif said is not None and (key := _shown(said).casefold()) in options:
            read[name] = options[key]
    return read


_LEGEND = (
    "Told, predicted: conversations whose participant told the trait, and how many of these have a prediction, over "
    "which the score is the mean. Accuracy and jaccard (the share of two lists that they have in common): from 0 to "
    "1, higher is better. mae, mean absolute error in points of the questionnaire: lower is better. Constant guess: "
    "the score of the most frequent value, or of the median, guessed for everybody; a model that does not beat it has "
    "read nothing from the conversations."
)


@dataclass(frozen=True, slots=True)
class TraitScore:
    """One trait over all participants who told it.

    Attributes
    ----------
    trait, measure : str
        What was predicted; ``accuracy`` and ``jaccard`` are better when higher, ``mae`` when lower.
    n, answered : int
        Conversations with the trait, and how many of these have a prediction.
    score : float
        Mean over those with a prediction; nan where there is none.
    constant : float
        The same of the best constant guess on the same conversations: the most frequent value, or the median.
    """

    trait: str
    measure: str
    n: int
    answered: int
    score: float
    constant: float


def read_predictions(folder: Path, model: str) -> list[ProfilePrediction]:
    """Read the predictions of a model from a folder that `profile` wrote."""
    found = [json.loads(path.read_bytes()) for path in sorted(folder.glob("_profile_*.json"))]
    return [ProfilePrediction.model_validate(content) for content in found if content.get("em_model") == model]


def score_profiles(conversations: Iterable[Conversation], predictions: Iterable[ProfilePrediction]) -> list[TraitScore]:
    """Score predictions trait by trait.

    Parameters
    ----------
    conversations : iterable of Conversation
        With the profiles of their participants.
    predictions : iterable of ProfilePrediction
        Of one model.

    Returns
    -------
    list of TraitScore
        The scores of traits that somebody told. A prediction that is missing does not count as wrong, see `answered`.

    Examples
    --------
    >>> from attune_data import load
    >>> first, second = load("demo")[:2]
    >>> said = {"gender": first.participant_profile.demographics.gender}
    >>> predictions = [ProfilePrediction(conversation_id=first.id, em_model="m", predicted=said)]
    >>> [(one.n, one.answered, one.score) for one in score_profiles([first, second], predictions) if one.answered]
    [(2, 1, 1.0)]
    """
    predicted = {one.conversation_id: one.predicted for one in predictions}
    known = {conversation.id: profile_values(conversation) for conversation in conversations}
    scores = []
    for trait in (*CHOICES, *LISTS, *SCORES):
        told = {name: values[trait] for name, values in known.items() if trait in values}
        pairs = [(told[name], predicted[name][trait]) for name in told if trait in predicted.get(name, {})]
        if told:
            scores.append(_score(trait, len(told), pairs))
    return scores


def _score(trait: str, n: int, pairs: Sequence[tuple[Any, Any]]) -> TraitScore:
    score: Callable[[Any, Any], float]
    measure, score = "accuracy", lambda truth, guess: float(truth == guess)
    if trait in SCORES:
        measure, score = "mae", lambda truth, guess: abs(truth - guess)
    elif trait in LISTS:
        measure, score = "jaccard", jaccard
        pairs = [(frozenset(truth), frozenset(guess)) for truth, guess in pairs]
    if not pairs:
        return TraitScore(trait, measure, n, 0, nan, nan)
    truths = [truth for truth, _ in pairs]
    usual = median(truths) if trait in SCORES else Counter(truths).most_common(1)[0][0]
    of = fmean(score(truth, guess) for truth, guess in pairs)
    constant = fmean(score(truth, usual) for truth in truths)
    return TraitScore(trait, measure, n, len(pairs), of, constant)


def profile_table(scores: Sequence[TraitScore], columns: int = WIDTH) -> str:
    """Return scores as a table for a terminal of some width, and what its columns mean."""
    head = ["trait", "measure", "told", "predicted", "score", "constant guess"]
    rows = [
        [one.trait, one.measure, str(one.n), str(one.answered), _shown_number(one.score), _shown_number(one.constant)]
        for one in scores
    ]
    undefined = f" {UNDEFINED}: no prediction." if any(isnan(one.score) for one in scores) else ""
    return f"{grid(head, rows)}\n\n{fill(f'{_LEGEND}{undefined}', columns)}"


def _shown_number(value: float) -> str:
    return UNDEFINED if isnan(value) else f"{value:.3f}"
