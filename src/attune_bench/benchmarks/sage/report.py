"""SAGE's dialogues as texts on a page."""

from collections.abc import Iterator, Mapping
from itertools import chain

from attune_bench.report.columns import Figure
from attune_bench.report.transcripts import TranscriptView, facts, folded, message, state_paths
from attune_data.issues import Html, tag
from attune_data.sage import FAILURE, SUCCESS, SageDialogue, SageMessage

__all__ = ["VIEW"]


def _scenario(_: None, dialogues: Mapping[str, SageDialogue]) -> Iterator[Html | Figure]:
    first = next(iter(dialogues.values()))
    yield facts([("topic", first.topic), ("says they want", first.task), ("wants", first.target)])
    about = [("person", first.player), ("character", first.character), ("background", first.scene)]
    if any(text.strip() for _, text in about):
        yield folded("Who the person is", facts(about))
    paths = {name: _path(dialogue) for name, dialogue in dialogues.items()}
    if any(state is not None for path in paths.values() for state in path):
        yield Figure(
            state_paths(
                {"emotion": paths},
                anchors={"emotion": {"success": SUCCESS, "failure below": FAILURE}},
                last=max(len(path) for path in paths.values()) - 1,
            ),
            "Emotion of the person after each of their messages, 0 to 100, better higher, under every model. A line "
            "that stops is a dialogue that ended there; the records do not say how many rounds it could have had.",
        )


def _path(dialogue: SageDialogue) -> list[float | None]:
    return [one.emotion_point for one in dialogue.history if one.role == "user"]


def _dialogue(_: None, dialogue: SageDialogue) -> Iterator[Html]:
    yield facts([("ended", f"emotion {dialogue.emo_point}, {dialogue.emo_state or '-'}, {dialogue.outcome}")])
    yield from map(_message, dialogue.history)


def _message(one: SageMessage) -> Html:
    planning = one.planning
    reasons = [
        ("Reasoning", one.think or ""),
        ("Thought", one.thinking or ""),
        ("Felt", planning.activity),
        ("How near the aim is", planning.target_completion),
        ("What the reply was about", planning.content),
        ("How it was taken", planning.analyse),
    ]
    told = chain.from_iterable((tag("div", name, kind="quiet"), tag("p", text)) for name, text in reasons if text)
    is_person = one.role == "user"
    moved = "" if planning.change is None else f" ({planning.change:+d})"
    state = "" if one.emotion_point is None else f"emotion {one.emotion_point}{moved}"
    who = "Person" if is_person else "Model"
    return message(who, one.content, folded("Reasons", *told), person=is_person, state=state)


VIEW = TranscriptView(unit=_scenario, result=_dialogue)
"""How a page shows a scenario and its dialogues."""
