"""Queries against a brute-force reading of the records, on random collections with missing and odd values."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from synthetic.conversations import conversations

from attune_data import Conversation, Conversations, all_of, load, none_of
from attune_data.attunebench.profile import diagnosis_groups
from attune_data.attunebench.tables import TABLES
from attune_data.query import Condition

Records = Conversations
few = settings.get_profile("collections")
Reader = Callable[[Conversation], Any]

READ: dict[str, Reader] = {
    "category": lambda c: c.metadata.category,
    "om_model": lambda c: c.metadata.model,
    "country": lambda c: c.participant_profile.demographics.country,
    "gender": lambda c: c.participant_profile.demographics.gender,
    "attitude": lambda c: c.participant_profile.conversation_topic_attitude,
    "participant_id": lambda c: c.participant_profile.participant_id,
    "work_edu_background": lambda c: c.participant_profile.demographics.work_edu_background,
    "diagnoses": lambda c: c.participant_profile.demographics.diagnoses,
    "who_5": lambda c: c.participant_profile.computed_scores.who_5,
    "n_turns": lambda c: len(c.turns),
}


@cache
def some(seed: int) -> tuple[Any, ...]:
    return tuple(json.loads(c.to_json()) for c in conversations(12, participants=6, seed=seed, turns=2))


@st.composite
def collections(draw: st.DrawFn) -> Records:
    """Draw a collection in which demographics are lost, respelt and mixed."""
    records = []
    for number, content in enumerate(draw(st.sampled_from([some(1), some(2)]))):
        profile = content["participant_profile"]
        texts = st.sampled_from([None, "", "  ", "Chile", " chile", "CHILE ", "Peru"])
        answers = ["ADHD", " adhd ", "Anxiety", "None of the above", "PTSD", "", "None", "unknown"]
        people = {
            **profile["demographics"],
            "country": draw(texts),
            "diagnoses": draw(st.lists(st.sampled_from(answers), max_size=3)),
        }
        scores = {"who_5": draw(st.sampled_from([None, 3, 14]))}
        person = draw(st.sampled_from([None, "", profile["participant_id"]]))
        changed = {**profile, "demographics": people, "computed_scores": scores, "participant_id": person}
        records.append(
            Conversation.model_validate({**content, "conversationId": str(number), "participant_profile": changed})
        )
    return Conversations(records)


def values(record: Conversation, trait: str) -> set[Any]:
    """Return what a record holds of a trait, text lower-case and trimmed; {None} for nothing."""
    raw = READ[trait](record)
    found = {v.strip().lower() if isinstance(v, str) else v for v in (raw if isinstance(raw, tuple) else [raw])}
    return found - {None, ""} or {None}


def ids(records: Any) -> list[str]:
    return [record.id for record in records]


@pytest.mark.slow
@few
@given(collections(), st.sampled_from(sorted(READ)), st.sampled_from(["one", "any", "all", "none"]), st.data())
def test_where_is_right_row_by_row(records: Records, trait: str, how: str, data: st.DataObject) -> None:
    known = sorted(set().union(*(values(record, trait) for record in records)), key=str)
    wanted = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=1 if how == "one" else 3))
    asked = [f"  {v.upper()} " if isinstance(v, str) else v for v in wanted]
    forms: dict[str, Condition] = {
        "one": asked[0], "any": asked, "all": all_of(*asked), "none": none_of(*asked),
    }  # fmt: skip

    def matches(found: set[Any]) -> bool:
        if how == "all":
            return all(v in found for v in wanted)
        return any(v in found for v in wanted) != (how == "none")

    expected = [record.id for record in records if matches(values(record, trait))]
    assert ids(records.where(**{trait: forms[how]})) == expected
    assert records.tables.where(**{trait: forms[how]}).conversations["conversation_id"].to_list() == expected


@pytest.mark.slow
@few
@given(collections(), st.sampled_from(["adhd", "ANXDEP ", "asd", "other", "none", "unknown"]))
def test_diagnosis_is_a_group(records: Records, group: str) -> None:
    name = group.strip().lower()
    expected = [c.id for c in records if name in {g.lower() for g in diagnosis_groups(READ["diagnoses"](c))}]
    assert ids(records.where(diagnosis=group)) == expected


@pytest.mark.slow
@few
@given(collections(), st.sampled_from([*sorted(READ), "diagnosis_group"]))
def test_strata_cover_every_conversation(records: Records, trait: str) -> None:
    strata = records.stratify(trait)
    assert {name for part in strata.values() for name in ids(part)} == set(ids(records))
    assert all(strata.values())
    for name, part in strata.items():
        for record in records:
            if trait == "diagnosis_group":
                inside = name in diagnosis_groups(READ["diagnoses"](record))
            else:
                inside = ("no answer" if name == "no answer" else name.strip().lower()) in {
                    "no answer" if v is None else str(v) for v in values(record, trait)
                }
            assert (record.id in ids(part)) == inside
    for name, tables in records.tables.stratify(trait).items():
        assert tables.conversations["conversation_id"].to_list() == ids(strata[name])


@pytest.mark.slow
@few
@given(collections(), st.sampled_from([3, 14]), st.sampled_from(["<", ">="]))
def test_filter_by_expression_and_by_sql(records: Records, bound: int, sign: str) -> None:
    scores = [(c.id, READ["who_5"](c)) for c in records]
    expected = [i for i, v in scores if v is not None and (v < bound if sign == "<" else v >= bound)]
    expression = pl.col("who_5") < bound if sign == "<" else pl.col("who_5") >= bound
    assert ids(records.filter(expression)) == expected
    assert ids(records.filter(f"who_5 {sign} {bound}")) == expected


@pytest.mark.slow
@few
@given(collections(), st.data(), st.integers(0, 5), st.sampled_from([None, "country", "diagnosis_group", "category"]))
def test_sample_keeps_participants_whole(records: Records, data: st.DataObject, seed: int, by: str | None) -> None:
    people = [c.participant_id or f"lone {c.id}" for c in records]
    wanted = data.draw(st.integers(0, len(set(people))))
    drawn = records.sample(wanted, seed, by=by)
    chosen = {c.participant_id or f"lone {c.id}" for c in drawn}
    assert len(chosen) == wanted
    assert ids(drawn) == [c.id for c, person in zip(records, people, strict=True) if person in chosen]
    assert ids(records.sample(wanted, seed, by=by)) == ids(drawn)
    assert records.tables.sample(wanted, seed, by=by).conversations["conversation_id"].to_list() == ids(drawn)


def test_sample_by_a_trait_keeps_its_shares() -> None:
    records = Conversations(conversations(60, participants=60, seed=1))
    sizes = {name: len(part) for name, part in records.stratify("country").items()}
    for name, part in records.sample(30, seed=2, by="country").stratify("country").items():
        assert abs(len(part) - sizes[name] / 2) < 1
    assert len({tuple(ids(records.sample(10, seed))) for seed in range(5)}) > 1


@pytest.mark.slow
@few
@given(collections(), st.sampled_from([(1.0,), (0.5, 0.5), (0.7, 0.2, 0.1)]), st.integers(0, 5))
def test_split_keeps_participants_whole(records: Records, shares: tuple[float, ...], seed: int) -> None:
    parts = records.split(*shares, seed=seed)
    assert len(parts) == len(shares)
    assert sorted(name for part in parts for name in ids(part)) == sorted(ids(records))
    people = [{c.participant_id for c in part} - {None, ""} for part in parts]
    assert sum(map(len, people)) == len(set().union(*people))
    assert [p.conversations["conversation_id"].to_list() for p in records.tables.split(*shares, seed=seed)] == [
        ids(part) for part in parts
    ]


@pytest.mark.slow
@few
@given(collections(), st.sampled_from(["ADHD", "none", "unknown"]), st.sampled_from([3, 14]))
def test_every_frame_of_a_part_is_that_of_its_records(records: Records, group: str, score: int) -> None:
    part = records.where(diagnosis=group) | records.where(who_5=score)
    tables = records.tables.where(diagnosis=group) | records.tables.where(who_5=score)
    has_score = [READ["who_5"](c) == score for c in records]
    assert set(ids(part)) == {
        c.id
        for c, has in zip(records, has_score, strict=True)
        if has or group in diagnosis_groups(READ["diagnoses"](c))
    }
    assert len(set(ids(part))) == len(part) == len(tables)
    for name in TABLES:
        expected = getattr(Conversations(list(part)).tables, name)
        assert_frame_equal(getattr(tables, name), expected)
        assert_frame_equal(getattr(part.tables, name), expected)


@cache
def demo_of(kind: str) -> Any:
    records = load("demo")
    return records if kind == "collection" else records.tables


@pytest.mark.parametrize("kind", ["collection", "tables"])
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"categroy": "Family"}, "no trait 'categroy'; did you mean 'category'"),
        ({"zzz": 1}, "no trait 'zzz'; expected one of conversation_id, om_model"),
        ({"age": 30}, "no trait 'age'; did you mean 'age_range'?"),
        ({"id": "c1"}, "no trait 'id'; did you mean 'conversation_id' or 'participant_id'?"),
        ({"adhd": True}, "no trait 'adhd'; it is a value of diagnosis"),
        ({"topic": "family"}, "no conversation has topic 'family'; it is a value of category"),
        ({"category": "Famly"}, "no conversation has category 'Famly'; did you mean 'Family'"),
        ({"category": ["Family", "qqq"]}, "no conversation has category 'qqq'; expected one of Family, Health"),
        ({"category": none_of("Famly")}, "did you mean 'Family'"),
        ({"diagnosis": "ADDH"}, "no conversation has diagnosis 'ADDH'; did you mean 'ADHD'"),
        ({"who_5": "14"}, "who_5 is a number, not '14'"),
        ({"category": 3}, "no conversation has category 3"),
    ],
)
def test_misspelt_names_the_nearest(kind: str, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        demo_of(kind).where(**asked)


def test_other_wrong_requests_say_what_is_wrong() -> None:
    demo = load("demo")
    with pytest.raises(ValueError, match="no trait 'who5'; did you mean 'who_5'"):
        demo.filter("who5 > 3")
    for condition in ("diagnosis = 'ADHD'", "\"diagnosis\" = 'ADHD'", pl.col("diagnosis") == "ADHD"):
        with pytest.raises(
            ValueError, match=r"'diagnosis' is asked for with where\(diagnosis=...\); .* 'diagnosis_groups'"
        ):
            demo.filter(condition)
    with pytest.raises(ValueError, match="not an SQL expression: 'who_5 ===> 3'"):
        demo.filter("who_5 ===> 3")
    with pytest.raises(ValueError, match="no trait 'contry'; did you mean 'country'"):
        demo.stratify("contry")
    with pytest.raises(ValueError, match="cannot sample 25 participants of 24"):
        demo.sample(25, seed=0)
    with pytest.raises(ValueError, match=r"the shares are \(0.5, 0.6\)"):
        demo.split(0.5, 0.6, seed=0)


def test_a_value_of_the_whole_is_no_mistake_in_a_part() -> None:
    demo = load("demo")
    for part in (demo.where(category="Family"), demo[:0], demo.tables.where(category="Family")):
        assert len(part.where(category="Money")) == 0
    assert len(demo[:0].where(diagnosis="ASD")) == 0
    assert len((demo[:0] | demo).where(category="Money")) == len(demo.where(category="Money")) > 0


def test_representation_names_counts_and_filters() -> None:
    demo = load("demo")
    part = demo.where(diagnosis=["ADHD", "ASD"]).stratify("category")["Family"]
    assert repr(part) == (
        "<Collection of 4 conversations, 4 participants, no issues; diagnosis=ADHD or ASD, category=Family>"
    )
    assert repr(demo.tables.where(country=none_of("Canada", None))) == (
        "<Tables of 36 conversations, 22 participants; country=none_of(Canada, no answer)>"
    )
    assert repr(demo.where(category="Money") | demo) == (
        "<Collection of 40 conversations, 24 participants, no issues; (category=Money) | (all)>"
    )
    assert "; sample of 1 participant by country, seed 3>" in repr(demo.sample(1, 3, by="country"))
    assert "; part 2 of 2, seed 1>" in repr(demo.split(0.5, 0.5, seed=1)[1])
