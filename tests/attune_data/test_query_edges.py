"""Queries at their edges: odd conditions, one participant in several spellings, answers that say there is none."""

import random
import re
from math import nan
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

from attune_data import Conversation, Conversations, all_of, load, load_runs, load_scenarios, none_of
from attune_data.attunebench.tables import Tables
from attune_data.licences import licences
from attune_data.publishing import dataset_card
from attune_data.query import CliValue, Match, Traits, Unit, matching, strata

Records = Conversations


def person(name: str, participant: str | None = "P1", **answers: Any) -> Conversation:
    profile = {"participant_id": participant, "demographics": answers}
    return Conversation.model_validate({"conversationId": name, "participant_profile": profile})


def ids(records: Any) -> list[str]:
    return [record.id for record in records]


def test_a_condition_sees_the_columns_of_the_table_alone() -> None:
    # No integer column holds 1 or 2, but the positions of the second and the third conversation are 1 and 2.
    records = Conversations([person(name) for name in "abc"])
    assert ids(records.filter(pl.any_horizontal(cs.integer().is_between(1, 2)))) == []
    assert ids(records.filter(pl.first() == "b")) == ["b"]
    assert ids(records.filter(pl.nth(0) == "c")) == ["c"]


def test_one_answer_for_all_goes_for_each() -> None:
    records = Conversations([person("a", country="Peru"), person("b"), person("c", country="Chile")])
    for condition in ("1 = 1", pl.lit(value=True), pl.len() == 3):
        assert ids(records.filter(condition)) == ["a", "b", "c"]
    assert ids(records.filter(pl.lit(value=False))) == []
    assert ids(records.filter("country <> 'Peru'")) == ["c"]  # no answer is neither
    assert ids(records[:0].filter("1 = 1")) == []


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("who_5", "it gives Int64; expected one answer, true or false, for each conversation"),
        ("null", "it gives Null"),
        ("country ~ '('", "regex error"),
        (pl.all().is_not_null(), "duplicate"),
        ((pl.col("n_turns") > 5).head(1), "length 1 doesn't match"),
    ],
)
def test_a_condition_without_an_answer_for_each_is_an_error(condition: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=f"does not fit its columns: .*{reason}"):
        load("demo").filter(condition)


@pytest.mark.parametrize("condition", [None, True, len, pl.Series([True] * 40)])
def test_what_is_no_condition_is_an_error(condition: Any) -> None:
    with pytest.raises(TypeError, match="a condition is a polars expression or an SQL text, not"):
        load("demo").filter(condition)


SPELT = ["P1", "P1 ", "p1", "\tP1", " ", "", None, "No answer"]


def test_a_participant_is_one_in_any_spelling() -> None:
    # One person in four spellings; the other four conversations name nobody, so that each is by itself.
    records = Conversations([person(str(n), name) for n, name in enumerate(SPELT)])
    assert ids(records.where(participant_id="P1")) == ["0", "1", "2", "3"]
    for seed in range(20):
        for part in records.split(0.4, 0.6, seed=seed):
            assert len({"0", "1", "2", "3"} & set(ids(part))) in (0, 4)
    with pytest.raises(ValueError, match="cannot sample 6 participants of 5"):
        records.sample(6, seed=0)
    assert " 8 conversations, 1 participant," in repr(records)
    assert repr(records.tables) == "<Tables of 8 conversations, 1 participant>"
    assert list(records.stratify("participant_id")) == ["P1", "no answer"]


def test_the_card_counts_a_participant_in_two_spellings_once() -> None:
    records = Conversations([person("a", "P1"), person("b", "p1 "), person("c", " ")])
    frames = {"conversations": records.tables.conversations.lazy()}
    card = dataset_card("owner/name", records.kind, records, frames, licences()["cc-by-4.0"], ())
    assert "3 conversations, 1 participant." in str(card)


@pytest.mark.parametrize("by", [None, "country", "diagnosis_group", "asrs_6_screen"])
def test_draws_do_not_depend_on_the_order_of_records(by: str | None) -> None:
    demo = load("demo")
    mixed = list(demo)
    for seed in range(5):
        random.Random(seed).shuffle(mixed)
        other = Conversations(mixed)
        assert set(ids(other.sample(7, seed, by=by))) == set(ids(demo.sample(7, seed, by=by)))
        parts = [set(ids(part)) for part in other.split(0.5, 0.3, 0.2, seed=seed)]
        assert parts == [set(ids(part)) for part in demo.split(0.5, 0.3, 0.2, seed=seed)]


def test_no_answer_is_no_answer_however_it_is_said() -> None:
    countries = ["No answer", None, " ", " Chile ", "chile"]
    records = Conversations([person(name, country=country) for name, country in zip("abcde", countries, strict=True)])
    nothing = ["a", "b", "c"]
    assert {name: ids(part) for name, part in records.stratify("country").items()} == {
        "Chile": ["d", "e"],
        "no answer": nothing,
    }
    assert ids(records.where(country=None)) == ids(records.where(country="no answer")) == nothing
    assert ids(records.where(country=none_of(None))) == ["d", "e"]
    with pytest.raises(ValueError, match="did you mean 'Chile'"):
        records.where(country="Chiles")


@pytest.mark.parametrize("trait", ["diagnosis", "diagnosis_group", "diagnosis_groups"])
def test_none_is_the_unknown_group_under_each_name(trait: str) -> None:
    records = Conversations(
        [person("a", diagnoses=["ADHD"]), person("b"), person("c", diagnoses=["None of the above"])]
    )
    assert ids(records.where(**{trait: None})) == ["b"]
    assert ids(records.where(**{trait: "ASD"})) == []


@pytest.mark.parametrize("several", [["ADHD", "ASD"], ("ADHD",), {"ADHD"}, none_of("ADHD")])
def test_several_values_in_one_are_an_error(several: Any) -> None:
    for ask in (lambda: all_of(several), lambda: none_of(several), lambda: load("demo").where(diagnosis=[several])):
        with pytest.raises(TypeError, match=r"not with .*ADHD.*; several go as \['a', 'b'\], all_of\('a', 'b'\)"):
            ask()


def test_a_text_that_was_written_is_read_as_the_type_of_its_column() -> None:
    demo = load("demo")
    asked: dict[str, tuple[str, Any]] = {
        "n_turns": ("5", 5),
        "asrs_6_screen": ("true", True),
        "category": ("family", "Family"),
        "country": ("no answer", None),
    }
    for trait, (text, value) in asked.items():
        assert ids(demo.where(**{trait: CliValue(text)})) == ids(demo.where(**{trait: value}))
        assert ids(demo.where(**{trait: none_of(CliValue(text))})) == ids(demo.where(**{trait: none_of(value)}))
    # A text in Python is a text.
    with pytest.raises(ValueError, match="n_turns is a number, not '5'"):
        demo.where(n_turns="5")
    with pytest.raises(ValueError, match="no conversation has asrs_6_screen 'true'"):
        demo.where(asrs_6_screen="true")
    frame = pl.DataFrame({"id": ["a", "b"], "large": [2**53, 2**53 + 1]})
    traits = Traits(frame, Unit("record", ("id",), "record", "id"), {})
    assert matching(traits, traits, "large", Match("any", (CliValue(f"{2**53 + 1}"),))) == [1]


@pytest.mark.slow
def test_truth_is_no_number_but_a_value_of_its_own() -> None:
    with pytest.raises(ValueError, match="who_5 is a number, not True"):
        load("demo").where(who_5=True)
    runs = load_runs("demo").joined(load("demo"))
    assert len(runs.where(annotated=True)) == 80
    for wrong in (2.5, 1.0, "3", True, None, -1):
        with pytest.raises(ValueError, match=f"cannot sample {re.escape(repr(wrong))} participants of 24; expected"):
            load("demo").sample(wrong, seed=0)  # type: ignore[arg-type]
    assert load("demo").sample(np.int64(3), seed=0).unit_ids == load("demo").sample(3, seed=0).unit_ids  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected one answer, true or false, for each scenario"):
        load_scenarios("demo").filter("target_anger")


@pytest.mark.parametrize("shares", [([0.8, 0.2],), ("0.5", "0.5"), (float("nan"),), (0.5, float("nan")), ()])
def test_shares_that_are_none_say_how_to_write_them(shares: Any) -> None:
    with pytest.raises(ValueError, match=r"the shares are .* such as split\(0.8, 0.2, seed=1\)"):
        load("demo").split(*shares, seed=0)


def test_bands_and_ranges() -> None:
    demo = load("demo")
    worse = ids(demo.where(promis_anxiety_t_band=["moderate", " SEVERE "]))
    assert (
        worse == ids(demo.filter("promis_anxiety_t_band >= 'moderate'")) == ids(demo.filter("promis_anxiety_t >= 60"))
    )
    assert len(worse) == 20
    assert ids(demo.where(promis_anxiety_t="no answer")) == ids(demo.where(promis_anxiety_t_band=None)) != []
    hint = r"not '>60'; for a range use filter\(\"promis_anxiety_t >= 10\"\); its groups are in promis_anxiety_t_band"
    with pytest.raises(ValueError, match=hint):
        demo.where(promis_anxiety_t=">60")


def test_a_representation_is_short_and_cannot_drive_a_terminal() -> None:
    records = Conversations([person(f"conversation {n:04}", country="\x1b[31mred\nice") for n in range(1000)])
    for part in (records.where(conversation_id=ids(records)), records.tables.where(conversation_id=ids(records))):
        assert "conversation 0011 or 988 more>" in repr(part)
        assert len(repr(part)) < 400
    assert len(repr(records.filter(f"n_turns in ({', '.join(map(str, range(1000)))})"))) < 400
    (stratum,) = records.stratify("country").values()
    for shown in (repr(stratum), repr(stratum.tables), repr(records.filter("n_turns = 0\nor country = '\x1b'"))):
        assert shown.isprintable()
    assert "\x1b" not in stratum._repr_html_()
    with pytest.raises(ValueError, match="expected one of \ufffd") as error:
        records.where(country="qqqq")
    assert str(error.value).isprintable()


def test_a_chain_builds_the_frames_of_no_part_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = load("demo").tables
    built: list[str] = []
    rows_of = Tables._rows_of

    def counted(self: Tables, kept: pl.DataFrame, name: str) -> pl.DataFrame:
        built.append(name)
        return rows_of(self, kept, name)

    monkeypatch.setattr(Tables, "_rows_of", counted)
    part = tables.where(category=["Family", "Health"], n_turns=[4, 5, 6]).filter("who_5 > 3").where(country="Canada")
    expected = tables.binary.join(part.conversations, on="conversation_id", how="semi")
    assert part.binary.equals(expected)
    assert built.count("binary") == 1
    assert built.count("conversations") == 3  # one a link, of however many traits


def test_nan_is_no_answer() -> None:
    frame = pl.DataFrame({"id": ["a", "b", "c", "d", "e"], "score": [nan, 1.0, nan, None, 2.5]})
    traits = Traits(frame, Unit("record", ("id",), "record", "id"), {})
    assert strata(traits, "score") == {"1.0": [1], "2.5": [4], "no answer": [0, 2, 3]}
    for none in (None, nan):
        assert matching(traits, traits, "score", Match("any", (none,))) == [0, 2, 3]
        assert matching(traits, traits, "score", Match("none", (none,))) == [1, 4]
