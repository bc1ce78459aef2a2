"""A collection as HTML: what it holds, how it came about, and its first records."""

from collections.abc import Sequence
from typing import Any

from attune_data.attunebench import annotations as said
from attune_data.attunebench.conversation import Conversation
from attune_data.attunebench.run import Run
from attune_data.display.html import page, table, tag
from attune_data.eibench.scenario import Episode, Scenario
from attune_data.sage.dialogue import SageDialogue

__all__ = ["collection_html"]

_SHOWN = 10


def collection_html(records: Sequence[Any], summary: str, asked: str) -> str:
    """Return a collection as a piece of HTML for a notebook.

    Parameters
    ----------
    records : sequence
        Conversations, runs, scenarios, episodes, or anything with an ``id``.
    summary : str
        How many of what there are, and issues.
    asked : str
        What was asked for to come here.

    Examples
    --------
    >>> "&lt;b&gt;" in collection_html([Conversation(conversation_id="<b>")], "1 conversation", "")
    True
    """
    shown = records[:_SHOWN]
    parts = [tag("p", f"Asked for: {asked}")] if asked else []
    if records:
        parts.append(table([_row(record) for record in shown], head=_head(records[0])))
    if len(records) > len(shown):
        parts.append(tag("div", f"and {len(records) - len(shown)} more", kind="quiet"))
    return page(summary, *parts)


def _head(record: Any) -> list[str]:
    if isinstance(record, Conversation):
        return ["id", "topic", "model", "turns", "diagnoses"]
    if isinstance(record, Run):
        return ["conversation", "model", "mode", "turns"]
    if isinstance(record, Scenario):
        return ["id", "scene", "split", "title"]
    return ["scenario", "model", "outcome"] if isinstance(record, Episode | SageDialogue) else ["id"]


def _row(record: Any) -> list[str]:
    if isinstance(record, Conversation):
        diagnoses = record.participant_profile.demographics.diagnoses
        model = record.metadata.model or ""
        return [record.id, said.topic(record), model, str(len(record.turns)), ", ".join(diagnoses)]
    if isinstance(record, Run):
        return [record.conversation_id, record.em_model, record.mode, str(len(record.turns))]
    if isinstance(record, Scenario):
        return [record.id, record.scene, record.split or "", record.title or ""]
    if isinstance(record, Episode | SageDialogue):
        return [record.scenario_id, record.model or "", record.outcome or ""]
    return [str(record.id)]
