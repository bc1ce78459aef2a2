"""The strategies of `attune_data.testing`: valid documents and broken files, for every kind of record."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slow_cases import slow_except

from attune_data import Kind, SourceError, load_records
from attune_data.kinds import ANSWER, KINDS, PREDICTION
from attune_data.record import Integer, Rating, SnakeCaseRecord
from attune_data.testing import broken, documents, from_model, records

Json = dict[str, Any]

# Documents of the other kinds are made in the same way and have more fields.
every_kind = pytest.mark.parametrize("kind", slow_except(KINDS, ANSWER, PREDICTION), ids=lambda kind: kind.noun)
some = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


def loaded(kind: Kind[Any, Any], document: Any, folder: Path) -> Any:
    path = folder / "one.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return load_records(path, kind)


@every_kind
def test_documents_load_without_an_issue_and_are_written_as_they_were(kind: Kind[Any, Any], tmp_path: Path) -> None:
    @some
    @given(documents(kind))
    def check(document: Json) -> None:
        found = loaded(kind, document, tmp_path)
        assert [str(issue) for issue in found.found] == []
        (one,) = found
        assert json.loads(one.to_json()) == document

    check()


@every_kind
def test_records_are_of_the_kind(kind: Kind[Any, Any]) -> None:
    @some
    @given(records(kind))
    def check(one: Any) -> None:
        assert type(one) is kind.model
        assert kind.model.model_validate_json(one.to_json()) == one

    check()


@every_kind
def test_broken_files_load_or_are_reported(kind: Kind[Any, Any], tmp_path: Path) -> None:
    outcomes: set[bool] = set()

    @some
    @given(broken(kind))
    def check(data: bytes) -> None:
        try:
            found = loaded(kind, data, tmp_path)
        except SourceError:
            outcomes.add(False)
            return
        outcomes.add(len(found) == 1)
        # A comparison whose values contradict each other is kept, and scoring refuses it.
        lost = [one for one in found.found if one.severity == "error" and one.rule != "faulty-comparison"]
        assert (len(found) == 0) == bool(lost)

    check()
    assert outcomes == {True, False}


class Inner(SnakeCaseRecord):
    """A nested record."""

    rating: Rating | None = None


class Outer(SnakeCaseRecord):
    """A record with one field of each sort."""

    number: Integer
    flag: bool = False
    share: float | None = None
    inner: Inner = Inner()
    tags: tuple[str, ...] = ()
    by_name: dict[str, Rating] = {}  # noqa: RUF012  # a pydantic default


@some
@given(from_model(Outer))
def test_what_is_drawn_from_a_model_it_accepts(document: Json) -> None:
    assert "number" in document
    Outer.model_validate_json(json.dumps(document))


def test_a_field_may_have_a_strategy_of_its_own() -> None:
    drawn: list[Json] = []

    @some
    @given(from_model(Outer, {"flag": st.just(value=True)}))
    def check(document: Json) -> None:
        drawn.append(document)

    check()
    assert {document["flag"] for document in drawn} == {True}
    assert {"share" in document for document in drawn} == {True, False}
