"""What a kind does not say for itself follows from its model: tables, older spellings, documents, counts."""

import copy
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import Field
from slow_cases import slow_except

from attune_data import Collection, Kind, SageDialogue, describe, load_records, record_kind
from attune_data.columns import choices_of, columns_of, dtypes_of, values_of
from attune_data.kinds import CONVERSATION, DIALOGUE, EPISODE, KINDS
from attune_data.record import Integer, Items, Level, Number, Record, SnakeCaseRecord, Text
from attune_data.repair import Fix, IssueCollector, fix_of
from attune_data.testing import accepted


class Part(SnakeCaseRecord):
    """A part of a card."""

    side: Literal["front", "back"]


class Card(SnakeCaseRecord):
    """A card of a box, in one of two colours."""

    column_properties = ("box", "marked")

    number: int = Field(description="Number in the box.")
    box_name: Text = Field("", alias="box name", description="The box.")
    colour: Literal["Red", "blue"] | None = Field(None, description="Its colour.")
    level: Level | None = None
    count: Integer = 0
    weight: Number | None = None
    tags: tuple[str, ...] = ()
    parts: Items[Part] = ()
    by_name: dict[str, Level] = {}  # noqa: RUF012  # a pydantic default
    size: Literal["s", "S"] = "s"
    known: bool = True

    @property
    def id(self) -> str:
        """Box and number."""
        return f"{self.box_name}/{self.number}"

    @property
    def box(self) -> str:
        """The name of the box in ``lower`` case.

        More of it.
        """
        return self.box_name.lower()

    @property
    def marked(self) -> bool | None:
        """Whether it has tags."""
        return bool(self.tags) or None


CARD = record_kind(Card, noun="card", plural="index cards", keys=frozenset(["number"]), cluster="box")
DOCUMENTS = [
    {"number": 1, "box name": "A", "colour": "Red", "tags": ["new"]},
    {"number": 2, "box name": "a", "colour": "blue"},
    {"number": 3, "box name": "B"},
]


def cards(folder: Path, documents: list[Any] = DOCUMENTS) -> Collection[Card]:
    path = folder / "cards.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return load_records(path, CARD)


def test_the_table_of_a_model(tmp_path: Path) -> None:
    found = cards(tmp_path)
    frame: pl.DataFrame = getattr(found.tables, "index_cards")  # noqa: B009  # mypy knows no such attribute
    assert frame.columns[:5] == ["id", "box", "marked", "number", "box_name"]
    assert frame.select("id", "box", "marked").rows() == [("A/1", "a", True), ("a/2", "a", None), ("B/3", "b", None)]
    assert dict(frame.schema) == CARD.tables.schemas()["index_cards"]
    assert frame.schema["colour"] == pl.Enum(["Red", "blue"])
    assert "parts" not in frame.columns
    meanings = CARD.tables.meanings()["index_cards"]
    assert list(meanings) == frame.columns
    assert meanings["box"][:2] == ("The name of the box in `lower` case.", False)
    assert meanings["marked"][:2] == ("Whether it has tags.", True)
    assert (CARD.tables.__name__, repr(found.tables)) == ("CardTable", "<CardTable of 3 cards>")
    assert CARD.columns == ("number",)


def test_what_is_asked_of_the_table(tmp_path: Path) -> None:
    found = cards(tmp_path)
    assert [card.number for card in found.where(box="a")] == [1, 2]
    assert len(found.tables.where(colour="Red")) == 1
    # What is drawn as a whole is a box.
    assert {len(part) for part in found.split(0.5, 0.5, seed=1)} == {1, 2}


def test_records_of_one_model_without_plain_fields_have_a_table_of_ids() -> None:
    class Bag(Record):
        parts: tuple[Part, ...] = ()

        @property
        def id(self) -> str:
            return "b"

    class Bags(Collection[Bag]):
        kind = property(lambda self: bag)  # noqa: ARG005  # as above

    bag: Kind[Bag, Bags] = Kind(noun="bag", plural="bags", model=Bag, collection=Bags, keys=frozenset(["parts"]))
    assert dtypes_of(Bag) == values_of(Bag, [Bag()]) == {}
    assert Bags([Bag()]).tables._table().frame.rows() == [("b",)]


def test_counts_by_model_and_by_what_has_choices(tmp_path: Path) -> None:
    traits = describe(cards(tmp_path))["traits"]
    assert traits["colour"] == {"Red": {"index cards": 1}, "blue": {"index cards": 1}, "no answer": {"index cards": 1}}
    assert list(traits) == ["colour", "size"]
    assert choices_of(SageDialogue) == {"model": ("model", ())}


@pytest.mark.parametrize(
    ("given", "read", "rules"),
    [
        ({"number": "7"}, {"number": 7}, ["number-as-text"]),
        ({"colour": " RED "}, {"colour": "Red"}, ["old-spelling"]),
        ({"colour": "green"}, {"colour": None}, ["unknown-value"]),
        ({"size": "S"}, {"size": "S"}, []),
        ({"box name": 3}, {"box name": "3"}, ["number-where-text"]),
        ({"tags": "new"}, {"tags": ["new"]}, ["bare-string"]),
        ({"parts": [{"side": "Front"}]}, {"parts": [{"side": "front"}]}, ["old-spelling"]),
        ({"by_name": {"a": "5"}}, {"by_name": {"a": 5}}, ["number-as-text"]),
        ({"level": 101}, {"level": 100}, ["out-of-range"]),
        ({"weight": "2.5"}, {"weight": 2.5}, ["number-as-text"]),
        ({"count": 2.0}, {"count": 2}, ["fraction"]),
        ({"more": "x"}, {"more": "x"}, []),
    ],
)
def test_older_spellings_as_a_model_says_them(given: Any, read: Any, rules: list[str]) -> None:
    for fix in (fix_of(Card), CARD.fix):
        findings = IssueCollector("cards.jsonl")
        assert fix(given, "$", findings) == read
        assert [issue.rule for issue in findings.issues] == rules


def test_a_number_outside_its_range_costs_the_record(tmp_path: Path) -> None:
    found = cards(tmp_path, [DOCUMENTS[0], {**DOCUMENTS[1], "level": 101}])
    assert [card.number for card in found] == [1]
    assert [(issue.rule, issue.severity) for issue in found.found] == [("out-of-range", "error")]


def test_the_class_of_the_collections_is_made_too(tmp_path: Path) -> None:
    found = cards(tmp_path)
    assert (type(found), type(found).__name__, found.kind) == (CARD.collection, "Cards", CARD)
    assert list(found | found[:1]) == list(found)


@pytest.mark.parametrize("kind", slow_except(KINDS, CONVERSATION), ids=lambda kind: kind.noun)
def test_collections_and_tables_of_every_kind_can_be_sent_to_a_process(kind: Kind[Any, Any]) -> None:
    given = load_records("demo", kind)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        twin = pool.submit(copy.copy, given).result()
        tables = pool.submit(copy.copy, given.tables).result()
    assert (type(twin), list(twin), twin.files) == (type(given), list(given), given.files)
    name = tables.names[0]
    assert type(tables) is type(given.tables)
    assert getattr(tables, name).equals(getattr(given.tables, name))


def test_a_choice_of_numbers_is_a_column_of_numbers(tmp_path: Path) -> None:
    class Ticket(SnakeCaseRecord):
        id: str
        door: Literal[1, 2]
        row: Literal["a", 1] = "a"

    kind = record_kind(Ticket, noun="ticket", plural="tickets", keys=frozenset(["door"]))
    (tmp_path / "one.json").write_text('{"id": "t", "door": 2}')
    frame = load_records(tmp_path / "one.json", kind).where(door=2).tables.tickets  # type: ignore[attr-defined]
    assert (frame.rows(), frame.schema["door"]) == ([("t", 2)], pl.Int64)


@pytest.mark.parametrize("plural", ["issues", "names"])
def test_a_plural_that_tables_need_is_refused(plural: str) -> None:
    with pytest.raises(ValueError, match=f"{plural} is what tables call something else"):
        record_kind(Card, noun="card", plural=plural, keys=frozenset(["number"]))


def test_a_kind_with_tables_says_how_they_are_built() -> None:
    with pytest.raises(TypeError, match="the kind card has tables or build, not both"):
        Kind(noun="card", plural="cards", model=Card, collection=CARD.collection, keys=CARD.keys, tables=EPISODE.tables)


@pytest.mark.parametrize("kind", KINDS[2:], ids=lambda kind: kind.noun)
def test_documents_that_rules_accept_are_drawn_without_a_strategy(kind: Kind[Any, Any], tmp_path: Path) -> None:
    known = [json.loads(record.to_json()) for record in load_records("demo", kind)]
    new = []

    @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(accepted(kind))
    def check(document: Any) -> None:
        (tmp_path / "one.json").write_text(json.dumps(document))
        (one,) = found = load_records(tmp_path / "one.json", kind)
        assert (found.found, json.loads(one.to_json())) == ((), document)
        new.append(document not in known)

    check()
    assert any(new)


def test_a_fix_of_its_own_counts() -> None:
    fix: Fix = lambda value, _path, _findings: value  # noqa: E731  # one that changes nothing
    kind = Kind(noun="card", plural="cards", model=Card, collection=CARD.collection, keys=CARD.keys, fix=fix)
    assert kind.fix is fix
    assert columns_of(Card)["box_name"].description == "The box."
    assert DIALOGUE.columns == ("id", "history")
