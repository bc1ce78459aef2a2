"""The kind of record of SAGE: a dialogue of a model with a simulated person."""

from functools import cached_property

from attune_data.collection import Collection
from attune_data.kind import Kind, Place
from attune_data.sage.description import describe_dialogues
from attune_data.sage.dialogue import SageDialogue
from attune_data.sage.rules import check_dialogue, fix_dialogue
from attune_data.sage.tables import SageTables, dialogue_builder
from attune_data.sage.transcript import dialogue_transcript

__all__ = ["DIALOGUE", "Dialogues"]


class Dialogues(Collection[SageDialogue]):
    """Dialogues of SAGE."""

    @property
    def kind(self) -> "Kind[SageDialogue, Dialogues]":
        """What the records are."""
        return DIALOGUE

    @cached_property
    def tables(self) -> SageTables:
        """The dialogues as tidy frames, each built once, when first asked for."""
        return self._made(SageTables)


def _model(dialogue: SageDialogue, place: Place | None) -> SageDialogue:
    """Fill in the model, after which a dialogue's file is named."""
    return dialogue.placed(model=None if place is None else place.stem.removesuffix("_result") or None)


DIALOGUE: Kind[SageDialogue, Dialogues] = Kind(
    noun="dialogue",
    plural="dialogues",
    model=SageDialogue,
    collection=Dialogues,
    loader="load_sage",
    keys=frozenset(("emo_point", "emo_state")),
    docs="sage.md",
    fix=fix_dialogue,
    check=check_dialogue,
    place=_model,
    key=lambda dialogue: dialogue.key,
    identity="scenario and model",
    prefer="*_result.jsonl",
    demo="sage/demo_dialogues.jsonl",
    columns=("id", "history"),
    tables=SageTables,
    build=dialogue_builder,
    overview={
        "scenario": lambda dialogue: dialogue.scenario_id,
        "model": lambda dialogue: dialogue.model or "",
        "outcome": lambda dialogue: dialogue.outcome,
    },
    transcript=dialogue_transcript,
    messages=lambda dialogue: [(message.role, message.content) for message in dialogue.history],
    describe=describe_dialogues,
    documents="attune_data.sage.strategies:dialogue_documents",
    synthetic="attune_data.sage.synthetic:dialogues",
)
