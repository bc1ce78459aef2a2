"""JSON Schemas accept what the models accept, are described throughout, and are those of docs/schemas."""

import json
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from schema_examples import Path, example, places, replaced, without
from schema_files import FOLDER, contents
from slow_cases import slow_after, slow_except

from attune_data import CodebookError, Conversation, Scenario, json_schema, load, load_runs, load_scenarios
from attune_data.codebook import checked, codebook_folder
from attune_data.kinds import KINDS
from attune_data.licences import Publishing
from attune_data.publishing import SCHEMA_KINDS

Json = dict[str, Any]

MODELS = {kind.noun: kind.model for kind in KINDS}
CODEBOOK_FILES = {
    **{name: model for kind in KINDS for name, model in kind.codebook_files.items()},
    "publishing": Publishing,
}
FILES = {
    "codebook": "attunebench",
    "subsets": "subsets",
    "instruments": "instruments",
    "diagnoses": "diagnoses",
    "scenes": "eibench",
    "publishing": "publishing",
}
# Of every type, inside and outside every range. Whole numbers as 1.0 are apart, see below.
VALUES: tuple[Any, ...] = (
    *(None, True, False, "", "text", "yes", "A", "original", "default", "support", "user", "positive"),
    *(0, 1, 7, 8, 9, 70, 71, 100, 101, -1, 10**15, 10**15 + 1, 0.5, -(10.0**16), 1e300),
    *(
        [],
        {},
        [None],
        [1],
        ["text"],
        ["text", "text"],
        [{}],
        {"0": None},
        {"0": 1},
        {"0": "yes"},
        {"0": {}},
        {"0": "B"},
    ),
)


def validator(kind: str) -> Draft202012Validator:
    schema = json_schema(kind)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def reads(kind: str, document: Any) -> bool:
    """Tell whether a model takes a document as it is, without mending."""
    try:
        if kind in MODELS:
            MODELS[kind].model_validate_json(json.dumps(document), by_alias=True, by_name=False)
        else:
            checked(document, CODEBOOK_FILES[kind], "file")
    except (ValidationError, CodebookError):
        return False
    return True


def bundled(kind: str) -> Json:
    return tomllib.loads((codebook_folder() / f"{FILES[kind]}.toml").read_text(encoding="utf-8"))


# The files in the documentation.


def test_the_files_in_the_documentation_are_what_the_functions_give() -> None:
    assert {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()} == contents(), "run make schemas"


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_a_schema_says_its_dialect_and_describes_every_field(kind: str) -> None:
    schema = json_schema(kind)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    objects = [schema, *schema.get("$defs", {}).values()]
    assert all(len(one["description"]) > 10 and one["title"] for one in objects)
    fields = [(name, field) for one in objects for name, field in one.get("properties", {}).items()]
    assert len(fields) > 5 or kind in ("subsets", "diagnoses")
    short = [name for name, field in fields if len(field.get("description", "")) < 8]
    assert short == []
    text = json.dumps(schema)
    assert [found for found in ("``", "Examples", ">>>") if found in text] == []


@pytest.mark.parametrize("kind", MODELS)
def test_records_may_have_other_keys(kind: str) -> None:
    schema = json_schema(kind)
    assert all(one["additionalProperties"] is True for one in (schema, *schema.get("$defs", {}).values()))


@pytest.mark.parametrize(("name", "nearest"), [("conversations", "conversation"), ("scene", "scenes")])
def test_an_unknown_kind_names_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(ValueError, match=f"no schema of '{name}'; did you mean '{nearest}'"):
        json_schema(name)


# What a schema accepts.


@pytest.mark.parametrize(
    ("kind", "loader"), slow_after(1, [("conversation", load), ("run", load_runs), ("scenario", load_scenarios)])
)
def test_every_record_of_the_demo_is_valid(kind: str, loader: Any) -> None:
    check = validator(kind)
    records = [json.loads(record.to_json()) for record in loader("demo")]
    assert len(records) > 10
    assert [next(check.iter_errors(record)).message for record in records if not check.is_valid(record)] == []


@pytest.mark.parametrize("kind", FILES)
def test_the_bundled_codebook_is_valid(kind: str) -> None:
    validator(kind).validate(bundled(kind))


def test_names_of_the_record_are_not_those_of_the_model() -> None:
    check = validator("scenario")
    record = json.loads(load_scenarios("demo")[0].to_json())
    assert "id" in record
    record["scenario_id"] = record.pop("id")
    assert [error.message for error in check.iter_errors(record)] == ["'id' is a required property"]


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    slow_after(
        5,
        [
            ("conversation", ("turns", 0, "moodShiftTags", 0, "intensity"), 8, "8 is greater than the maximum of 7"),
            ("conversation", ("turns", 0, "moodShiftTags", 0, "intensity"), "5", "'5' is not of type 'integer'"),
            (
                "conversation",
                ("turns", 0, "annotations", "binaryJudgements", 0, "observedBehavior"),
                "maybe",
                "'maybe' is not",
            ),
            ("conversation", ("turns", 0, "turnNumber"), None, "None is not of type 'integer'"),
            ("conversation", ("prePanas", "responses", "proud"), 0, "0 is less than the minimum of 1"),
            ("conversation", ("conversationId",), "", "'' should be non-empty"),
            ("run", ("mode",), "fast", "'fast' is not one of"),
            ("run", ("turns", 0, "em_binary_om_assessment"), {"B1": "y"}, "'y' is not one of"),
            ("run", ("turns",), {}, "{} is not of type 'array'"),
            ("scenario", ("scene_tag",), "comfort", "'comfort' is not one of"),
            ("scenario", ("worst_case", "worst_anger_min"), 101, "101 is greater than the maximum of 100"),
        ],
    ),
)
def test_a_planted_fault_is_refused(kind: str, path: Path, value: Any, message: str) -> None:
    loader: Any = {"conversation": load, "run": load_runs, "scenario": load_scenarios}[kind]
    record = json.loads(loader("demo")[0].to_json())
    found = {
        (tuple(error.absolute_path), error.message)
        for error in leaves(validator(kind).iter_errors(replaced(record, path, value)))
        if not error.message.endswith("is not of type 'null'")
    }
    assert any(at[: len(path)] == path and text.startswith(message) for at, text in found), found
    assert {at[: len(path)] for at, _ in found} == {path}


def leaves(errors: Iterable[Any]) -> Iterator[Any]:
    """Yield the errors of all alternatives, without those that only say that none of them fits."""
    for error in errors:
        yield from leaves(error.context) if error.context else (error,)


@pytest.mark.parametrize("kind", slow_except(MODELS, "scenario", "prediction"))
def test_a_schema_accepts_what_the_model_reads_as_it_is(kind: str) -> None:
    """Every key dropped, and every value replaced by one of each type: the two judge alike."""
    check = validator(kind)
    full = example(check.schema)
    assert check.is_valid(full)
    assert reads(kind, full)
    variants = [(path, "dropped", without(full, path)) for path in places(full)]
    variants += [(path, value, replaced(full, path, value)) for path in places(full) for value in VALUES]
    judged = [(check.is_valid(document), reads(kind, document)) for _, _, document in variants]
    unlike = [(path, value) for (path, value, _), (one, other) in zip(variants, judged, strict=True) if one != other]
    assert unlike == []
    assert min(sum(one for one, _ in judged), sum(not one for one, _ in judged)) > 40


@pytest.mark.parametrize("kind", slow_except(MODELS, "scenario", "prediction"))
def test_unknown_keys_are_accepted_at_every_place(kind: str) -> None:
    check = validator(kind)
    full = example(check.schema)
    objects = [path[:-1] for path in places(full) if isinstance(path[-1], str) and path[-1] != "0"]
    for path in dict.fromkeys(objects):
        for value in VALUES:
            document = replaced(full, (*path, "another key"), value)
            assert check.is_valid(document) is reads(kind, document) is True


def test_a_whole_number_with_a_fraction_of_zero_is_valid_and_mended() -> None:
    # To JSON Schema 1.0 is an integer. Loading reads it too, and reports it.
    record = json.loads(load("demo")[0].to_json())
    changed = replaced(record, ("turns", 0, "turnNumber"), 1.0)
    assert validator("conversation").is_valid(changed)
    assert not reads("conversation", changed)


# What the codebook compares beyond one value, and so beyond its schema.
COMPARED = (
    "not in [",
    "not in options",
    "the same word as",
    "the two exchanged",
    "on one side",
    "the first band",
    "bands go from",
    "lower case",
    "neither stems nor words",
    "the library has a group",
)


def is_early(file: Json, path: Path) -> bool:
    """Tell whether a path leads into one of the first three entries of a table, and of the first two of a list."""
    entries = file[str(path[0])]
    first = list(entries)[:3] if isinstance(entries, dict) else [0, 1]
    return path[1:2] in [(), *((key,) for key in first)] and not any(isinstance(key, int) and key > 1 for key in path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_a_schema_of_a_codebook_file_refuses_all_but_what_compares_values(kind: str) -> None:
    check = validator(kind)
    file = bundled(kind)
    chosen = [path for path in places(file) if is_early(file, path)]
    refused = 0
    for path in chosen:
        for document in (without(file, path), *(replaced(file, path, value) for value in VALUES[::9])):
            try:
                checked(document, CODEBOOK_FILES[kind], "file")
            except CodebookError as error:
                lines = str(error).split("\n")[1:]
                compared = [line for line in lines if any(text in line for text in COMPARED)]
                assert check.is_valid(document) == (len(compared) == len(lines)), (path, lines)
                refused += 1
            else:
                assert check.is_valid(document), path
    assert refused > 10


def test_a_key_that_nobody_knows_is_refused_in_a_codebook_file() -> None:
    file = bundled("instruments")
    file["instruments"]["who_5"]["hgih"] = 25
    (error,) = validator("instruments").iter_errors(file)
    assert error.message == "Additional properties are not allowed ('hgih' was unexpected)"


def test_the_models_say_what_the_schemas_say() -> None:
    assert json_schema("conversation")["title"] == Conversation.__name__
    assert json_schema("scenario")["required"] == [
        field.alias or name for name, field in Scenario.model_fields.items() if field.is_required()
    ]
