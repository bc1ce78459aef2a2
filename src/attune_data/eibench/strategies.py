"""Hypothesis strategies of scenarios and episodes that load without an issue."""

from hypothesis import strategies as st

from attune_data.eibench.records import SCENES, Calibration, Episode, Profile, Scenario, State, Targets, WorstCase
from attune_data.testing import Json, filled, from_model, texts

_LEVELS = st.integers(0, 100)


@st.composite
def scenario_documents(draw: st.DrawFn) -> Json:
    """Draw a scenario whose anchors are in order."""
    anchors = st.lists(_LEVELS, min_size=3, max_size=3, unique=True).map(sorted)
    target_anger, start_anger, worst_anger = draw(anchors)
    worst_trust, start_trust, target_trust = draw(anchors)
    profile = from_model(Profile, {"system_prompt": filled, "opening_line": filled})
    start = {"initial_anger": st.just(start_anger), "initial_trust": st.just(start_trust)}
    target = {"target_anger": st.just(target_anger), "target_trust": st.just(target_trust)}
    worst = {"worst_anger": st.just(worst_anger), "worst_trust": st.just(worst_trust)}
    fields = {
        "scenario_id": filled,
        "split": st.none() | st.sampled_from(["test", "train"]),
        "aggressor_profile": profile,
        "defender_profile": profile,
        "initial_calibration": from_model(Calibration, start),
        "rub_goals": from_model(Targets, target),
        "worst_case": from_model(WorstCase, worst),
    }
    return draw(from_model(Scenario, fields))


@st.composite
def episode_documents(draw: st.DrawFn) -> Json:
    """Draw an episode that ended without a failure, of up to three rounds."""
    scene = draw(st.sampled_from(SCENES))
    states = {axis: draw(_LEVELS) for axis in ("anger", "trust")}
    initial = dict(states)
    history: list[Json] = [_person(draw, states, {})]
    for _ in range(draw(st.integers(0, 3))):
        deltas = {axis: draw(st.integers(-10, 10)) for axis in states}
        states = {axis: min(max(value + deltas[axis], 0), 100) for axis, value in states.items()}
        history += [
            {"role": "defender", "content": draw(filled)},
            _person(draw, states, {f"{axis}_delta": delta for axis, delta in deltas.items()}),
        ]
    ended_by = draw(st.sampled_from(["max_rounds", "simulator_stop"]))
    if ended_by == "simulator_stop":
        history[-1]["meta"]["stop_reason"] = draw(texts)
    fields = {
        "scenario_id": filled,
        "model": filled,
        "scene": st.just(scene),
        "ended_by": st.just(ended_by),
        "error": st.none(),
        "history": st.just(history),
        **{f"final_{axis}": st.just(value) for axis, value in states.items()},
        **{f"initial_{axis}": st.none() | st.just(value) for axis, value in initial.items()},
    }
    return draw(from_model(Episode, fields))


def _person(draw: st.DrawFn, states: dict[str, int], deltas: dict[str, int]) -> Json:
    """Draw what the person says, with the state after it."""
    known = {**states, **deltas}
    unknown = {name: None for name in ("anger_delta", "trust_delta") if name not in known}
    fields = {name: st.just(value) for name, value in {**known, **unknown}.items()}
    return {"role": "aggressor", "content": draw(filled), "meta": draw(from_model(State, fields))}
