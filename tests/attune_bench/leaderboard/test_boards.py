"""Which entries share a board, and what their scores are together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores, score
from attune_bench.leaderboard.boards import Board, Entry, make_boards
from attune_bench.scores.parts import GroupSettings
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import differences
from attune_data import load, load_runs
from attune_metrics.metric import MetricInputError

DECISIVE = {"temperature": "temperature", "judge": "judge"}


def entry(model: str, values: Sequence[float | None] = (1.0, 2.0), *, traits: Any = None, **changes: Any) -> Entry:
    """Return an entry of one model, with other provenance where `changes` say so."""
    units = [f"u{place}" for place in range(len(values))]
    frame = pl.DataFrame({"model": model, "unit": units, "metric": "hit", "value": values, **(traits or {})})
    scores = Scores.from_table(frame, metrics={"hit": {"label": "Hits"}}, about={"title": "Own"})
    return Entry(f"{model}.csv", replace(scores, provenance=scores.provenance.model_copy(update=changes)))


def run_with(model: str, **settings: Any) -> Entry:
    """Return an entry of a model whose runs have settings."""
    own = GroupSettings(model=model, settings={name: (value,) for name, value in settings.items()})
    return entry(model, settings=(own,), comparability_keys=DECISIVE)


def models(boards: Sequence[Board]) -> list[tuple[str, tuple[str, ...]]]:
    return [(board.title, board.table.models) for board in boards]


def test_entries_that_agree_share_a_board() -> None:
    [board] = make_boards([entry("b"), entry("a", [3.0])])
    assert board.table.models == ("a", "b")
    assert board.table.values.sort("model", "unit").rows() == [
        ("a", None, "u0", 3.0),
        ("b", None, "u0", 1.0),
        ("b", None, "u1", 2.0),
    ]
    assert board.table.units["unit"].to_list() == ["u0", "u1"]
    assert board.sources["a", None].name == "a.csv"


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"data": "0123456789abcdef"}, "data 0123456789ab"),
        ({"protocol": "released"}, "protocol released"),
        ({"variant": {"failed": "worst"}}, "failed worst"),
        ({"codebook": "v9"}, "codebook v9"),
    ],
)
def test_other_provenance_is_another_board(changes: dict[str, Any], title: str) -> None:
    boards = make_boards([entry("a"), entry("b"), entry("c", **changes)])
    assert [names for _, names in models(boards)] == [("a", "b"), ("c",)]
    assert boards[1].title == f"Own: {title}"


def test_another_benchmark_and_another_definition_are_other_boards() -> None:
    other = Scores.from_table(
        pl.DataFrame({"model": "c", "unit": "u0", "metric": "hit", "value": [1.0]}),
        metrics={"hit": {"label": "Hits", "higher_is_better": False}},
        about={"title": "Own"},
    )
    titled = entry("d", title="Another")
    found = [names for _, names in models(make_boards([entry("a"), Entry("c.csv", other), titled]))]
    assert sorted(found) == [("a",), ("c",), ("d",)]


def test_tables_of_other_units_are_other_boards() -> None:
    def of(model: str, *units: str) -> Entry:
        frame = pl.DataFrame({"model": model, "unit": units, "metric": "hit", "value": 1.0})
        return Entry(f"{model}.csv", Scores.from_table(frame))

    boards = make_boards([of("a", "q1", "q2"), of("b", "x1", "x2"), of("c", "q3"), of("d", "q2", "q3")])
    # d joins a and c.
    assert models(boards) == [("Scores: units q1 to q3", ("a", "c", "d")), ("Scores: units x1 to x2", ("b",))]


def test_settings_that_change_an_answer_are_other_boards() -> None:
    entries = [run_with("a", temperature=0.0), run_with("b", temperature=0.0), run_with("c", temperature=0.7)]
    boards = make_boards(entries)
    assert models(boards) == [("Own: temperature 0", ("a", "b")), ("Own: temperature 0.7", ("c",))]
    assert all(not differences(board.table) for board in boards)


def test_a_setting_that_does_not_apply_contradicts_none() -> None:
    entries = [run_with("a", temperature=0.0), run_with("b", temperature=0.0, judge="j")]
    [board] = make_boards(entries)
    assert board.table.models == ("a", "b")
    assert not differences(board.table)


def test_a_setting_that_is_not_recorded_is_another_board() -> None:
    boards = make_boards([run_with("a", temperature=0.0, judge="j"), entry("b", comparability_keys=DECISIVE)])
    assert [board.table.models for board in boards] == [("a",), ("b",)]


def test_what_is_recorded_only_where_it_is_set_is_another_board_too() -> None:
    entries = [run_with("a", temperature=0.0), run_with("b", temperature=0.0, reasoning_effort="low")]
    boards = make_boards([*entries, run_with("c", temperature=0.0)])
    assert [board.table.models for board in boards] == [("a", "c"), ("b",)]
    assert ["reasoning effort low" in board.title for board in boards] == [False, True]
    [board] = make_boards([entries[0], run_with("c", temperature=0.0)])
    assert "reasoning" not in str(board)


def test_people_and_baselines_are_on_every_board_of_their_data() -> None:
    entries = [run_with("a", temperature=0.0), run_with("b", temperature=0.7), run_with("baseline/chance")]
    assert [board.table.models for board in make_boards(entries)] == [
        ("a", "baseline/chance"),
        ("b", "baseline/chance"),
    ]
    [alone] = make_boards([entry("baseline/chance"), entry("baseline/chance")])
    assert alone.table.models == ("baseline/chance",)


def test_two_files_of_one_model() -> None:
    with pytest.raises(MetricInputError, match=r"a\.csv and a\.csv both have scores of 'a'; leave one out"):
        make_boards([entry("a"), entry("a", [2.0])])


@pytest.mark.parametrize("name", ["human/ann", "baseline/prior"])
def test_a_person_may_be_in_many_files_that_say_the_same(name: str) -> None:
    one, other = entry(name, [1.0, 2.0]), entry(name, [1.0, 2.0])
    [board] = make_boards([one, other, entry("m")])
    assert board.table.models == (name, "m")
    assert board.table.values.height == 4
    for values in ([1.0, 3.0], [1.0, 2.0, 3.0], [1.0, None]):
        with pytest.raises(MetricInputError, match=rf"{name}\.csv and {name}\.csv have different scores of '{name}'"):
            make_boards([one, entry(name, values)])


def test_boards_of_other_units_and_settings_have_titles_of_their_own() -> None:
    apart = entry("c")
    units = apart.table.units.with_columns(unit=pl.Series(["v0", "v1"]))
    values = apart.table.values.with_columns(unit=pl.Series(["v0", "v1"]))
    elsewhere = Entry("c.csv", replace(apart.table, units=units, values=values))
    boards = make_boards([entry("a"), elsewhere, entry("b", cluster="lesson")])
    assert models(boards) == [
        ("Own: cluster lesson", ("b",)),
        ("Own: cluster unit, units u0 to u1", ("a",)),
        ("Own: cluster unit, units v0 to v1", ("c",)),
    ]


def test_files_that_contradict_each_other() -> None:
    one, other = entry("a", traits={"topic": ["x", "y"]}), entry("b", traits={"topic": ["x", "z"]})
    with pytest.raises(MetricInputError, match=r"topic of unit 'u1' is 'y' in a\.csv and 'z' in b\.csv"):
        make_boards([one, other])


def test_files_that_spell_a_participant_otherwise_share_a_board() -> None:
    """Files of earlier versions have participants in small letters."""
    people = [
        entry("a", traits={"cluster": ["s1", "s2"]}),
        entry("b", [1.0] * 3, traits={"cluster": ["S1", "S2", "S2"]}),
    ]
    with pytest.raises(MetricInputError, match=r"cluster of unit 'u0' is 's1' in a\.csv and 'S1' in b\.csv"):
        make_boards(people)
    private = [Entry(one.name, replace(one.table, provenance=one.table.provenance.model_copy(update={"private": True})))
               for one in people]  # fmt: skip
    [board] = make_boards(private, small_cells=True)
    assert board.table.units["cluster"].to_list() == ["S1", "S2", "S2"]


def test_what_one_file_says_of_a_unit_counts_for_all() -> None:
    [board] = make_boards([entry("a", traits={"topic": ["x", None]}), entry("b", [1.0] * 3)])
    assert board.table.units.select("unit", "topic").rows() == [("u0", "x"), ("u1", None), ("u2", None)]


def test_the_signature_names_all_runs() -> None:
    [board] = make_boards([entry("a", runs="r1", data="d"), entry("b", runs="r2", data="d")])
    held = board.table.provenance
    assert held.data == "d"
    assert held.runs not in (None, "r1", "r2")
    [unknown] = make_boards([entry("a", runs="r1", data="d"), entry("b", data="d")])
    # Which runs they are is not known: the signature hashes the scores.
    assert (unknown.table.provenance.data, unknown.table.provenance.runs) == (None, None)


def _few_people() -> ScoreTable:
    scores = score(load("demo"), load_runs("demo"))
    people = scores.units["cluster"].unique().sort()[:4]
    kept = scores.units.filter(pl.col("cluster").is_in(people.implode()))["unit"]
    every = pl.col("model") == "synthetic/attentive"
    values = scores.values.filter(every | pl.col("unit").is_in(kept.implode()))
    return replace(scores, values=values, detail=None)


@pytest.mark.slow
def test_models_that_were_run_on_few_people_are_left_out() -> None:
    one = Entry("few.parquet", _few_people())
    [board] = make_boards([one])
    assert board.table.models == ("synthetic/attentive",)
    assert board.left_out == ["synthetic/hasty [default]: composite_score of fewer than 5 participants"]
    [board] = make_boards([one], small_cells=True)
    assert len(board.table.models) == 2


def test_no_entries() -> None:
    with pytest.raises(MetricInputError, match="no entries"):
        make_boards([])
