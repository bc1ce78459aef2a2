"""Predicting the participant's profile from the conversation alone; an experiment."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from attune_bench.benchmarks.attunebench.model_view import see
from attune_bench.benchmarks.attunebench.parsing import Tally, find_object
from attune_bench.benchmarks.attunebench.run_files import run_file_name
from attune_bench.benchmarks.attunebench.running import job_of, synchronous
from attune_bench.benchmarks.attunebench.settings import Settings
from attune_bench.runner.calls import Call, Complete
from attune_bench.runner.engine import work_through
from attune_bench.runner.folder import RunError
from attune_bench.runner.jobs import Job, Options, Outcome, Watch
from attune_bench.runner.prompts import Fence, load_prompts
from attune_bench.runner.providers import Endpoint
from attune_data import Conversation, Run
from attune_data.attunebench.instruments import instruments
from attune_data.attunebench.parts import ComputedScores
from attune_data.fixes import number
from attune_data.record import ByKey, Record

__all__ = ["CHOICES", "LISTS", "SCORES", "ProfilePrediction", "profile", "profile_sync", "profile_values"]

CHOICES = ("country", "education", "gender", "age_range", "english_proficiency", "conversation_topic_attitude")
"""What is one of several options; the options are those that occur among all participants."""

LISTS = ("work_edu_background", "diagnoses")
"""What is any number of options."""

SCORES = tuple(name for name in ComputedScores.model_fields if name in instruments and not name.endswith("_t"))
"""Raw scores of questionnaires; T-scores follow from them."""

_PROMPTS = "profile-v1"


class ProfilePrediction(Record):
    """What a model takes a participant to be.

    Examples
    --------
    >>> ProfilePrediction(conversation_id="c1", em_model="vendor/model", predicted={"gender": "Female"}).id
    'c1|vendor/model'
    """

    conversation_id: str = Field(description="The conversation that was read.")
    em_model: str = Field(alias="em_model", description="The model that read it.")
    predicted: ByKey[Any] = Field({}, description="Trait to value; one without a usable answer is absent.")

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


async def profile(
    conversations: Sequence[Conversation],
    settings: Settings,
    endpoint: Endpoint,
    *,
    output: str | Path,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Ask a model for the profile of the participant of each conversation, showing nothing but the conversation.

    Parameters
    ----------
    conversations : sequence of Conversation
        All that are compared: the options of a trait are the values that occur among them; what has no two is not
        asked.
    settings : Settings
        Model, temperature and seed.
    endpoint : Endpoint
        Where the model is served.
    output : str or Path
        Folder of the answers, a file for each conversation that loading passes over, and of the journal.
    options, watch
        As of `run`.

    Returns
    -------
    Outcome
        What is finished and what is not.

    Raises
    ------
    RunError
        As of `run`.
    PriceError
        As of `run`.
    """
    if not conversations:
        raise RunError("there are no conversations to read")
    own = replace(
        settings, judges=(), mode="default", prompts=load_prompts("attune_bench.benchmarks.attunebench", _PROMPTS)
    )
    known = [profile_values(conversation) for conversation in conversations]
    traits: dict[str, list[Any]] = {name: sorted({value[name] for value in known if name in value}) for name in CHOICES}
    traits |= {name: sorted({item for value in known for item in value.get(name, ())}) for name in LISTS}
    traits |= {name: list(range(int(instruments[name].low), int(instruments[name].high) + 1)) for name in SCORES}
    # A single option would be the answer itself.
    asked = {name: values for name, values in traits.items() if len(values) > 1}
    how = options or Options()
    jobs = [_job(conversation, own, how, asked) for conversation in conversations]
    return await work_through(jobs, {"model": endpoint}, Path(output), how, watch)


profile_sync = synchronous(profile)


def _job(conversation: Conversation, settings: Settings, options: Options, asked: Mapping[str, Sequence[Any]]) -> Job:
    call = _call(conversation, settings, asked)

    async def make(complete: Complete) -> ProfilePrediction:
        predicted: dict[str, Any] = {}
        for attempt in (0, 1):
            again = {"role": "user", "content": settings.prompts.render("retry")}
            messages = (*call.messages, again) if attempt else call.messages
            found = find_object(await complete(replace(call, messages=messages), attempt))
            predicted = _read(found.value, asked) if found else {}
            if predicted:
                break
        return ProfilePrediction.model_validate(
            {
                "conversationId": conversation.id,
                "em_model": settings.model,
                **settings.provenance(),
                "predicted": predicted,
            }
        )

    stub = Run(conversation_id=conversation.id, em_model=settings.model)
    # Hidden from loading: it is no run file.
    name, request = f"_profile_{run_file_name(stub)}", [list(call.messages), call.schema]
    return job_of(conversation.id, settings, options, name, {"request": request}, (settings.model,), 1, make)


def _call(conversation: Conversation, settings: Settings, asked: Mapping[str, Sequence[Any]]) -> Call:
    turns = see(conversation).turns
    fence = Fence.around(conversation.id, [text for turn in turns for text in (turn.message, turn.reply)])
    blocks = [
        block for turn in turns for block in (fence.block("HP", turn.message), fence.block("response", turn.reply))
    ]
    prompts = settings.prompts
    request = prompts.render(
        "profile",
        conversation="\n\n".join(blocks),
        choices=_listed(asked, CHOICES),
        lists=_listed(asked, LISTS),
        scores="\n".join(
            f"- {name}: {instruments[name].title}, {instruments[name].measures}; {asked[name][0]} to {asked[name][-1]}"
            for name in SCORES
        ),
    )
    properties = {
        name: {"type": "array", "items": {"enum": list(values), "type": "string"}, "maxItems": len(values)}
        if name in LISTS
        else {"type": "integer" if name in SCORES else "string", "enum": list(values)}
        for name, values in asked.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(asked), "additionalProperties": False}
    system = {"role": "system", "content": prompts.render("system", boundary=fence.code)}
    return Call("profile", settings.model, "model", (system, {"role": "user", "content": request}), schema, "profile")


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
