"""Result files of Spiral-Bench: taken apart, what is reported, spans in transcripts, stored scores never used."""

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from attune_data import load_records, recognise, show
from attune_data.kinds import CHATLOG
from attune_data.spiralbench import BEHAVIOURS

Json = dict[str, Any]


def chunk(reply: int, **spans: list[list[Any]]) -> Json:
    named = {name.replace("_", " "): spans.get(name, []) for name in BEHAVIOURS}
    return {
        "metrics": {name.title(): float(sum(span[1] for span in found)) for name, found in named.items()},
        "full_metrics": named,
        "assistant_turn_indexes": [reply],
        "raw_text": "# Reasoning",
    }


def conversation(**changed: Any) -> Json:
    said = [{"role": ("user", "assistant")[turn % 2], "content": f"text {turn}"} for turn in range(5)]
    return {
        "prompt_id": "sc01",
        "category": "spiral_tropes",
        "user_model": "vendor/person",
        "evaluated_model": "vendor/m",
        "convo_index": 0,
        "transcript": said,
        "completed": True,
        "judgements": {"chunk0": chunk(1, pushback=[["text", 3], ["3", 1]])},
        "final_judgement": {"off_rails": 2, "safety": 8, "social_dexterity": 7},
        **changed,
    }


def written(folder: Path, *conversations: Any, stored: Any = None) -> Path:
    meta = {} if stored is None else {"__meta__": {"scoring_summary": stored}}
    path = folder / "m.json"
    path.write_text(json.dumps({"1": {"prompts.json": {"sc01": [*conversations]}, **meta, "scoring_summary": []}}))
    return path


def test_a_file_is_taken_apart_and_its_stored_score_is_an_issue(tmp_path: Path) -> None:
    path = written(tmp_path, conversation(), conversation(), stored=[{"score_0_100": 44.6}])
    assert recognise(path) is CHATLOG
    first, second = found = load_records(path)
    assert (first.id, second.id) == ("sc01/vendor/m", "sc01/vendor/m/repeat-2")
    assert (first.stored_score, second.stored_score) == (44.6, None)
    assert [(one.rule, one.file, one.value, one.consequence) for one in found.found] == [
        ("stored-score", "m.json:1", "44.6", "kept; never used")
    ]
    [judged] = first.judgements
    assert (judged.name, judged.replies, judged.values["pushback"], judged.values["de-escalation"]) == (
        "chunk0", (1,), 4.0, 0.0
    )  # fmt: skip
    assert [(span.behaviour, span.text, span.intensity) for span in judged.spans] == [
        ("pushback", "text", 3), ("pushback", "3", 1)
    ]  # fmt: skip
    table = attrgetter("chatlogs")(found.tables)
    assert table.select("model", "off_rails").rows() == [("vendor/m", 2)] * 2
    assert len(found.where(category="spiral_tropes")) == 2
    assert load_records(written(tmp_path, conversation(), stored="none")).found == ()


def test_conversations_of_two_models_in_one_file_are_no_repeats(tmp_path: Path) -> None:
    other = conversation(evaluated_model="vendor/n")
    found = load_records(written(tmp_path, conversation(), other, other))
    assert [one.id for one in found] == ["sc01/vendor/m", "sc01/vendor/n", "sc01/vendor/n/repeat-2"]


def test_spans_stand_below_the_reply_that_was_judged(tmp_path: Path) -> None:
    text = show(load_records(written(tmp_path, conversation()))[0], columns=60)
    # The first reply, text 1, is not judged; the second is text 3.
    assert "Model\n  text 1\n\nPerson\n  text 2\n\nModel\n  text 3\n  pushback 3" in text
    assert text.index("off rails         2 of 10") < text.index("text 0")


@pytest.mark.parametrize(
    ("changed", "rule", "path", "value"),
    [
        ({"judgements": {"chunk0": {"error": "cut off"}}}, "chunk-not-judged", "$.judgements[0]", '"cut off"'),
        (
            {"judgements": {"chunk0": {"metrics": {"pushback": 1.0, "flattery": 2}}}}, "behaviours-of-chunk",
            "$.judgements[0].values", '["consciousness_claims", "de-escalation",',
        ),
        (
            {"judgements": {"chunk0": chunk(1, pushback=[["text", 3]]) | {"metrics": dict.fromkeys(BEHAVIOURS, 0)}}},
            "sum-of-spans", "$.judgements[0].values.pushback", "0",
        ),
        ({"final_judgement": None}, "not-scored", "$.final_judgement", "null"),
        ({"final_judgement": {"off_rails": 12}}, "invalid-value", "$.final_judgement.off_rails", "12"),
        ({"judgements": {"chunk0": 3}}, "invalid-value", "$.judgements[0]", "3"),
        (
            {
                "judgements": {
                    "chunk0": chunk(1, pushback=[["text", 3]]) | {"full_metrics": {"pushback": ["a", ["b", "high"]]}}
                }
            },
            "sum-of-spans", "$.judgements[0].values.pushback", "3",
        ),
        *(
            (
                {"judgements": {"chunk0": {"full_metrics": {"pushback": [["a", 3], ["b", odd]]}}}},
                "intensity-of-span", "$.judgements[0].spans[1].intensity", f'"{odd}"',
            )
            for odd in (True, False, "high", 1e300, -1, [2])
        ),
        ({"judgements": "none"}, "invalid-value", "$.judgements", '"none"'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_an_issue_with_its_place(
    tmp_path: Path, changed: Json, rule: str, path: str, value: str
) -> None:
    found = load_records(written(tmp_path, conversation(), conversation(**changed))).found
    [issue] = [one for one in found if (one.rule, one.path) == (rule, path)]
    assert issue.file == "m.json:2"
    assert issue.value.startswith(value)
