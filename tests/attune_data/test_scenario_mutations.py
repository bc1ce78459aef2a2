"""Whatever stands in a record of EIBench or SAGE: it loads or is left out with a reason, and what loads has tables."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attune_data import Collection, load_episodes, load_sage, load_scenarios

Json = dict[str, Any]

SCENARIO: Json = {
    "id": "scene_repair_07",
    "scene_tag": "repair",
    "split": "test",
    "title": "The lent umbrella",
    "aggressor_profile": {"system_prompt": "You lent it.", "opening_line": "So where is it?"},
    "defender_profile": {"system_prompt": "You lost it."},
    "success_criteria": ["It is said plainly"],
    "success_criteria_weights": [1.0],
    "initial_calibration": {"initial_anger": 60, "initial_trust": 30},
    "rub_goals": {"target_anger": 20, "target_trust": 65},
    "worst_case": {"worst_anger_min": 90, "worst_trust_min": 5, "reason": "It was a gift."},
    "prompt": [{"role": "system", "content": "You lost it."}],
}
EPISODE: Json = {
    "model": "vendor/model",
    "profile_id": "scene_repair_07",
    "scene_tag": "repair",
    "ended_by": "simulator_stop",
    "n_rounds": 1,
    "final_anger": 50,
    "final_trust": 40,
    "reward": 0.3,
    "error": None,
    "history": [
        {"role": "aggressor", "content": "So?", "meta": {"anger": 60, "trust": 30}},
        {"role": "defender", "content": "I lost it."},
        {
            "role": "aggressor",
            "content": "Oh.",
            "meta": {
                "anger": 50,
                "trust": 40,
                "anger_delta": -10,
                "reflection": "x",
                "stop_reason": "",
                "parse_failed": False,
            },
        },
    ],
}
DIALOGUE: Json = {
    "id": "0b1e",
    "model": "m",
    "emo_point": 45,
    "emo_state": "Emotion-B",
    "scene": "a lost key",
    "history": [
        {"role": "user", "content": "I lost it.", "emotion-point": 40},
        {"role": "assistant", "content": "When?", "think": "ask"},
        {
            "role": "user",
            "content": "Now.",
            "thinking": "?",
            "emotion-point": 45,
            "planning": {"analyse": "kind", "change": 5},
        },
    ],
}
KINDS: list[tuple[Json, Callable[[Any], Collection[Any]]]] = [
    (SCENARIO, load_scenarios),
    (EPISODE, load_episodes),
    (DIALOGUE, load_sage),
]
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    41,
    7.5,
    1e300,
    10**40,
    "",
    " ",
    "41",
    "yes",
    "\ud800",
    [],
    [None],
    ["a"],
    [[]],
    {},
]
ODD += [{"a": 1}, [{"role": "user"}], {"row": {}}]


def places(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        yield (*way, step)
        yield from places(item, (*way, step))


def bent(record: Json, way: tuple[str | int, ...], value: Any) -> Json:
    changed = place = copy.deepcopy(record)
    for step in way[:-1]:
        place = place[step]  # type: ignore[index]
    place[way[-1]] = value  # type: ignore[index]
    return changed


@pytest.mark.parametrize(("record", "loader"), KINDS, ids=["scenario", "episode", "dialogue"])
def test_any_value_anywhere(record: Json, loader: Callable[[Any], Collection[Any]], tmp_path: Path) -> None:
    source = tmp_path / "one.json"
    source.write_text(json.dumps(record))
    assert (len(loader(source)), loader(source).found) == (1, ())
    for way in places(record):
        for value in ODD:
            changed = bent(record, way, value)
            source.write_text(json.dumps(changed))
            loaded = loader(source)
            errors = [issue for issue in loaded.found if issue.severity == "error"]
            assert len(loaded) == (not errors), (way, value, errors)
            for _, frame in loaded.tables._frames():
                assert frame.height <= 3
            if not loaded.found:  # Nothing was changed, so it is written as it was.
                assert json.loads(loaded[0].to_json()) == changed, (way, value)
            for one in loaded:
                again = tmp_path / "again.jsonl"
                loaded.to_jsonl(again)
                assert list(loader(again)) == [one], (way, value)
                assert repr(one).isprintable()
