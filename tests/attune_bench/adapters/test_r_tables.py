"""Tables of records for R: what is missing, true, listed or a formula arrives as such, and joins with scores."""

import csv
import json
import shutil
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import Call, bend
from documentation import blocks_of

from attune_bench.adapters.r_tables import table_files
from attune_data import Conversations, load, load_codebook, load_records
from attune_data.attunebench.records import Metadata
from attune_data.collection import Kind
from attune_data.kinds import KINDS

Files = tuple[Path, Path]


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(content.decode(), newline=""), strict=True))


def with_profile(number: int, **demographics: Any) -> Conversations:
    """Return a conversation of the demo by a person who said other things about themself."""
    record = load("demo")[number]
    profile = record.participant_profile
    changed = profile.model_copy(update={"demographics": profile.demographics.model_copy(update=demographics)})
    return Conversations([record.model_copy(update={"participant_profile": changed})])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
def test_the_codebook_has_every_column_of_every_table(kind: Kind[Any, Any]) -> None:
    files = table_files(load_records("demo", kind), "csv")
    asked = {"questions.csv"} if kind.tables.question_texts() else set()
    names = [*kind.tables.names, *(["participants"] if kind.noun == "conversation" else [])]
    own = {*(f"{name}.csv" for name in names), "codebook.csv", "README.txt", "read.R"}
    assert {*files} == own | asked
    codebook = rows(files["codebook.csv"])
    assert list(codebook[0]) == ["table", "column", "meaning", "type", "range", "may_be_missing"]
    for name in names:
        head = files[f"{name}.csv"].decode().partition("\n")[0].split(",")
        assert head == [row["column"] for row in codebook if row["table"] == name]
        assert len(set(head)) == len(head)
        assert max(len(column.encode()) for column in head) <= 64
    assert all(row["meaning"] for row in codebook)


def test_each_diagnosis_is_a_column_of_true_and_false() -> None:
    records = load("demo")
    written = rows(table_files(records, "csv")["conversations.csv"])
    for record, row in zip(records, written, strict=True):
        said = record.participant_profile.demographics.diagnoses
        assert row["diagnosis_ADHD"] == str("ADHD" in said).upper()
        assert row["diagnosis_None_of_the_above"] == str("None of the above" in said).upper()
    assert {"diagnosis_Anxiety_disorder", "diagnosis_group_AnxDep"} <= {*written[0]}
    # The group says of nobody that they gave no answer: those are missing.
    assert "diagnosis_group_unknown" not in written[0]


def test_parts_of_a_source_have_the_same_columns() -> None:
    records = load("demo")
    whole = table_files(records, "csv")
    assert "diagnosis_Depression" in whole["conversations.csv"].decode()
    for part in (records.where(diagnosis="ADHD"), records[:1]):
        files = table_files(part, "csv")
        assert files["codebook.csv"] == whole["codebook.csv"]
        for name in records.tables.names:
            assert files[f"{name}.csv"].partition(b"\n")[0] == whole[f"{name}.csv"].partition(b"\n")[0]


def test_words_of_a_person_are_only_in_files_that_have_this_person() -> None:
    records = load("demo")
    said = {one.id: one.conversation_wide_questions.q3_follow_up_what_felt_off for one in records}
    words = next(text for texts in said.values() for text in texts if sum(text in one for one in said.values()) == 1)
    others = table_files(records[[words not in texts for texts in said.values()]], "csv")
    assert words in table_files(records, "csv")["conversation_wide.csv"].decode()
    assert not any(words in content.decode() for content in others.values())


def test_every_question_of_the_tables_has_its_words() -> None:
    records = load("demo")
    files = table_files(records, "csv")
    words = {(row["table"], row["question_id"]): row for row in rows(files["questions.csv"])}
    for table in ("binary", "pairwise"):
        asked = {row["question_id"] for row in rows(files[f"{table}.csv"])}
        assert all(words[table, name]["text"] for name in asked if not name.startswith("custom:"))
    assert words["binary", "B7"]["text"] == load_codebook().binary["B7"].text
    wide = files["conversation_wide.csv"].decode().partition("\n")[0].split(",")
    for table, name in words:
        assert table != "conversation_wide" or any(column.startswith(name) for column in wide)
    assert words["conversation_wide", "q2_emotion_clarity"]["answers"].startswith(
        "Clear and explicitly stated; Implied"
    )
    meanings = {(row["table"], row["column"]): row["meaning"] for row in rows(files["codebook.csv"])}
    assert meanings["binary", "observed_behavior"].endswith("na: not applicable.")
    assert "as the participant rated it" in meanings["conversation_wide", "perceiving"]


def test_traits_of_a_participant_are_there_once() -> None:
    records = load("demo")
    files = table_files(records, "csv")
    people, repeated = rows(files["participants.csv"]), rows(files["conversations.csv"])
    assert len(people) == len({row["participant_id"] for row in repeated}) == 24 < len(repeated)
    of_people = {row["participant_id"]: row for row in people}
    for row in repeated:
        assert of_people[row["participant_id"]].items() <= row.items()
    assert not {"attitude", "n_turns", "conversation_id"} & {*people[0]}
    two = [record for record in records if record.participant_id == people[0]["participant_id"]]
    profile = two[0].participant_profile
    moved = profile.model_copy(update={"demographics": profile.demographics.model_copy(update={"country": "Norway"})})
    changed = Conversations([two[0].model_copy(update={"participant_profile": moved}), *two[1:]])
    [person] = rows(table_files(changed, "csv")["participants.csv"])
    assert (len(two) > 1, person["country"], person["education"]) == (True, "NA", people[0]["education"])
    assert "cluster by participant_id" in files["README.txt"].decode()


def test_the_note_says_which_columns_have_no_value() -> None:
    records = load("demo")
    said = "Columns without any value in these conversations: binary.llm_value.\n"
    assert said in table_files(records.where(diagnosis="ADHD"), "csv")["README.txt"].decode()
    turn = records[0].turns[0]
    answered = [one.model_copy(update={"llm_value": "yes"}) for one in turn.annotations.binary_judgements]
    annotations = turn.annotations.model_copy(update={"binary_judgements": tuple(answered)})
    turns = (turn.model_copy(update={"annotations": annotations}), *records[0].turns[1:])
    files = table_files(Conversations([records[0].model_copy(update={"turns": turns}), *records[1:]]), "csv")
    assert "without any value" not in files["README.txt"].decode()


def test_the_note_says_what_is_synthetic() -> None:
    records = load("demo")
    note = table_files(records.where(diagnosis="ADHD"), "csv")["README.txt"].decode()
    assert note.startswith("8 conversations of 40, exported by attune-bench.\nSYNTHETIC data: nothing here is about a")
    assert "Privacy: of real data, such tables have" in note
    real = records[0].model_copy(update={"metadata": Metadata(model="gpt-4o-mini")})
    note = table_files(Conversations([real]), "csv")["README.txt"].decode()
    assert note.startswith("1 conversation, exported")
    assert "SYNTHETIC" not in note
    assert "Privacy: the tables have the traits and the whole texts of single participants" in note
    mixed = Conversations([real, *records[1:3]])
    assert "SYNTHETIC data: 2 of them." in table_files(mixed, "parquet")["README.txt"].decode()


def test_no_answer_is_missing_and_not_false() -> None:
    both = with_profile(4) | with_profile(5, diagnoses=(), gender=None, country="NA")
    answered, silent = rows(table_files(both, "csv")["conversations.csv"])
    assert (answered["diagnosis_ADHD"], silent["diagnosis_ADHD"], silent["diagnosis_group_none"]) == (
        "TRUE",
        "NA",
        "NA",
    )
    # What the person said in these letters is another thing than no answer.
    assert (silent["gender"], silent["country"]) == ("NA", "'NA")


def test_answers_of_one_name_have_columns_of_their_own() -> None:
    [row] = rows(table_files(with_profile(0, diagnoses=("A/B", "A-B", "不安")), "csv")["conversations.csv"])
    assert [name for name in row if name.startswith("diagnosis_") and "group" not in name] == [
        "diagnosis_A_B",
        "diagnosis_A_B_2",
        "diagnosis_other_script",
    ]


def test_a_list_of_very_many_values_stays_one_column() -> None:
    many = tuple(f"field {number:03}" for number in range(50))
    files = table_files(with_profile(0, work_edu_background=many), "csv")
    [row] = rows(files["conversations.csv"])
    assert row["work_edu_background"].split("; ") == list(many)
    about = next(row for row in rows(files["codebook.csv"]) if row["column"] == "work_edu_background")
    assert (about["type"], "separated by semicolons" in about["meaning"]) == ("text", True)


def test_parquet_has_the_same_columns_with_types() -> None:
    records = load("demo").where(diagnosis="ADHD")
    files, of_csv = table_files(records, "parquet"), table_files(records, "csv")
    assert "read.R" not in files
    people = pl.read_parquet(files["conversations.parquet"])
    assert people.columns == list(rows(of_csv["conversations.csv"])[0])
    assert people["diagnosis_ADHD"].to_list() == [True] * 8
    assert files["codebook.csv"] == of_csv["codebook.csv"]


def test_export_writes_the_tables_of_a_subgroup(call: Call, tmp_path: Path) -> None:
    target = tmp_path / "adhd"
    status, out, err = call("export", "demo", "--where", "diagnosis=ADHD", "--format", "csv", "-o", target)
    assert (status, err) == (0, "")
    assert out.startswith(f"{target}: 8 conversations of 40 in 12 files\n")
    files = table_files(load("demo").where(diagnosis="ADHD"), "csv")
    assert {path.name: path.read_bytes() for path in target.iterdir()} == files
    again = call("export", "demo", "--format", "csv", "-o", target)
    assert (again[0], "exists and is not an empty folder" in again[2]) == (2, True)
    assert {path.name for path in target.iterdir()} == {*files}


def test_content_says_whether_a_source_has_records_or_scores(call: Call, tmp_path: Path) -> None:
    for name in ("scores.json", "scores.parquet"):
        call("score", "--results", "demo", "--data", "demo", "-o", tmp_path / name)
        target = tmp_path / f"of {name}"
        assert call("export", tmp_path / name, "--format", "csv", "-o", target, "--resamples", "50")[0] == 0
        assert (target / "summary.csv").exists()
    runs = call("export", "demo", "--kind", "run", "--format", "csv", "-o", tmp_path / "runs")
    assert (runs[0], runs[1].splitlines()[0]) == (0, f"{tmp_path / 'runs'}: 80 runs in 4 files")


def test_tables_and_scores_have_every_participant_by_one_name(call: Call, files: Files, tmp_path: Path) -> None:
    """The same participant is written in two ways; a join by participant finds every row all the same."""
    for number, name in enumerate((" a00001", "A00001 "), start=1):
        path = files[0] / f"conversation_{number}.json"
        profile = json.loads(path.read_bytes()).get("participant_profile") or {}
        bend(path, participant_profile={**profile, "participant_id": name})
    call("score", "--results", files[1], "--data", files[0], "-o", tmp_path / "scores.json")
    exported = ("--format", "csv", "-o")
    assert call("export", files[0], *exported, tmp_path / "tables")[0] == 0
    assert call("export", tmp_path / "scores.json", *exported, tmp_path / "scores", "--small-cells")[0] == 0
    people = pl.read_csv(tmp_path / "tables" / "conversations.csv").select("participant_id", "conversation_id")
    scores = pl.read_csv(tmp_path / "scores" / "scores.csv")
    joined = scores.join(people, left_on=["cluster", "unit"], right_on=["participant_id", "conversation_id"])
    assert joined.height == scores.height > 0
    assert people["participant_id"].unique().to_list() == ["A00001"]


_R = """
data <- "mine"
source(file.path(commandArgs(TRUE)[1], "read.R"), chdir = TRUE)
stopifnot(data == "mine", setdiff(ls(), c("codebook", "questions", unique(codebook$table))) == "data")
stopifnot(questions$text[questions$question_id == "B1"] != "")
stopifnot(nrow(conversations) == 40, is.logical(conversations$diagnosis_ADHD), sum(conversations$diagnosis_ADHD) == 8)
stopifnot(is.integer(mood_tags$intensity), is.numeric(conversations$promis_anxiety_t))
stopifnot(levels(binary$observed_behavior) == c("yes", "no", "na"), anyNA(conversations$who_5))
stopifnot(is.logical(conversations$asrs_6_screen), is.na(conversations$gender[1]))
stopifnot(conversations$country[1] == "NA", conversations$education[1] == "=1+1", !anyNA(conversations$country))
stopifnot(nrow(participants) == 24, !anyDuplicated(participants$participant_id))
stopifnot(nrow(merge(mood_tags, conversations, by = "conversation_id")) == nrow(mood_tags))
for (table in unique(codebook$table)) stopifnot(names(get(table)) == codebook$column[codebook$table == table])
cat(turns$user_message[1])
"""


def run_r(script: str, folder: Path, *arguments: object) -> str:
    """Return what a script of R prints; install R where there is none."""
    if shutil.which("Rscript") is None:
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "r-base-core"]):
            subprocess.run(["apt-get", *command], check=True, capture_output=True)  # noqa: S607
    (folder / "check.R").write_text(script, encoding="utf-8")
    words = ["Rscript", "check.R", *map(str, arguments)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert said[0].startswith("Data frames: codebook, questions, conversations, ")
    assert said[1:] == ["SYNTHETIC data: nothing here is about a real person."]
    return done.stdout


@pytest.mark.slow
def test_r_reads_the_tables_with_their_types(tmp_path: Path) -> None:
    records = with_profile(0, country="NA", education="=1+1", gender=None) | load("demo")[1:]
    folder = tmp_path / "out"
    folder.mkdir()
    for name, content in table_files(records, "csv").items():
        (folder / name).write_bytes(content)
    assert run_r(_R, tmp_path, folder) == records[0].turns[0].user_message


@pytest.mark.slow
def test_the_lines_of_r_in_the_docs(call: Call, tmp_path: Path) -> None:
    [block] = [one for one in blocks_of("from-files-to-a-subgroup.md") if one.language == "r"]
    assert call("export", "demo", "--where", "diagnosis=ADHD", "--format", "csv", "-o", tmp_path / "adhd")[0] == 0
    assert "diagnosis_Anxiety_disorder intensity" in run_r(block.text, tmp_path)
