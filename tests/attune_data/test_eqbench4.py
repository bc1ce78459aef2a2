"""Files of EQ-Bench 4: the script of the board, role-plays and indexes; what loading says of them."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from eqbench4_files import script_of, write_site
from synthetic.roleplays import entries, roleplays

from attune_data import load_records, recognise, show
from attune_data.eqbench4 import EQBench4Entry, EQBench4Roleplay
from attune_data.issues import PublishError, SourceError
from attune_data.kinds import ENTRY, ROLEPLAY
from attune_data.licences import named_licences, permitted, refusal

PLAYED = roleplays(scenarios=8, seed=2)


def rules(found: Any) -> dict[str, list[str]]:
    """Return the messages of issues by rule."""
    said: dict[str, list[str]] = {}
    for issue in found.found:
        said.setdefault(issue.rule, []).append(f"{issue.value}: {issue.message}")
    return said


def board(folder: Path, change: Callable[[list[Any]], object] = lambda _: None) -> Path:
    """Write the script of a board with changed entries."""
    script = script_of(PLAYED)
    begin = script.index("{")
    content = json.loads(script[begin:].rstrip(";\n"))
    change(content["models"])
    path = folder / "eqbench4_data.js"
    path.write_text(f"{script[:begin]}{json.dumps(content)};\n", encoding="utf-8")
    return path


def test_the_script_of_the_board_is_its_entries_and_its_role_plays(tmp_path: Path) -> None:
    path = board(tmp_path)
    assert recognise(path) is ENTRY
    found = load_records(path)
    assert (list(found), found.found) == (entries(PLAYED), ())
    cells = load_records(path, ROLEPLAY)
    assert len(cells) == len(PLAYED)
    # The values are right, the scenarios are not said: value 0 of two models is of two scenarios.
    for own in PLAYED:
        one = cells[f"{own.evaluated_model.replace('/', '_')} {own.i}/{own.evaluated_model}"]
        assert (one.dims, one.abilities) == (own.dims, own.abilities)
    assert len({one.scenario_id for one in PLAYED if one.i == 0}) > 1


@pytest.mark.parametrize("text", ["const EQBENCH4_DATA = {", "const X = 3;", "alert('a = {}')", ""])
def test_a_script_that_is_broken_or_of_something_else_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "eqbench4_data.js"
    path.write_text(text)
    found = load_records(path, ENTRY)
    assert len(found) == 0
    assert any(issue.severity == "error" for issue in found.found)


def test_a_broken_script_says_where(tmp_path: Path) -> None:
    path = board(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    assert "is the file cut off?" in load_records(path, ENTRY).found[0].message


def test_means_that_are_not_of_their_values_are_named(tmp_path: Path) -> None:
    def move(models: list[Any], by: float) -> None:
        models[1]["dims"]["yielding"] += by

    assert rules(load_records(board(tmp_path, lambda models: move(models, 0.004)))) == {}
    off = load_records(board(tmp_path, lambda models: move(models, 0.02)))
    assert [*rules(off)] == ["other-mean"]
    assert off.found[0].path == "$.dims.yielding"
    assert len(off) == 3


def test_missing_cells_of_the_board_are_named(tmp_path: Path) -> None:
    def lose(models: list[Any]) -> None:
        for lists in models[0]["profile_points"].values():
            for values in lists.values():
                values.pop()
        models[0] |= {"n_scenarios": 7, "dims": {}}
        for values in models[1]["profile_points"]["abilities"].values():
            del values[3:]
        models[2]["profile_points"]["traits"]["yielding"].pop()
        models[2]["dims"] = {}

    found = rules(load_records(board(tmp_path, lose)))
    assert found == {
        "missing-roleplay": ["7: synthetic/attentive has 7 of 8 role-plays; the file does not say of which scenarios"],
        "missing-margins": ["3: synthetic/even has margins of 3 of 8 role-plays; the file does not say which"],
        "number-of-values": ["8: not as many values as role-plays, 8: yielding"],
    }
    # Where a list of margins lacks some, none of its values is given to a role-play.
    cells = load_records(board(tmp_path, lose), ROLEPLAY)
    assert {one.evaluated_model for one in cells if not one.abilities} == {"synthetic/even"}
    assert sum(one.evaluated_model == "synthetic/attentive" for one in cells) == 7


@pytest.mark.parametrize("models", [[3], [{"model": "a", "n_scenarios": "9"}], [{"profile_points": []}], [None, {}]])
def test_entries_of_other_types_are_errors_and_no_crash(tmp_path: Path, models: list[Any]) -> None:
    path = tmp_path / "eqbench4_data.js"
    path.write_text(f"const EQBENCH4_DATA = {json.dumps({'ability_modes': {}, 'models': models})};")
    assert any(issue.severity == "error" for issue in load_records(path, ENTRY).found)
    with suppress(SourceError):
        assert load_records(path, ROLEPLAY).found


def test_a_folder_of_role_plays_loads_beside_its_indexes(tmp_path: Path) -> None:
    write_site(tmp_path, PLAYED)
    found = load_records(tmp_path / "transcripts")
    assert {one.id: one for one in found} == {one.id: one for one in PLAYED}
    assert {issue.severity for issue in found.found} == {"note"}


def written(folder: Path, played: list[EQBench4Roleplay]) -> Any:
    path = folder / "roleplays.jsonl"
    path.write_bytes(b"".join(one.to_line() + b"\n" for one in played))
    return load_records(path)


def test_a_role_play_that_most_models_have_is_missed(tmp_path: Path) -> None:
    lost = next(one for one in PLAYED if one.evaluated_model == "synthetic/hasty")
    found = rules(written(tmp_path, [one for one in PLAYED if one is not lost]))
    said = "synthetic/hasty has no role-play of 1 scenario that most models have"
    assert found == {"missing-roleplay": [f"{json.dumps(lost.scenario_id)}: {said}"]}
    # A scenario that one model alone has is missed of no other.
    assert rules(written(tmp_path, [*PLAYED, lost.model_copy(update={"scenario_id": "new"})])) == {}


def test_another_judge_is_named(tmp_path: Path) -> None:
    other = [
        one.model_copy(update={"pointwise_judge_model": "judge/b"}) if one.evaluated_model.endswith("even") else one
        for one in PLAYED
    ]
    (said,) = rules(written(tmp_path, other))["several-judges"]
    assert said == (
        '"judge/b": the judge of synthetic/even; others are judged by synthetic/judge, and judges have no common scale'
    )
    assert rules(written(tmp_path, PLAYED)) == {}
    unnamed = [
        one if one.evaluated_model.endswith("even") else one.model_copy(update={"pointwise_judge_model": None})
        for one in PLAYED
    ]
    assert "others are judged by nobody named" in rules(written(tmp_path, unnamed))["several-judges"][0]


def test_values_beyond_the_scale_and_missing_ones_are_named(tmp_path: Path) -> None:
    first, second, *rest = PLAYED
    changed = [
        first.model_copy(update={"dims": {**first.dims, "yielding": 11.0}, "abilities": {"attunement": -5.5}}),
        second.model_copy(update={"dims": {}}),
    ]
    found = rules(written(tmp_path, [*changed, *rest]))
    assert found == {
        "beyond-scale": ["11.0: a value is from 0 to 10", "-5.5: a value is from -5 to 5"],
        "not-scored": ["null: it has no tendencies"],
    }


def test_a_role_play_is_shown_with_thoughts_and_margins() -> None:
    text = show(PLAYED[0], columns=100)
    assert "naturalness_authenticity" in text
    assert "each against the model's neighbours" in " ".join(text.split())
    assert "thinks" in text
    assert PLAYED[0].turns[1].monologue in text
    assert "rating" in show(entries(PLAYED)[0], columns=100)


def test_texts_are_not_published_unless_the_record_states_a_licence() -> None:
    real = ROLEPLAY.collection([one.model_copy(update={"synthetic": False}) for one in PLAYED])
    for licence in ("mit", "cc0-1.0", "no-permission"):
        with pytest.raises(PublishError, match="the data of EQ-Bench 4 have no stated licence"):
            permitted(real, licence)
    own = [one.model_copy(update={"licence": "cc-by-4.0"}) for one in real]
    assert permitted(ROLEPLAY.collection(own), "cc-by-4.0")[0].id == "cc-by-4.0"
    with pytest.raises(PublishError, match="no stated licence"):
        permitted(ENTRY.collection([EQBench4Entry(model="a")]), "mit")
    stated = real[0].model_copy(update={"licence": "no licence stated"})
    with pytest.raises(PublishError, match="it has no stated licence"):
        permitted(ROLEPLAY.collection([stated]), "mit")
    # A page of a user's own copy has the texts, and says this.
    assert refusal(real[0], needs_licence=True) == ""
    assert named_licences(real) == [
        "none stated by EQ-Bench 4, so that they may not be passed on without its author's permission"
    ]
