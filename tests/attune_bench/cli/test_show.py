"""The commands that say what records are: `show`, `describe`, `schema` and `columns`."""

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from commands import Call, Scored, Scorings, Spawn, bend, too_wide
from jsonschema import Draft202012Validator
from slow_cases import slow_after

from attune_bench import BENCHMARKS, Benchmark
from attune_data import (
    Kind,
    describe,
    description_text,
    json_schema,
    load,
    load_episodes,
    load_records,
    load_sage,
    load_scenarios,
    show,
)
from attune_data.kinds import KINDS
from attune_data.publishing import SCHEMA_KINDS, TABLE_SCHEMA_KINDS, table_schema
from attune_data.references import resolve

Files = tuple[Path, Path]


# show.


def test_show_prints_the_transcript(call: Call, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, err = call("show", files[0], "c2")
    assert (status, err) == (0, "")
    assert out == f"{load(files[0])['c2']}\n"
    assert out.startswith("Conversation c2\n  participant   P1\n\nFelt: emotions")


def test_show_takes_the_beginning_of_an_id(call: Call) -> None:
    name = load("demo")[0].id
    assert call("show", "demo", name[:8]) == call("show", "demo", name)


def test_without_an_id_the_records_are_listed(call: Call, files: Files) -> None:
    status, out, err = call("show", files[0])
    assert (status, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()] == [["id", "participant"], ["c1", "P1"], ["c2", "P1"]]


@pytest.mark.parametrize("kind", slow_after(3, KINDS), ids=lambda kind: kind.noun)
def test_every_kind_by_its_name(call: Call, kind: Kind[Any, Any]) -> None:
    records = load_records("demo", kind)
    status, out, err = call("show", "demo", "--kind", kind.noun)
    assert (status, err, too_wide(out)) == (0, "", [])
    # Two blanks separate columns; an id may contain one.
    assert [line.split("  ")[0] for line in out.splitlines()] == ["id", *(record.id for record in records)]
    assert call("show", "demo", records[1].id, "--kind", kind.noun) == (0, f"{show(records[1])}\n", "")
    assert call("describe", "demo", "--kind", kind.noun)[1].startswith(f"{len(records)} {kind.plural}, ")
    assert call("validate", "demo", "--kind", kind.noun)[1].startswith(f"{len(records)} {kind.plural} loaded; 0 errors")


@pytest.mark.parametrize("benchmark", [one for one in BENCHMARKS if one.data], ids=lambda one: one.name)
def test_results_beside_the_record(call: Call, benchmark: Benchmark) -> None:
    data, results = (load_records("demo", resolve(side)) for side in (benchmark.data, benchmark.results))
    of = ("--benchmark", benchmark.name)
    status, out, err = call("show", "demo", data[0].id, "--results", "demo", *of)
    assert (status, err, out) == (0, "", f"{show(data[0], results)}\n")


def test_predictions_beside_annotations(call: Call, files: Files) -> None:
    data, runs = files
    bend(
        runs / "c1_vendor_model_default.json",
        turns=[
            {
                "turnNumber": 1,
                "em_emotion_tags": [{"emotion": "Proud", "intensity": 6}],
                "em_binary_om_assessment": {"B1": "no", "B7": "yes"},
            }
        ],
    )
    turn = {
        "turnNumber": 1,
        "moodShiftTags": [{"emotion": "Upset", "intensity": 2}],
        "annotations": {
            "binaryJudgements": [
                {"questionId": "B1", "observedBehavior": "yes"},
                {"questionId": "B7", "observedBehavior": "yes"},
            ]
        },
    }
    bend(data / "conversation_1.json", turns=[turn])
    status, out, err = call("show", data, "c1", "--results", runs)
    assert (status, err, too_wide(out)) == (0, "", [])
    assert re.search(r"^Upset +2 +-\*\nProud +- +6\*$", out, re.MULTILINE)
    assert re.search(r"^B1 .* yes +no\*$", out, re.MULTILINE)
    assert re.search(r"^B7 .* yes +yes$", out, re.MULTILINE)
    assert re.search(r"^  1 +vendor/model/default\n  \* +differs from participant$", out, re.MULTILINE)


def test_only_the_records_of_a_subgroup_are_listed(call: Call) -> None:
    chosen = load("demo").where(diagnosis="ADHD", category=["Family", "Work"])
    status, out, err = call("show", "demo", "--where", "diagnosis=ADHD", "category=Family", "category=Work")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:]] == [one.id for one in chosen]


def test_a_record_is_shown_only_if_it_is_of_the_subgroup(call: Call) -> None:
    records = load("demo")
    name, other = records.where(diagnosis="ADHD")[0].id, records.where(diagnosis="none")[0].id
    assert call("show", "demo", name[:8], "--where", "diagnosis=ADHD") == call("show", "demo", name)
    status, out, err = call("show", "demo", other, "--where", "diagnosis=ADHD")
    assert (status, out) == (2, "")
    assert f"the conversation {other} is not among the 8 conversations with diagnosis=ADHD" in err


@pytest.mark.parametrize("results", [(), ("--results", "demo")], ids=["record", "results"])
def test_one_turn_is_shown_without_the_others(call: Call, results: tuple[str, ...]) -> None:
    record = load("demo")[0]
    status, out, err = call("show", "demo", record.id, "--turn", "2", *results)
    assert (status, err, too_wide(out)) == (0, "", [])
    text = " ".join(out.split())
    shown = [" ".join(turn.user_message.split()) in text for turn in record.turns]
    assert shown == [turn.turn_number == 2 for turn in record.turns]
    # Nothing about the whole conversation, which the whole text has.
    assert "PANAS" in call("show", "demo", record.id, *results)[1]
    assert "PANAS" not in out


def test_questions_of_the_turn_have_words_and_labels_a_key_before_them(call: Call) -> None:
    record = load("demo")[0]
    out = call("show", "demo", record.id, "--turn", "2")[1]
    annotations = record.turns[1].annotations
    asked = {one.question_id for one in annotations.binary_judgements}
    asked |= {pair.question_id or "" for pair in annotations.pairwise_comparisons}
    assert set(re.findall(r"(\w+): [A-Z]", out.partition("TURN 2")[2])) >= asked
    assert "alternate: the answer as a" in out.partition("TURN 2")[0]


def test_a_turn_that_does_not_exist(call: Call) -> None:
    record = load("demo")[0]
    status, out, err = call("show", "demo", record.id, "--turn", "9")
    assert (status, out) == (2, "")
    assert f"no turn 9: the conversation {record.id} has 5 turns: 1, 2, 3, 4, 5" in err
    dialogue = load_sage("demo")[0].id
    assert "has no numbered turns" in call("show", "demo", dialogue, "--turn", "1", "--benchmark", "sage")[2]


def test_a_whole_id_counts_though_others_begin_with_it(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps({"conversationId": name, "turns": []}) + "\n" for name in ("c1", "c10", "c11")))
    status, out, _ = call("show", path, "c1")
    assert (status, out) == (0, "Conversation c1\n")


def test_records_of_every_benchmark(call: Call, episodes: Scored, dialogues: Scored) -> None:
    scenario, episode, dialogue = load_scenarios("demo")[0], load_episodes(episodes.results)[0], load_sage("demo")[0]
    for source, record, options in (
        (episodes.data, f"{scenario.id}_0", ()),
        (episodes.results, episode.id, ()),
        (dialogues.results, dialogue.id, ()),
        ("demo", scenario.id, ("--benchmark", "eibench")),
    ):
        status, out, err = call("show", source, record, *options)
        assert (status, err) == (0, "")
        # The first line says what it is and which one.
        assert record.split("/")[0] in out.splitlines()[0]
        assert len(out.splitlines()) > 5
        assert too_wide(out) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", ["show", "describe"])
def test_a_pipe_gets_text_without_escapes(spawn: Spawn, command: str) -> None:
    ids = [load("demo")[0].id] if command == "show" else []
    done = spawn(command, "demo", *ids, env={"TERM": "xterm-256color", "COLUMNS": "", "FORCE_COLOR": "1"})
    out = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert all(character.isprintable() or character == "\n" for character in out)
    assert too_wide(out) == []


@pytest.mark.slow
def test_show_survives_a_terminal_without_the_characters(spawn: Spawn, files: Files) -> None:
    path = files[0] / "conversation_1.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"metadata": {"category": "Семья"}}), encoding="utf-8")
    done = spawn("show", files[0], "c1", env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"topic         \\u0421" in done.stdout


# describe. The example twice, of one participant. Each, by hand: 3 turns, 2 + 1 + 0 mood tags, 5 + 1 judgements,
# 4 + 1 comparisons, 2 improved responses, 1 edited, 2 PANAS items before, 12 after, 3 answers, 2 branches.
PER_CONVERSATION = {
    "turns": 3,
    "mood tags": 3,
    "yes/no judgements": 6,
    "pairwise comparisons": 5,
    "alternate responses": 2,
    "human responses": 1,
    "PANAS items before": 2,
    "PANAS items after": 12,
    "Q1 to Q3 answers": 3,
    "ratings of the model": 2,
}


def test_describe_counts_the_example(files: Files) -> None:
    counts = describe(load(files[0]))
    assert (counts["conversations"], counts["participants"], counts["without_participant"]) == (2, 1, 0)
    assert counts["counts"] == {
        name: {"total": 2 * count, "conversations": 2, "min": count, "median": count, "max": count}
        for name, count in PER_CONVERSATION.items()
    }


def test_describe_counts_traits_and_spread(tmp_path: Path) -> None:
    rows = [("P1", ["ADHD", "Depression"], "Work", 1), ("P1", ["adhd"], "Work", 2), (None, [], None, 4)]
    path = tmp_path / "c.jsonl"
    with path.open("w") as file:
        for number, (person, diagnoses, category, turns) in enumerate(rows):
            profile = {"participant_id": person, "demographics": {"diagnoses": diagnoses}}
            record = {
                "conversationId": f"c{number}",
                "participant_profile": profile,
                "metadata": {"category": category},
            }
            file.write(json.dumps({**record, "turns": [{"turnNumber": i + 1} for i in range(turns)]}) + "\n")
    counts = describe(load(path))
    assert (counts["conversations"], counts["participants"], counts["without_participant"]) == (3, 1, 1)
    assert counts["counts"]["turns"] == {"total": 7, "conversations": 3, "min": 1, "median": 2, "max": 4}
    assert counts["counts"]["mood tags"] == {"total": 0, "conversations": 0, "min": 0, "median": 0, "max": 0}
    two, one, nobody = (
        {"conversations": 2, "participants": 1},
        {"conversations": 1, "participants": 1},
        {"conversations": 1, "participants": 0},
    )
    assert counts["traits"]["category"] == {"Work": two, "no answer": nobody}
    assert counts["traits"]["diagnoses"] == {"ADHD": two, "Depression": one, "no answer": nobody}
    assert counts["traits"]["diagnosis_group"] == {"AnxDep": one, "ADHD": two, "unknown": nobody}
    text = description_text(counts)
    assert text.startswith("3 conversations, 1 participant, 1 without a participant, ")
    assert "One with several values of a trait counts in each." in text


def test_nothing_has_no_spread() -> None:
    turns = describe(load("demo")[:0])["counts"]["turns"]
    assert (turns["total"], str(turns["median"])) == (0, "nan")


def test_describe(call: Call, files: Files) -> None:
    status, out, err = call("describe", files[0])
    assert (status, err) == (0, "")
    text = description_text(describe(load(files[0])))
    assert out == f"{text}\n\nThe issues: attune-bench validate {files[0]}\n"
    # Each column as wide as its heading, the first as "pairwise comparisons": total, with any, min, median, max.
    assert f"\n{'yes/no judgements':<20}  {12:>5}  {2:>8}  {6:>3}  {6:>6}  {6:>3}\n" in out


def test_describe_counts_a_subgroup(call: Call) -> None:
    part = load("demo").where(diagnosis="ADHD")
    status, out, err = call("describe", "demo", "--where", "diagnosis=ADHD")
    assert (status, err) == (0, "")
    assert out == f"8 conversations of 40: diagnosis=ADHD\n\n{description_text(describe(part))}\n"
    as_json = call("describe", "demo", "--where", "diagnosis=ADHD", "--format", "json")[1]
    assert json.loads(as_json) == describe(part)


def test_describe_explains_what_it_shows(call: Call) -> None:
    of_parts, of_traits = "With any: ", "One with several values of a trait counts in each."
    shown = {name: call("describe", "demo", "--benchmark", name)[1] for name in ("attunebench", "emobench", "eqbench")}
    assert {name: (of_parts in text, of_traits in text) for name, text in shown.items()} == {
        "attunebench": (True, True),
        "emobench": (False, True),
        "eqbench": (False, False),
    }


def test_describe_json(call: Call, files: Files) -> None:
    status, out, err = call("describe", files[0], "--format", "json")
    assert (status, err) == (0, "")
    assert json.loads(out) == describe(load(files[0]))


def test_describe_counts_every_kind(call: Call, scored: Scorings) -> None:
    for name, start in (
        ("eibench", "144 episodes, 48 scenarios, 6 warnings, 1 note\n"),
        ("sage", "12 dialogues, 6 scenarios, 12 SYNTHETIC, no issues\n"),
    ):
        status, out, err = call("describe", scored(name).results)
        assert (status, err) == (0, "")
        assert out.startswith(start)
        assert too_wide(out) == []
    status, out, _ = call("describe", scored("eibench").data)
    assert (status, out.partition("\n")[0]) == (0, "48 scenarios, 48 SYNTHETIC, no issues")
    assert call("describe", "demo", "--benchmark", "eibench")[1].startswith("16 scenarios, ")


def test_names_are_shown_safely_and_in_line(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    categories = ["家族の健康", "\x1b[31mred", "x" * 300]
    rows = [{"conversationId": f"c{i}", "metadata": {"category": name}} for i, name in enumerate(categories)]
    path.write_text("".join(json.dumps({**row, "turns": [{"turnNumber": 1}]}) + "\n" for row in rows))
    _, out, _ = call("describe", path)
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 100
    # Of 100 columns two counts under headings of 13 and 12 leave 71; the wide characters take ten.
    assert f"家族の健康{' ' * (71 - 10)}  {'1':>13}  {'0':>12}\n" in out


# schema.


@pytest.mark.parametrize("kind", slow_after(4, SCHEMA_KINDS))
def test_schema_of_every_kind(call: Call, kind: str) -> None:
    status, out, err = call("schema", kind)
    assert (status, err) == (0, "")
    schema = json.loads(out)
    Draft202012Validator.check_schema(schema)
    assert schema == json_schema(kind)


def test_schema_alone_lists_the_kinds(call: Call) -> None:
    assert call("schema") == (0, "\n".join(SCHEMA_KINDS) + "\n", "")
    assert call("schema", "--tables") == (0, "\n".join(TABLE_SCHEMA_KINDS) + "\n", "")


@pytest.mark.parametrize("kind", TABLE_SCHEMA_KINDS)
def test_columns_of_the_tables_of_every_kind(call: Call, kind: str) -> None:
    status, out, err = call("schema", kind, "--tables")
    assert (status, err) == (0, "")
    assert json.loads(out) == json.loads(json.dumps(table_schema(kind)))


# Columns.


@pytest.mark.slow
def test_columns_are_listed_and_looked_up(call: Call) -> None:
    status, out, err = call("columns")
    assert (status, err) == (0, "")
    assert "Further analyses: separation," in out
    status, out, err = call("columns", "compare")
    assert (status, err) == (0, "")
    assert out.startswith(
        "comparisons: compare, scores.compare(), scores.compare_all()\nOne row for each pair of models,"
    )
    assert "  p_holm: number, 0 to 1\n    p-value with Holm's correction" in out


@pytest.mark.slow
def test_a_codebook_is_csv_or_json(call: Call) -> None:
    status, out, err = call("columns", "--format", "csv")
    assert (status, err) == (0, "")
    rows = list(csv.DictReader(StringIO(out)))
    assert len(rows) > 500
    content = json.loads(call("columns", "--format", "json")[1])["columns"]
    assert [(row["origin"], row["column"], row["meaning"]) for row in content] == [
        (row["origin"], row["column"], row["meaning"]) for row in rows
    ]
    assert "### ranks" in call("columns", "ranks", "--format", "markdown")[1]


def test_an_unknown_column_is_told_with_the_nearest(call: Call) -> None:
    assert call("columns", "p_hol") == (2, "", "attune-bench: no table or column 'p_hol'; did you mean 'p_holm'?\n")
