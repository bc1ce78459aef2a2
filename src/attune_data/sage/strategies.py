"""Hypothesis strategies of dialogues that load without an issue."""

from hypothesis import strategies as st

from attune_data.sage import Planning, SageDialogue, SageMessage, emotion_state
from attune_data.testing import Json, filled, from_model


@st.composite
def dialogue_documents(draw: st.DrawFn) -> Json:
    """Draw a dialogue of up to three replies, whose emotion moves as it says."""
    point = draw(st.integers(0, 100))
    history = [_person(draw, point, None)]
    for _ in range(draw(st.integers(0, 3))):
        change = draw(st.integers(-10, 10))
        point = min(max(point + change, 0), 100)
        reply = {"role": st.just("assistant"), "content": filled, "emotion_point": st.none(), "planning": st.none()}
        history += [draw(from_model(SageMessage, reply)), _person(draw, point, change)]
    fields = {
        "scenario_id": filled,
        "model": filled,
        "emo_point": st.just(point),
        "emo_state": st.just(emotion_state(point)),
        "history": st.just(history),
    }
    return draw(from_model(SageDialogue, fields))


def _person(draw: st.DrawFn, point: int, change: int | None) -> Json:
    """Draw what the person says, with the emotion after it and how it changed."""
    fields = {
        "role": st.just("user"),
        "content": filled,
        "emotion_point": st.just(point),
        "planning": from_model(Planning, {"change": st.just(change)}),
    }
    return draw(from_model(SageMessage, fields))
