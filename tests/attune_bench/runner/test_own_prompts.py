"""Templates of one's own: those of the bundled version, by name and placeholder, or one error before any call."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, answer_to, talk

from attune_bench.benchmarks.attunebench.rejudging import REJUDGE, drafted_runs
from attune_bench.benchmarks.attunebench.task import TASK as ATTUNEBENCH
from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings
from attune_bench.benchmarks.attunebench.task import bundled_prompts as attunebench_prompts
from attune_bench.benchmarks.eibench.task import TASK as EIBENCH
from attune_bench.benchmarks.eibench.task import EIBenchSettings
from attune_bench.benchmarks.eibench.task import bundled_prompts as eibench_prompts
from attune_bench.runner import PromptError, Prompts, endpoint, read_prompts, run_sync
from attune_bench.runner.prompts import load_prompts
from attune_data import Conversation, load_runs, load_scenarios
from attune_data.codebook import Named

SMALL = Prompts(
    "small-v1", Named({"ask": "$who, ${mood}?\n", "en/turn": "Costs $$3.\n$text\n", "note": "Again.\n"}), "x"
)


def faults(folder: Path, bundled: Prompts = SMALL) -> list[str]:
    """Return what is wrong with a folder, one by one."""
    with pytest.raises(PromptError) as error:
        read_prompts(folder, bundled)
    _, _, said = str(error.value).removeprefix(f"{folder}: ").partition(": ")
    return said.split("; ")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    SMALL.write(tmp_path / "mine")
    return tmp_path / "mine"


@pytest.mark.parametrize(
    "bundled",
    [attunebench_prompts, eibench_prompts, lambda: load_prompts("attune_bench.benchmarks.attunebench", "profile-v1")],
)
def test_what_is_written_reads_as_the_same_wording(bundled: Callable[[], Prompts], tmp_path: Path) -> None:
    prompts = bundled()
    prompts.write(tmp_path / "mine")
    mine = read_prompts(tmp_path / "mine", prompts)
    # The same words are the same version, under whatever name they are given.
    assert mine == prompts
    with pytest.raises(FileExistsError):
        prompts.write(tmp_path / "mine")
    assert read_prompts(None, prompts) is prompts


def test_other_words_have_another_hash_and_line_ends_and_marks_do_not_matter(mine: Path) -> None:
    same = read_prompts(mine, SMALL)
    (mine / "ask.md").write_bytes(b"\xef\xbb\xbf$who, ${mood}?\r\n")
    assert read_prompts(mine, SMALL) == same
    (mine / "ask.md").write_text("${mood}, $who? And $who; $$5.")
    other = read_prompts(mine, SMALL)
    assert other.hash != same.hash
    assert other.render("ask", who="Ann", mood="$who") == "$who, Ann? And Ann; $5."


def test_files_that_are_no_templates_are_passed_over(mine: Path) -> None:
    (mine / "notes.txt").write_text("$ $ $")
    assert read_prompts(mine, SMALL).texts.keys() == SMALL.texts.keys()


def test_every_fault_is_named_at_once(mine: Path) -> None:
    (mine / "note.md").rename(mine / "notes.md")
    (mine / "en" / "turn.md").write_text("It is $5.\n$tex and $")
    (mine / "ask.md").write_bytes(b"$who. \xff")
    assert faults(mine) == [
        "ask.md: byte 7 is not UTF-8",
        "save the file in that encoding",
        "notes.md: no such template",
        "did you mean 'note.md'?",
        "note.md: missing",
        "en/turn.md, line 1: '$5.' begins no placeholder",
        "write $$ for a dollar sign",
        "en/turn.md, line 2: '$' begins no placeholder",
        "write $$ for a dollar sign",
        "en/turn.md: $tex is no placeholder here",
        "did you mean 'text'?",
        "en/turn.md: $text is missing",
    ]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("ask", "$who", ["ask.md: $mood is missing"]),
        ("ask", " \n", ["ask.md: empty, and the bundled one is not"]),
        ("note", "", ["note.md: empty, and the bundled one is not"]),
        ("note", "$name", ["note.md: $name is no placeholder here", "it has none"]),
        (
            "ask",
            "$who ${mood",
            [
                "ask.md, line 1: '${mood' begins no placeholder",
                "write $$ for a dollar sign",
                "ask.md: $mood is missing",
            ],
        ),
        ("ask", "$who $mood $é", ["ask.md, line 1: '$é' begins no placeholder", "write $$ for a dollar sign"]),
        (
            "ask",
            "$Who $mood",
            ["ask.md: $Who is no placeholder here", "did you mean 'who'?", "ask.md: $who is missing"],
        ),
        ("en/own", "x", ["en/own.md: no such template", "did you mean 'en/turn.md'?"]),
    ],
)
def test_a_fault_of_a_template(name: str, text: str, fault: Sequence[str], mine: Path) -> None:
    (mine / f"{name}.md").write_text(text, encoding="utf-8")
    assert faults(mine) == fault


def test_faults_are_counted(mine: Path) -> None:
    (mine / "note.md").unlink()
    with pytest.raises(PromptError, match=r"mine: 1 fault: note\.md: missing$"):
        read_prompts(mine, SMALL)
    (mine / "ask.md").unlink()
    with pytest.raises(PromptError, match=r"mine: 2 faults: ask\.md: missing; note\.md: missing$"):
        read_prompts(mine, SMALL)


def test_of_many_faults_the_first_ten_are_named(mine: Path) -> None:
    for number in range(13):
        (mine / f"own-{number:02}.md").write_text("x")
    said = faults(mine)
    assert [fault for fault in said if "no such template" in fault] == [
        f"own-{number:02}.md: no such template" for number in range(10)
    ]
    assert said[-1] == "and 3 more"


def test_only_the_folders_of_the_version_are_read(mine: Path) -> None:
    (mine / "notes").mkdir()
    (mine / "notes" / "todo.md").write_text("$5")
    (mine / "README.md").write_text("It is $5.")
    assert read_prompts(mine, SMALL).texts == SMALL.texts
    (mine / "en" / "README.md").write_text("x")
    assert faults(mine)[0] == "en/README.md: no such template"


def test_a_template_may_be_empty_where_the_bundled_one_is(tmp_path: Path) -> None:
    bundled = Prompts("some", Named({"ask": "$who", "none": "\n"}), "x")
    bundled.write(tmp_path / "mine")
    assert read_prompts(tmp_path / "mine", bundled).texts == bundled.texts


def test_what_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file.md").write_text("$name")
    for path in (tmp_path / "file.md", tmp_path / "nowhere"):
        with pytest.raises(PromptError, match="is no folder; expected one with a file for each template"):
            read_prompts(path, SMALL)
    with pytest.raises(PromptError, match="the name of the folder with the templates is empty"):
        read_prompts("", SMALL)


def test_a_folder_without_any_of_the_templates(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("$5")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "ask.md").write_text("$who $mood")
    with pytest.raises(PromptError) as error:
        read_prompts(tmp_path, SMALL)
    assert str(error.value) == f"none of the templates is in {tmp_path}; expected ask.md and 2 more"


# In a run.


def marked(prompts: Prompts, folder: Path) -> Prompts:
    """Return templates that differ from the bundled ones in a word at the end of each."""
    prompts.write(folder)
    for path in folder.rglob("*.md"):
        path.write_text(f"{path.read_text(encoding='utf-8').rstrip()} {path.stem.upper()}-MARK\n", encoding="utf-8")
    return read_prompts(folder, prompts)


def test_a_run_asks_in_one_s_own_words_and_records_them(demo: list[Conversation], tmp_path: Path) -> None:
    mine = marked(attunebench_prompts(), tmp_path / "mine")
    settings = AttuneBenchSettings("vendor/model", judges=("judge/one",), prompts=mine)

    def made(server: ModelServer, task: Any, units: Any, name: str) -> Any:
        where = endpoint("local", base_url=server.url)
        assert run_sync(task, units, settings, where, output=tmp_path / name).finished == 1
        assert all("-MARK" in body["messages"][-1]["content"] for body in server.bodies)
        (made,) = load_runs(tmp_path / name)
        return made.model_extra

    with ModelServer(answer=answer_to) as server:
        extra = made(server, ATTUNEBENCH, demo[:1], "runs")
    assert (extra["prompt_version"], extra["prompt_hash"]) == ("custom", mine.hash)
    with ModelServer(answer=answer_to) as server:
        judged = made(server, REJUDGE, drafted_runs(load_runs(tmp_path / "runs"), demo), "rejudged")["judge_settings"]
    assert (judged["prompt_version"], judged["prompt_hash"]) == ("custom", mine.hash)


def test_episodes_in_one_s_own_words(tmp_path: Path) -> None:
    mine = marked(eibench_prompts(), tmp_path / "mine")
    settings = EIBenchSettings("vendor/model", "vendor/person", max_rounds=1, prompts=mine)
    with ModelServer(answer=talk) as server:
        where = endpoint("local", base_url=server.url)
        run_sync(EIBENCH, load_scenarios("demo")[:1], settings, where, output=tmp_path / "runs")
        assert all("-MARK" in body["messages"][0]["content"] for body in server.bodies)
    text = (tmp_path / "runs" / "vendor_model" / "results.jsonl").read_text(encoding="utf-8")
    assert '"prompt_version": "custom"' in text
