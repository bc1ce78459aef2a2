"""Every mistake in a call is one line on standard error and exit status 2, and nothing is written."""

import json
from errno import EACCES
from pathlib import Path

import pytest
from commands import Call, Scored, bend

from attune_data import load_scenarios

Files = tuple[Path, Path]
SCORE = ("score", "--results", "runs", "--ground-truth", "data")
EIBENCH = ("score", "--results", "episodes", "--data", "scenarios.jsonl")
REPORT = ("report", "--scores", "scores.parquet")

MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown-command": (("scores",), "no command 'scores'; did you mean 'score'? See: attune-bench --help"),
    "unknown-option": ((*SCORE, "--out", "x.json"), "--out"),
    "unknown-option-of-a-command": (("stats", "--scores", "x", "--out"), "See: attune-bench stats --help"),
    "option-without-a-value": (("stats", "--scores"), "Option '--scores' requires an argument"),
    "line-break-in-a-name": (("validate", "no\nsuch"), "no such file or folder"),
    # validate.
    "validate-without-a-source": (
        ("validate",),
        "Missing argument 'SOURCE'; for instance: attune-bench validate demo --results demo. See: att",
    ),
    "validate-two-sources": (("validate", "data", "runs"), "runs"),
    "validate-missing": (("validate", "date"), "no such file or folder: date"),
    "validate-empty-folder": (("validate", "empty"), "empty has no .json, .jsonl or .parquet file"),
    "validate-other-suffix": (("validate", "notes.txt"), "neither a .json, .jsonl or .parquet file"),
    "validate-another-kind": (
        ("validate", "foreign.json"),
        "foreign.json is a file of scores, and no file of records; attune-bench report foreign.json reads it",
    ),
    "validate-scores": (
        ("validate", "scores.parquet"),
        "scores.parquet is a file of scores, and no file of records; attune-bench report scores.parquet reads it",
    ),
    "validate-a-table": (
        ("validate", "results.csv"),
        "results.csv is a table of results, and no file of records; attune-bench report results.csv reads it",
    ),
    "validate-results-missing": (("validate", "data", "--results", "rums"), "no such file or folder: rums"),
    "validate-results-empty": (("validate", "data", "--results", "empty"), "empty has no"),
    "validate-results-of-another": (
        ("validate", "data", "--results", "episodes"),
        "episodes contains episodes and no run",
    ),
    "validate-swapped": (
        ("validate", "runs", "--results", "data"),
        "no results are scored against runs; give the data",
    ),
    "validate-unknown-benchmark": (("validate", "data", "--benchmark", "eibenhc"), "did you mean 'eibench'?"),
    "validate-no-module": (("validate", "data", "--benchmark", "no_such_module:X"), "no module 'no_such_module'"),
    # show, describe, schema.
    "show-results-of-no-id": (
        ("show", "demo", "--results", "demo"),
        "--results needs the ID of one conversation; attune-bench show demo lists them",
    ),
    "show-two-ways-to-say-what-it-is": (
        ("show", "demo", "--kind", "run", "--benchmark", "sage"),
        "leave --benchmark out",
    ),
    "show-no-results-of-it": (
        ("show", "data", "c1", "--results", "demo"),
        "none of 80 runs is of the conversation 'c1'",
    ),
    "show-missing": (("show", "date", "c1"), "no such file or folder: date"),
    "show-another-id": (("show", "data", "c1x"), "no record with id 'c1x'; did you mean 'c1'"),
    "show-begun-twice": (("show", "data", "c"), "2 ids begin with 'c': c1, c2; give more of one"),
    "show-nothing-usable": (
        ("show", "bad", "c1"),
        "bad is of no known kind: x.json: not JSON at column 2: Expecting property name",
    ),
    "show-turn-of-no-id": (
        ("show", "demo", "--turn", "2"),
        "--turn needs the ID of one conversation; attune-bench show demo lists them",
    ),
    "show-turn-of-a-subgroup": (
        ("show", "demo", "--where", "diagnosis=ADHD", "--turn", "2"),
        "; attune-bench show demo --where diagnosis=ADHD lists them",
    ),
    "show-where-nobody": (
        ("show", "demo", "--where", "diagnosis=ASD", "category=School"),
        "none of 40 conversations has diagnosis=ASD, category=School",
    ),
    "describe-where-without-a-value": (("describe", "demo", "--where", "ADHD"), "not of the form TRAIT=VALUE"),
    "export-where-not": (
        ("export", "demo", "--where", "diagnosis!=ADHD", "--format", "csv", "-o", "adhd"),
        "--where 'diagnosis!=ADHD': --where chooses equal values only, with TRAIT=VALUE; describe --where TRAIT=VALUE "
        "--compare shows a group and the others, export without --where writes all records with their traits",
    ),
    "describe-where-a-typo": (("describe", "demo", "--where", "diagnosis=ADDH"), "did you mean 'ADHD'?"),
    "describe-without-a-source": (("describe",), "Missing argument 'SOURCE'"),
    "describe-missing": (("describe", "date"), "no such file or folder: date"),
    "describe-nothing-usable": (("describe", "empty.jsonl"), "empty.jsonl is of no known kind"),
    "describe-as-csv": (("describe", "data", "--format", "csv"), "'csv' is not one of 'table', 'json'"),
    "schema-unknown": (("schema", "conversatoin"), "no schema of 'conversatoin'; did you mean 'conversation'?"),
    "schema-without-tables": (("schema", "codebook", "--tables"), "no tables of 'codebook'"),
    # score.
    "score-without-arguments": (
        ("score",),
        "Missing option '--results'; for instance: attune-bench score --results demo --data demo. See: ",
    ),
    "score-without-data": (("score", "--results", "runs"), "give --data: the conversations"),
    "score-option-without-value": (("score", "--results", "runs", "--ground-truth"), "--ground-truth"),
    "score-results-without-value": (("score", "--results", "--data", "data"), "--results is given without a value"),
    "score-positional": (("score", "runs", "data"), "--results"),
    "score-unknown-protocol": ((*SCORE, "--protocol", "paper"), "'paper' is not one of 'documented', 'released'"),
    "score-results-missing": (("score", "--results", "rums", "--ground-truth", "data"), "rums"),
    "score-truth-missing": (("score", "--results", "runs", "--ground-truth", "date"), "date"),
    "score-results-empty": (("score", "--results", "empty", "--ground-truth", "data"), "empty has no"),
    "score-truth-empty": (("score", "--results", "runs", "--ground-truth", "empty"), "empty has no"),
    "score-nothing-usable-in-truth": (
        ("score", "--results", "runs", "--ground-truth", "bad"),
        "no usable conversation in bad; the first: x.json $: not JSON",
    ),
    "score-nothing-usable-in-results": (
        ("score", "--results", "bad", "--ground-truth", "data", "--benchmark", "attunebench"),
        "no usable run in bad; the first: x.json $: not JSON",
    ),
    "score-swapped": (
        ("score", "--results", "data", "--ground-truth", "runs"),
        "data contains conversations; expected runs, episodes, dialogues, predictions, answers, transcripts, "
        "roleplays, comparisons, verdicts, chatlogs, and conversations are data; are --results and --data swapped?",
    ),
    "score-no-overlap": (("score", "--results", "other", "--ground-truth", "data"), "none of the 1 run in other"),
    "score-data-of-another": (
        ("score", "--results", "runs", "--data", "scenarios.jsonl"),
        "contains 48 scenarios and no conversation; load_scenarios reads scenarios",
    ),
    "score-a-table": (
        ("score", "--results", "results.csv"),
        "results.csv is a table of results, and no file of records; attune-bench report results.csv reads it",
    ),
    "score-other-scenarios": ((*EIBENCH[:3], "--data", "demo"), "is of one of the 16 scenarios: check that both come"),
    "score-no-output-folder": ((*SCORE, "--output", "none/scores.json"), "no such folder: none"),
    "score-output-is-a-folder": ((*SCORE, "--output", "empty"), "empty has to end in .parquet or .json"),
    "score-output-below-a-file": ((*SCORE, "--output", "notes.txt/scores.json"), "notes.txt"),
    "score-json-of-eibench": (
        (*EIBENCH, "--output", "scores.json"),
        "scores.json has to end in .parquet: EIBench has no file of scores in JSON; then attune-bench report "
        "scores.parquet --format json prints them",
    ),
    "score-csv": (
        (*SCORE, "--output", "my scores.csv"),
        "has to end in .parquet or .json; then attune-bench report 'my scores.parquet' --format csv prints them",
    ),
    "score-other-ending": ((*SCORE, "--output", "scores.txt"), "scores.txt has to end in .parquet or .json\n"),
    "score-option-of-another": (
        (*EIBENCH, "--protocol", "released"),
        "--protocol is an option of AttuneBench, and this",
    ),
    "score-data-of-sage": (("score", "--results", "dialogues", "--data", "demo"), "leave out --data"),
    "score-unknown-benchmark": ((*SCORE, "--benchmark", "attunebnch"), "no benchmark 'attunebnch'; did you mean"),
    # report and the others that read scores.
    "report-without-scores": (
        ("report",),
        "SCORES is missing; name a file of scores or a table, for instance: ",
    ),
    "report-unknown-format": (
        (*REPORT, "--format", "html"),
        "'html' is not one of 'table', 'markdown', 'latex', 'csv', 'json'",
    ),
    "report-missing": (("report", "--scores", "none.json"), "none.json cannot be read: No such file"),
    "report-folder": (
        ("report", "--scores", "data"),
        "data contains conversations, and no scores; write: attune-bench report --results RESULTS --data data, where "
        "RESULTS are what models answered",
    ),
    "report-no-json": (("report", "--scores", "bad/x.json"), "x.json is not JSON"),
    "report-no-scores": (
        ("report", "--scores", "notes.txt"),
        "notes.txt is no table; expected a name in .csv",
    ),
    "report-conversation": (
        ("report", "--scores", "data/conversation_1.json"),
        "contains conversations, and no scores; ",
    ),
    "report-scenarios": (
        ("report", "--scores", "scenarios.jsonl"),
        "contains scenarios, and no scores",
    ),
    "report-foreign-aggregates": (
        ("report", "--scores", "foreign.json"),
        "foreign.json has no score: no model was run on any conversation",
    ),
    "report-data-without-html": ((*REPORT, "--data", "scenarios.jsonl"), "give --html FILE too"),
    "report-small-cells-without-html": ((*REPORT, "--small-cells"), "give --html FILE too"),
    "report-format-of-a-page": ((*REPORT, "--html", "page.html", "--format", "csv"), "leave out --format or --html"),
    "report-no-page": ((*REPORT, "--html", "page.txt"), "--html page.txt does not end in .html; try --html page.html"),
    "report-no-folder-of-a-page": ((*REPORT, "--html", "none/page.html"), "no such folder: none; create it"),
    "report-failed-of-another": (
        ("report", "--scores", "scores.json", "--failed", "worst"),
        "--failed is an option of EIBench, and these scores are of AttuneBench; leave it out",
    ),
    "report-failed-unknown": ((*REPORT, "--failed", "best"), "'best' is not one of 'exclude', 'start', 'worst'"),
    "report-failed-of-a-table": (
        ("report", "results.csv", "--failed", "worst"),
        "--failed is an option of EIBench, and these scores are a table of results; leave it out",
    ),
    "compare-results-without-data": (
        ("compare", "--results", "runs"),
        "give --data: the conversations that the models answered",
    ),
    "compare-results-in-a-table": (
        ("compare", "--results", "results.csv"),
        "results.csv is a table of results, and no file of records; attune-bench compare results.csv reads it",
    ),
    "compare-results-and-scores": (
        ("compare", "scores.json", "--results", "runs", "--data", "data"),
        "--results are scored in place of SCORES; leave out scores.json, or --results",
    ),
    "compare-nothing": (("compare",), "or what models made: --results RESULTS --data DATA"),
    "compare-scores-among-results": (
        ("compare", "--data", "data", "--results", "runs", "scores.parquet"),
        "scores.parquet is a file of scores, and no file of records; attune-bench compare scores.parquet reads it",
    ),
    "report-baselines-of-scores": (
        ("report", "scores.json", "--baselines"),
        "--baselines is for results; give --results in place of SCORES, or leave it out",
    ),
    "rank-results": (
        ("rank", "--results", "runs"),
        "rank has no --results, it takes scores; first: attune-bench score --results runs --data DATA, then: "
        "attune-bench rank scores.json",
    ),
    "rank-results-in-a-table": (
        ("rank", "--results", "results.csv"),
        "rank has no --results; write: attune-bench rank results.csv",
    ),
    "compare-results-as-scores": (
        ("compare", "runs"),
        "runs contains runs, and no scores; write: attune-bench compare --results runs --data DATA",
    ),
    "rank-results-scored-alone": (
        ("rank", "dialogues"),
        "dialogues contains dialogues, and no scores; first: attune-bench score --results dialogues",
    ),
    "compare-protocol": (
        ("compare", "results.csv", "--protocol", "released"),
        "compare has no --protocol, which is an option of attune-bench score (AttuneBench)",
    ),
    "compare-typo": (
        ("compare", "results.csv", "--resampels", "9"),
        "(Did you mean one of: '--resamples', '--results'?)",
    ),
    "compare-twice": (
        ("compare", "results.csv", "--scores", "scores.json"),
        "scores are given twice: results.csv and --scores scores.json; leave one out",
    ),
    "compare-scores-after-a-list": (
        ("compare", "--metric", "accuracy", "results.csv"),
        "SCORES is missing: results.csv is read as a value of --metric; write: attune-bench compare results.csv "
        "--metric accuracy ...",
    ),
    "analyze-without-scores": (
        ("analyze", "win_rates", "ratings"),
        "SCORES is missing: win_rates is an analysis; write: attune-bench analyze scores.json win_rates ratings",
    ),
    "analyze-unknown": (
        ("analyze", "results.csv", "win_rate"),
        "no analysis 'win_rate' of these scores; did you mean 'win_rates'?",
    ),
    "subset-text-without-quotes": (
        ("subset", "scores.json", "--data", "data", "--filter", "age_range = 18-30"),
        "age_range is text, and text is in single quotes; write age_range = '18-30'",
    ),
    "subset-a-unit-without-quotes": (
        ("subset", "results.csv", "--filter", "unit > 7"),
        "unit is text, and text is in single quotes; write unit > '7'",
    ),
    "subset-a-word-without-quotes": (
        ("subset", "results.csv", "--filter", "topic = hard"),
        "no trait 'hard'; expected one of unit, cluster, topic; if hard is a value, write topic = 'hard'",
    ),
    "compare-two-tables": (
        ("compare", "results.csv", "more.csv"),
        "Got unexpected extra argument (more.csv); join several tables into one, and put a text with blanks in quotes",
    ),
    "subset-of-no-trait": (
        ("subset", "results.csv"),
        "which units? Choose some, for instance --where TRAIT=VALUE, or use --by TRAIT; the traits are topic",
    ),
    "figure-of-no-range": (
        ("figure", "results.csv", "--kind", "profile", "-o", "f.svg"),
        "no metric declares a finite range, which a profile draws; name metrics, as in --metric accuracy",
    ),
    "describe-a-table": (
        ("describe", "results.csv"),
        "results.csv is a table of results, and no file of records; attune-bench report results.csv reads it",
    ),
    "judge-typo": (("judge", "agre"), "no command 'agre'; did you mean 'agree'? See: attune-bench judge --help"),
    "show-scores": (
        ("show", "scores.json"),
        "scores.json is a file of scores, and no file of records; attune-bench report scores.json reads it",
    ),
    "report-published": (
        (*REPORT, "--published"),
        "report has no --published, which is an option of attune-bench score (EIBench)",
    ),
    "report-data-of-sage": (
        ("report", "--scores", "sage.parquet", "--html", "page.html", "--data", "demo"),
        "scores of SAGE take no --data; leave it out",
    ),
    "report-results-of-another": (
        (*REPORT, "--html", "page.html", "--data", "scenarios.jsonl", "--results", "dialogues"),
        "contains 12 dialogues and no episode; load_sage reads dialogues",
    ),
    "report-data-of-a-table": (
        ("report", "--scores", "results.csv", "--html", "page.html", "--data", "demo"),
        "scores of a table take no --data; leave it out",
    ),
    "report-many-resamples": ((*REPORT, "--resamples", "9" * 400), "from 1 to 10,000,000"),
    "report-resamples": ((*REPORT, "--resamples", "0"), "resamples 0 is not a whole number from 1"),
    "report-resamples-no-number": ((*REPORT, "--resamples", "many"), "'many' is not a valid integer"),
    "stats-unknown-metric": (("stats", "--scores", "scores.parquet", "--metric", "rewrad"), "did you mean 'reward'?"),
    # demo.
    "demo-no-page": (("demo", "--html", "page.txt"), "--html page.txt does not end in .html; try --html page.html"),
    "demo-unknown-benchmark": (("demo", "--benchmark", "sages"), "no benchmark 'sages'; did you mean 'sage'?"),
    # run; the options of each benchmark are tested where its runs are.
    "run-without-arguments": (
        ("run",),
        "Missing argument 'PROVIDER'; for instance: attune-bench run local my-model demo --dry-run. See: attune",
    ),
    "run-asks-for-what-is-required": (("run", "local", "m", "scenarios.jsonl"), "EIBench needs --simulator-model: "),
    "run-judge-of-scenarios": (
        ("run", "local", "m", "scenarios.jsonl", "--simulator-model", "s", "--judge-model", "j"),
        "--judge-model is an option of AttuneBench and EQ-Bench 3, and this is EIBench; leave it out",
    ),
    "run-simulator-of-conversations": (
        ("run", "local", "m", "data", "--simulator-model", "s"),
        "--simulator-model is an option of EIBench and SAGE, and this is AttuneBench; leave it out",
    ),
    "run-of-results": (
        ("run", "local", "m", "episodes"),
        "episodes contains episodes; expected conversations, scenarios, profiles, items, questions, situations, and "
        "episodes are the results of models\n",
    ),
    "run-of-comparisons": (
        ("run", "local", "m", "data", "--benchmark", "comparisons"),
        "Comparisons in pairs cannot be run",
    ),
    "run-of-no-profiles": (
        ("run", "local", "m", "data", "--benchmark", "sage", "--simulator-model", "p", "--dry-run"),
        "data contains 2 conversations and no profile",
    ),
}


@pytest.fixture
def folder(
    files: Files,
    episodes: Scored,
    dialogues: Scored,
    results_csv: Path,
    scores_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Work in a folder with files of every kind, good and bad."""
    here = results_csv.parent
    assert here == files[0].parent == scores_file.parent
    monkeypatch.chdir(here)
    for name in ("empty", "bad", "other"):
        (here / name).mkdir()
    (here / "notes.txt").write_text("protocol: documented")
    (here / "empty.jsonl").write_text("{}\n")
    (here / "bad" / "x.json").write_text("{")
    foreign = {"metadata": {"protocol": "documented"}, "conversations": [], "aggregates": [{"model": "a"}]}
    (here / "foreign.json").write_text(json.dumps(foreign))
    (here / "other" / "x.json").write_bytes((files[1] / "c1_vendor_model_default.json").read_bytes())
    bend(here / "other" / "x.json", conversationId="c9")
    for name, path in (
        ("episodes", episodes.results),
        ("scenarios.jsonl", episodes.data),
        ("scores.parquet", episodes.scores),
        ("dialogues", dialogues.results),
        ("sage.parquet", dialogues.scores),
    ):
        (here / name).symlink_to(path)
    episode = json.loads((here / "episodes" / "invented_calm" / "results.jsonl").read_text().splitlines()[0])
    (here / "other.jsonl").write_text(json.dumps({**episode, "model": "another", "simulator": "other"}) + "\n")
    return here


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line(call: Call, folder: Path, arguments: tuple[str, ...], words: str) -> None:
    before = sorted(folder.rglob("*"))
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("attune-bench: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert words in err
    assert sorted(folder.rglob("*")) == before  # nothing was written


def test_nothing_that_is_read_is_written_over(call: Call, folder: Path) -> None:
    page = folder / "data.html"
    page.write_text("x")
    status, _, err = call("report", "--scores", page, "--html", page)
    assert (status, err.count("\n")) == (2, 1)
    assert page.read_text() == "x"


def test_records_that_are_all_unusable_name_the_first_issue(call: Call, folder: Path) -> None:
    line = load_scenarios("demo")[0].to_line().replace(b'"scene_tag"', b'"tag"')
    (folder / "broken.jsonl").write_bytes(line + b"\n")
    status, _, err = call("describe", "broken.jsonl")
    assert status == 2
    assert "no usable scenario in broken.jsonl; see: attune-bench validate broken.jsonl" in err
    assert call("validate", "broken.jsonl")[0] == 1


def test_an_error_of_ours_is_no_mistake_of_the_user(call: Call, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a fault of the program")

    monkeypatch.setattr("attune_bench.cli.sources.load_records", fail)
    with pytest.raises(ValueError, match="a fault of the program"):
        call("validate", files[0])


def test_turns_under_another_key_name_the_key(call: Call, folder: Path) -> None:
    path = folder / "data" / "conversation_1.json"
    record = json.loads(path.read_bytes())
    whole = path.read_bytes()
    record["Turns"] = record.pop("turns")
    path.write_text(json.dumps(record), encoding="utf-8")
    out = " ".join(call("validate", "data")[1].split())
    assert "the record has no turns; its key 'Turns' is not read: rename the key to 'turns'" in out
    issues = "\nThe issues: attune-bench validate data\n"
    assert call("describe", "data")[1].endswith(issues)
    # Without such a key, none is named.
    del record["Turns"]
    path.write_text(json.dumps(record), encoding="utf-8")
    assert "is not read" not in call("validate", "data")[1]
    path.write_bytes(whole)
    assert "no turns" not in call("validate", "data")[1]
    assert "The issues" not in call("describe", "demo")[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n "conversationId": "c9",\n "turns": [1,\n ]\n}', "line 3, column 13: remove the comma before ]"),
        ('{"conversationId": "c9", "turns": [], }', "column 37: remove the comma before }"),
        ('{"conversationId": "c9", "turns": [1 2]}', "column 38: Expecting ',' delimiter"),
    ],
    ids=["list", "object", "other"],
)
def test_a_trailing_comma_is_named_with_its_place(call: Call, folder: Path, text: str, said: str) -> None:
    (folder / "comma").mkdir()
    (folder / "comma" / "conversation_9.json").write_text(text, encoding="utf-8")
    status, _, err = call("describe", "comma")
    assert (status, err.count("\n")) == (2, 1)
    assert f"conversation_9.json: not JSON at {said}" in err


@pytest.mark.parametrize(
    ("words", "option", "name"),
    [
        (("describe", "demo", "--html", "sub/page.html"), "--html", "page.html"),
        (("export", "demo", "--format", "csv", "-o", "sub/tables"), "--output", "tables"),
        ((*SCORE, "-o", "sub/scores.json"), "--output", "scores.json"),
    ],
    ids=["page", "tables", "scores"],
)
def test_a_folder_that_is_read_only_is_told_with_another(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], option: str, name: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(EACCES, "Permission denied")

    (folder / "sub").mkdir()
    for first_step in ("tempfile.mkdtemp", "attune_data.io.documents.token_hex"):
        monkeypatch.setattr(first_step, refuse)
    status, _, err = call(*words)
    assert (status, err.count("\n")) == (2, 1)
    elsewhere = f"choose another {option}, for instance {option} {Path.home() / name}"
    assert f"sub/{name} cannot be written: Permission denied; {elsewhere}\n" in err
    assert not list((folder / "sub").iterdir())
