"""The commands `score` and `demo`: one verb for all benchmarks, each recognised by its results."""

import json
import re
import shlex
from pathlib import Path
from typing import NoReturn

import pytest
from commands import Call, Scored, Scorings, bend
from pages import text_of
from slow_cases import slow_after

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.baselines import BASELINES
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.eibench.scoring import model_summary
from attune_data import load_episodes, load_sage, load_scenarios

Files = tuple[Path, Path]


# AttuneBench, as its documentation spells the command.


@pytest.mark.parametrize("protocol", slow_after(1, ["documented", "released"]))
def test_the_published_spelling(call: Call, files: Files, tmp_path: Path, protocol: str) -> None:
    data, runs = files
    output = tmp_path / "out.json"
    status, out, err = call(
        "score", "--results", runs, "--ground-truth", data, "--output", output, "--protocol", protocol
    )
    assert (status, err) == (0, "")
    assert out.startswith(f"{output}: 2 runs of 1 model in 1 mode, protocol {protocol}\n")
    assert out.endswith(f"next: attune-bench report {output}\n")
    scores = Scores.read(output)
    assert scores.provenance.protocol == protocol
    # Derived in the tests of scoring.
    composites = [record["composite_score"] for record in records_of(scores)]
    assert composites == [64.69 if protocol == "documented" else 66.04] * 2
    assert call("report", "--scores", output)[0] == 0


def test_the_documented_protocol_and_scores_json_here_are_the_default(
    call: Call, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files[0].parent)
    assert call("score", "--results", "runs", "--data", "data")[0] == 0
    scores = Scores.read("scores.json")
    assert (scores.values.height, scores.provenance.protocol) == (len(files), "documented")


def test_scores_do_not_replace_what_is_scored(call: Call, files: Files) -> None:
    data, runs = files
    result = runs / "c1_vendor_model_default.json"
    before = result.read_bytes()
    status, _, err = call("score", "--results", result, "--data", data, "--output", result)
    assert (status, err) == (2, f"attune-bench: {result} is an input; choose another --output\n")
    assert result.read_bytes() == before


def test_what_was_not_scored_is_said(call: Call, files: Files, tmp_path: Path) -> None:
    data, runs = files
    bend(runs / "c1_vendor_model_default.json", conversationId="c9")
    output = tmp_path / "out.json"
    status, out, err = call("score", "--results", runs, "--ground-truth", data, "--output", output)
    assert (status, err) == (0, "")
    assert "1 run of 1 model in 1 mode" in out
    assert re.search(r"^1 error and \d+ warnings in the files; see: attune-bench validate ", out, re.MULTILINE)
    assert [issue.rule for issue in Scores.read(output).provenance.issues] == ["run-without-conversation"]


def test_the_commands_that_follow_can_be_pasted(call: Call, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files[0].parent)
    files[0].rename("my data")
    out = call("score", "--results", "runs", "--data", "my data", "-o", "my scores.json")[1]
    for line in out.splitlines()[1:]:
        pasted = shlex.split(line.partition(": attune-bench ")[2])
        assert call(*pasted)[0] == 0
    assert pasted == ["report", "my scores.json"]


# The same verb for the others.


@pytest.mark.parametrize(
    ("format_", "name"),
    [
        *(("default", "eibench"), ("parquet", "sage")),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                *(("default", "attunebench"), ("default", "sage")),
                *(("parquet", "attunebench"), ("parquet", "eibench")),
            )
        ),
    ],
)
def test_the_file_has_the_scores_that_python_gives(
    call: Call, scored: Scorings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, format_: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found = scored(name)
    data = ("--data", found.data) if found.data else ()
    output = () if format_ == "default" else ("--output", "own.parquet")
    status, out, err = call("score", "--results", found.results, *data, *output)
    assert (status, err) == (0, "")
    default = "scores.json" if name == "attunebench" else "scores.parquet"
    written = default if format_ == "default" else "own.parquet"
    said = {
        "attunebench": "80 runs of 2 models in 1 mode, protocol documented",
        "eibench": "144 episodes of 3 models",
        "sage": "12 dialogues of 2 models",
    }
    assert out.splitlines()[0] == f"{written}: {said[name]}"
    assert out.splitlines()[-1] == f"next: attune-bench report {written}"
    scores, expected = Scores.read(written), Scores.read(found.scores)
    assert scores.values.equals(expected.values)
    assert scores.units.equals(expected.units)
    assert scores.provenance == expected.provenance
    assert [path.name for path in tmp_path.iterdir()] == [written]


def test_several_results_are_named_after_one_option_or_each_after_its_own(
    call: Call, episodes: Scored, tmp_path: Path
) -> None:
    folders = sorted(Path(episodes.results).iterdir())
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    assert call("score", "--results", *folders, "--data", episodes.data, "-o", first)[0] == 0
    each = [word for folder in reversed(folders) for word in ("--results", folder)]
    assert call("score", *each, "--data", episodes.data, "-o", second)[0] == 0
    scores = [Scores.read(path) for path in (first, second, episodes.scores)]
    # Neither the order of the folders nor that they are named one by one shows.
    assert len({one.sign() for one in scores}) == 1
    assert all(one.values.equals(scores[0].values) for one in scores)


def test_one_model_of_eibench_has_the_official_summary(call: Call, episodes: Scored, tmp_path: Path) -> None:
    rash = Path(episodes.results) / "invented_rash"
    output = tmp_path / "scores.parquet"
    status, out, _ = call("score", "--results", rash, "--data", episodes.data, "--output", output)
    assert status == 0
    assert "0 errors and 6 warnings in the files; see: attune-bench validate " in out
    found = model_summary(Scores.read(output))
    assert (found["n"], found["failed"]["parse_failed"], found["scenarios"]) == (42, 6, 48)


def test_a_model_in_two_files_is_noticed(call: Call, dialogues: Scored, tmp_path: Path) -> None:
    path = Path(dialogues.results) / "hasty_result.jsonl"
    (tmp_path / "old").mkdir()
    other = tmp_path / "old" / path.name
    first, *others = path.read_text(encoding="utf-8").splitlines()
    changed = json.dumps({**json.loads(first), "emo_point": 100 - json.loads(first)["emo_point"]})
    other.write_text("\n".join([changed, *others]), encoding="utf-8")
    # The changed number contradicts the band and the history of its own record, too.
    assert [issue.severity for issue in (load_sage(path) | load_sage(other)).found] == ["warning", "warning", "error"]
    status, out, _ = call("score", "--results", path, other, "-o", tmp_path / "scores.parquet")
    assert status == 0
    # Of the dialogue whose two contents differ, the first file's counts.
    assert "6 dialogues of 1 model\n" in out
    assert "1 error and 2 warnings in the files; see: attune-bench validate " in out
    assert Scores.read(tmp_path / "scores.parquet").values.equals(
        Scores.read(dialogues.scores).values.filter(model="synthetic/hasty")
    )


@pytest.mark.parametrize("name", ["eibench", "sage"])
def test_demonstration_data_of_a_benchmark_that_is_named(call: Call, tmp_path: Path, name: str) -> None:
    data = ("--data", "demo") if name == "eibench" else ()
    output = tmp_path / "scores.parquet"
    assert call("score", "--results", "demo", *data, "--benchmark", name, "-o", output)[0] == 0
    assert Scores.read(output).models == ("synthetic/attentive", "synthetic/hasty")


# Files are written whole or not at all.


def test_an_unwritable_folder(call: Call, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where tests run as root no folder refuses, so the refusal is made.
    def refuse(*_: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    for name in ("out.json", "out.parquet"):
        output = tmp_path / name
        status, out, err = call("score", "--results", files[1], "--ground-truth", files[0], "--output", output)
        assert (status, out) == (2, "")
        said = f"attune-bench: {output} cannot be written: Permission denied; choose another --output, for instance"
        assert err == f"{said} --output {Path.home() / name}\n"
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


# demo.


@pytest.mark.parametrize(
    ("options", "title", "said"),
    [
        pytest.param(
            (),
            "AttuneBench",
            (*map("baseline/{}".format, BASELINES), "synthetic/attentive", "synthetic/hasty", "40 conversations"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("--benchmark", "eibench"), "EIBench", ("synthetic/attentive", "synthetic/hasty"), marks=pytest.mark.slow
        ),
        (("--benchmark", "sage"), "SAGE", ("synthetic/attentive", "synthetic/hasty")),
    ],
    ids=["the default", "eibench", "sage"],
)
@pytest.mark.usefixtures("elsewhere")
def test_the_demo_of_each_benchmark(call: Call, options: tuple[str, ...], title: str, said: tuple[str, ...]) -> None:
    status, out, err = call("demo", *options, "--html", "page.html")
    assert (status, err) == (0, "")
    assert out.startswith(f"SYNTHETIC data of {title}: ")
    assert all(words in " ".join(out.split()) for words in said)
    lines = out.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    page = text_of(Path("page.html").read_text(encoding="utf-8"))
    assert title in page
    # Who leads is said as the page says it.
    assert " ".join(out.split("\n\n")[1].split()).partition(" has the highest ")[0] == "synthetic/attentive"
    assert re.search(" has the highest [^;.,]*", " ".join(out.split()))[0] in page  # type: ignore[index]
    commands = [line.split(maxsplit=1)[1] for line in lines[-3:]]
    assert [command.split()[1] for command in commands] == ["compare", "run", "describe"]
    assert ("--benchmark" in commands[1]) == bool(options)


def test_scores_written_among_the_results_are_no_error_the_next_time(
    call: Call, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, runs = files
    monkeypatch.chdir(runs)
    first, again = (call("score", "--results", ".", "--data", data)[1] for _ in range(2))
    assert first == again
    status, out, _ = call("validate", data, "--results", runs)
    assert status == 0
    assert "not-a-record" in out
    assert "a file of scores, not a run; attune-bench report reads it; passed over" in " ".join(out.split())


def test_demo_is_that_of_the_other_source(call: Call, tmp_path: Path) -> None:
    scenarios = tmp_path / "scenarios.jsonl"
    load_scenarios("demo").to_jsonl(scenarios)
    demo_episodes = tmp_path / "episodes.jsonl"
    load_episodes("demo").to_jsonl(demo_episodes)
    for results, data in (("demo", str(scenarios)), (str(demo_episodes), "demo")):
        status, out, err = call("score", "--results", results, "--data", data, "-o", tmp_path / "scores.parquet")
        assert (status, err) == (0, "")
        assert " episodes of " in out
    assert Scores.read(tmp_path / "scores.parquet").provenance.benchmark == "eibench"
    status, _, err = call("report", "--scores", "demo")
    assert (status, err.count("\n")) == (2, 1)
    assert "demo has records, no scores; write: attune-bench report --results demo --data demo" in err
