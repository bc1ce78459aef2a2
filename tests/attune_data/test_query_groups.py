"""Screens, bands and bins in queries, against a reading of the scores typed out from the publications."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attune_data import Conversation, Conversations, load, none_of
from attune_data.query import Condition

Records = Conversations
Scores = dict[str, float | None]

# The published cut-offs and bands, and the ranges; see test_instruments.py.
POSITIVE: dict[str, Callable[[float], bool]] = {
    "who_5": lambda score: score < 13,
    "asrs_6": lambda score: score >= 4,
    "aq_10": lambda score: score >= 6,
}
HIGHEST = {"who_5": 25, "asrs_6": 6, "aq_10": 10}
EDGES = {"within normal limits": (40.3, 55), "mild": (55, 60), "moderate": (60, 70), "severe": (70, 81.6001)}
BANDS = list(EDGES)


def side(name: str, score: float | None) -> str | None:
    if score is None or not 0 <= score <= HIGHEST[name]:
        return None
    return "screen-positive" if POSITIVE[name](score) else "screen-negative"


def band(score: float | None) -> str | None:
    return next((name for name, (low, high) in EDGES.items() if score is not None and low <= score < high), None)


def build(people: list[tuple[str | None, Scores]]) -> Records:
    return Conversations(
        [
            Conversation.model_validate(
                {
                    "conversationId": f"c{number}",
                    "participant_profile": {"participant_id": person, "computed_scores": scores},
                }
            )
            for number, (person, scores) in enumerate(people)
        ]
    )


def scores_of(record: Conversation) -> Any:
    return record.participant_profile.computed_scores


def ids(records: Any) -> list[str]:
    return [record.id for record in records]


collections = st.lists(
    st.tuples(
        st.sampled_from([None, "", "A1", "A2", "A3"]),
        st.fixed_dictionaries(
            {
                "who_5": st.sampled_from([None, 0, 12, 13, 25, 52]),
                "asrs_6": st.sampled_from([None, 0, 3, 4, 6, 18]),
                "aq_10": st.sampled_from([None, 5, 6, -1]),
                "promis_anxiety_t": st.sampled_from([None, 40.3, 54.9, 55, 59.5, 60.0, 70, 81.6, 12.0]),
                "tipi_openness": st.sampled_from([None, 2, 5, 5, 8, 9, 14, 15]),
            }
        ),
    ),
    min_size=1,
    max_size=9,
).map(build)


@given(collections, st.lists(st.sampled_from(sorted(POSITIVE)), min_size=1, max_size=3, unique=True))
def test_screens_are_right_row_by_row(records: Records, names: list[str]) -> None:
    sides = {c.id: [side(name, getattr(scores_of(c), name)) for name in names] for c in records}
    columns = [f"{name}_screen" for name in names]
    anybody = [i for i, found in sides.items() if "screen-positive" in found]
    assert ids(records.filter(" or ".join(columns))) == anybody
    for value, expected in ((True, "screen-positive"), (False, "screen-negative")):
        everybody = [i for i, found in sides.items() if set(found) == {expected}]
        for asked in (value, expected, none_of(not value)):
            conditions: dict[str, Condition] = dict.fromkeys(columns, asked)
            assert ids(records.where(**conditions)) == everybody
            assert records.tables.where(**conditions).conversations["conversation_id"].to_list() == everybody


@given(collections, st.sampled_from(BANDS), st.sampled_from(BANDS))
def test_bands_are_right_row_by_row(records: Records, name: str, other: str) -> None:
    found = {c.id: band(scores_of(c).promis_anxiety_t) for c in records}
    text = f" {name.upper()} "
    assert ids(records.where(promis_anxiety_t_band=text)) == [i for i, b in found.items() if b == name]
    assert ids(records.where(promis_anxiety_t_band=[text, other])) == [
        i for i, b in found.items() if b in (name, other)
    ]
    assert ids(records.where(promis_anxiety_t_band=[text, None])) == [i for i, b in found.items() if b in (name, None)]
    rest = [i for i, b in found.items() if b not in (name, None)]
    assert ids(records.where(promis_anxiety_t_band=none_of(text))) == rest
    # The bands are in order, mildest first.
    more = [i for i, b in found.items() if b in BANDS[BANDS.index(name) :]]
    assert ids(records.filter(f"promis_anxiety_t_band >= '{name}'")) == more


@given(collections, st.sampled_from(["who_5_screen", "asrs_6_screen", "aq_10_screen", "promis_anxiety_t_band"]))
def test_strata_of_groups(records: Records, trait: str) -> None:
    name = trait.rpartition("_")[0]
    values = {c.id: getattr(scores_of(c), name) for c in records}
    found = {i: (band(v) if trait.endswith("band") else side(name, v)) or "no answer" for i, v in values.items()}
    order = [*BANDS, "screen-positive", "screen-negative", "no answer"]
    expected = {group: [i for i, g in found.items() if g == group] for group in order if group in found.values()}
    assert list(records.stratify(trait)) == list(expected)
    assert {group: ids(part) for group, part in records.stratify(trait).items()} == expected


@given(collections, st.sampled_from(["median", "tertile"]))
def test_bins_are_right_row_by_row(records: Records, bins: Any) -> None:
    values = {c.id: scores_of(c).tipi_openness for c in records}
    valid = {i: v for i, v in values.items() if v is not None and 2 <= v <= 14}
    people: dict[str, list[int]] = {}
    for c in records:
        if c.id in valid:
            people.setdefault(c.participant_id or f"lone {c.id}", []).append(valid[c.id])
    middles = sorted(
        Fraction(sorted(mine)[(len(mine) - 1) // 2] + sorted(mine)[len(mine) // 2], 2) for mine in people.values()
    )
    parts = 2 if bins == "median" else 3
    cuts: list[Fraction] = []
    for part in range(1, parts) if middles else ():  # linear interpolation between the two nearest order statistics
        whole, rest = divmod(part * (len(middles) - 1), parts)
        above = middles[min(whole + 1, len(middles) - 1)]
        cuts.append((middles[whole] * (parts - rest) + above * rest) / parts)
    number = {i: sum(v > cut for cut in cuts) for i, v in valid.items()}
    expected = [group for n in range(parts) if (group := [i for i, side in number.items() if side == n])]
    outside = [i for i in values if i not in valid]
    expected += [outside] if outside else []
    strata = records.stratify("tipi_openness", bins=bins)
    assert [ids(part) for part in strata.values()] == expected
    assert ("no answer" in strata) == bool(outside)


def test_a_participant_counts_once_and_ties_stay_together() -> None:
    # Participants 4, 6, 8: the median is 6. By conversation it would be 8, for which A3 stands four times.
    people: list[tuple[str | None, Scores]] = [("A1", {"who_5": 4}), ("A2", {"who_5": 6})]
    people += [("A3", {"who_5": 8})] * 4
    records = build(people)
    assert {name: ids(part) for name, part in records.stratify("who_5", bins="median").items()} == {
        "<= 6": ["c0", "c1"],
        "> 6": ["c2", "c3", "c4", "c5"],
    }
    # Tertiles of 4, 6, 8 are 4 + 2/3 of the way to 6, and 6 + 1/3 of the way to 8.
    assert list(records.stratify("who_5", bins="tertile")) == [
        "<= 5.33333333333", "> 5.33333333333, <= 6.66666666667", "> 6.66666666667",
    ]  # fmt: skip
    # One third of 61.4 and two thirds of 61.4 are not 61.4 in floating point; the cut has to be.
    close: list[tuple[str | None, Scores]] = [
        (f"A{n}", {"promis_anxiety_t": score}) for n, score in enumerate([59.5, 61.4, 61.4, 61.4, 63.4])
    ]
    parts = build(close).stratify("promis_anxiety_t", bins="tertile")
    assert {name: len(part) for name, part in parts.items()} == {"<= 61.4": 4, "> 61.4": 1}
    same = build([(f"A{n}", {"who_5": 7}) for n in range(4)])
    assert {name: len(part) for name, part in same.stratify("who_5", bins="tertile").items()} == {"<= 7": 4}


def test_bins_of_conversations_and_of_nothing() -> None:
    demo = load("demo")
    assert list(demo.stratify("n_turns", bins="median")) == ["<= 5", "> 5"]
    assert sum(len(part) for part in demo.stratify("post_total_negative_affect", bins="tertile").values()) == 40
    lost = build([("A1", {"who_5": None}), ("A2", {"who_5": 80})])
    assert {name: len(part) for name, part in lost.stratify("who_5", bins="median").items()} == {"no answer": 2}
    assert demo[:0].stratify("who_5", bins="median") == {}


def test_samples_by_a_group_and_labels() -> None:
    demo = load("demo")
    assert len(demo.sample(6, seed=1, by="asrs_6_screen").stratify("asrs_6_screen")) > 1
    label = "; asrs_6_screen=False, promis_anxiety_t_band=none_of(mild)>"
    assert repr(demo.where(asrs_6_screen=False, promis_anxiety_t_band=none_of("mild"))).endswith(label)
    halves = build([("A1", {"who_5": 4}), ("A2", {"who_5": 6})]).stratify("who_5", bins="median")
    assert repr(halves["> 5"]) == "<Collection of 1 conversation, 1 participant, no issues; who_5=> 5>"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"screen": "asrs_6"}, "no trait 'screen'; did you mean 'who_5_screen'"),
        ({"asrs_screen": True}, "no trait 'asrs_screen'; did you mean 'asrs_6_screen'"),
        ({"tipi_openness_screen": True}, "no trait 'tipi_openness_screen'; did you mean 'tipi_openness'"),
        ({"asrs_6_screen": "positive"}, "no conversation has asrs_6_screen 'positive'; did you mean 'screen-positive'"),
        ({"promis_anxiety_t_band": "moderat"}, "has promis_anxiety_t_band 'moderat'; did you mean 'moderate'"),
        ({"promis_anxiety_t": "mild"}, "promis_anxiety_t is a number, .*; its groups are in promis_anxiety_t_band"),
        ({"promis_anxiety": "mild"}, "promis_anxiety is a number, not 'mild'"),
    ],
)
def test_mistakes_name_the_nearest(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load("demo").where(**asked)


def test_wrong_bins_and_strata_say_what_is_wrong() -> None:
    demo = load("demo")
    with pytest.raises(ValueError, match="category is not a number"):
        demo.stratify("category", bins="median")
    with pytest.raises(ValueError, match="asrs_6_screen is not a number"):
        demo.stratify("asrs_6_screen", bins="median")
    with pytest.raises(ValueError, match="bins is 'quartile'; expected 'median' or 'tertile'"):
        demo.stratify("who_5", bins="quartile")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no trait 'who_5_band'; did you mean 'who_5'"):
        demo.stratify("who_5_band")
    with pytest.raises(ValueError, match="no trait 'screen'; did you mean"):
        demo.stratify("screen")
