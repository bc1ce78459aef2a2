"""The command line, `attune-bench`, and its commands but those of the statistics, of EIBench and SAGE, and of runs.

A mistake of the user is one line on standard error that says what to do, and exit status 2.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter

from attune_bench import analyze_command, eibench_commands, sage_commands, stats_commands
from attune_bench._usage import UsageError, check_page, emit, write_page
from attune_bench._version import __version__
from attune_data.issues import Issue, SourceError
from attune_data.text import plural, printable

__all__ = ["app", "main"]

app = App(
    name="attune-bench",
    help="Score how well language models read people's feelings and preferences, against what the people said.",
    version=__version__,
)
app.command(stats_commands.compare)
app.command(stats_commands.subset)
app.command(analyze_command.analyze)
app.command(eibench_commands.eibench)
app.command(sage_commands.sage)
# Imported when they are called, as what they need is slow.
for _name, _help in {
    "run": "Ask a model the questions of the benchmark and write a run file for each conversation. The same command "
    "again goes on where it was stopped.",
    "rejudge": "Re-run judges on the drafts of run files.",
    "profile": "Ask a model for each participant's profile from the conversation alone. An experiment.",
}.items():
    app.command(f"attune_bench.benchmarks.attunebench.commands:{_name}", name=_name, help=_help)
eibench_commands.eibench.command(
    "attune_bench.benchmarks.eibench.commands:run",
    name="run",
    help="Let a model talk with simulated people, and write results.jsonl and summary.json. The same command again "
    "goes on where it was stopped.",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status: 0, 1 where `validate` found errors, 2 for a mistake in the call."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot show a character gets its escape, not a traceback.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = app(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        called = " ".join(["attune-bench", *(error.command_chain or ())])
        _fail(f"{_sentence(error)} See: {called} --help")
    except (UsageError, SourceError) as error:
        _fail(str(error))
    except BrokenPipeError:
        # The reader, `head` for instance, has seen enough; nothing may be flushed into the closed pipe at exit.
        sys.stdout = None
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _sentence(error: CycloptsError) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, MissingArgumentError) and error.keyword is None:
        text = text.replace(" requires an argument.", " is missing.")
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _fail(message: str) -> None:
    sys.stderr.write(f"attune-bench: {printable(message)}\n")
    sys.exit(2)


@app.command
def demo(*, html: Path = Path("attune-demo.html")) -> None:
    """Score three baseline predictors on the embedded synthetic conversations; print the report, write it as a page.

    Parameters
    ----------
    html
        Where to write the page of HTML, if the extra `plots` is installed.
    """
    from attune_bench.benchmarks.attunebench.baselines import BASELINES
    from attune_bench.benchmarks.attunebench.scoring import score
    from attune_bench.report import report
    from attune_bench.report.html import html_report
    from attune_data import load

    check_page(html, [])
    conversations = load("demo")
    participants = {conversation.participant_id for conversation in conversations}
    emit(
        f"{len(conversations)} SYNTHETIC conversations by {len(participants)} invented participants, "
        f"answered by {len(BASELINES)} baselines that use no model.\n"
    )
    runs = [run for predict in BASELINES.values() for run in predict(conversations)]
    scores = score(conversations, runs)
    emit(report(scores))
    try:
        text = html_report(scores, data=conversations, runs=runs)
    except ImportError as error:
        emit(f"No page of HTML: {error}")
    else:
        write_page(html, text)
    emit(_NEXT)


_NEXT = """
Next:
  attune-bench score --results demo --ground-truth demo --output scores.json
                                        score run files of any model; here those of two simulated ones
  attune-bench report --scores scores.json --format markdown
                                        the report again, for a paper
  attune-bench validate FOLDER          check conversation files of your own; every finding with file, place and value
  python -c 'import attune_data; print(attune_data.load("demo")[0].turns[0].user_message)'
                                        the same conversations from Python
"""


@app.command
def validate(
    source: str,
    /,
    *,
    results: str | None = None,
    strict: Annotated[bool, Parameter(negative="")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Check conversation files and list every issue.

    Exits with 1 where a record had to be left out.

    Parameters
    ----------
    source
        A .json file, a .jsonl file, a folder, a zip or tar archive, hf://owner/name on the Hub, or demo.
    results
        Check run files too, and whether each has its conversation.
    strict
        Exit with 1 on warnings too.
    as_json
        Print the issues as JSON.
    """
    from attune_bench.benchmarks.attunebench.scoring import score
    from attune_bench.progress import progress
    from attune_data import load, load_runs

    with progress() as phase:
        conversations = load(source, progress=phase("reading conversations", None))
        found = list(conversations.found)
        counts = {"conversation": len(conversations)}
        if results is not None:
            runs = load_runs(results, progress=phase("reading run files", None))
            scores = score(conversations, runs, progress=phase("matching runs", len(runs)))
            found += [*runs.found, *scores.metadata["issues"]]
            counts["run"] = len(runs)
    severities = Counter(issue.severity for issue in found)
    if as_json:
        loaded = {f"{what}s": count for what, count in counts.items()}
        emit(json.dumps({**loaded, "issues": [asdict(issue) for issue in found]}, indent=2))
    else:
        for line in _issue_lines(found):
            emit(line)
        listed = ", ".join(plural(severities[severity], severity) for severity in ("error", "warning", "note"))
        emit(f"{' and '.join(plural(count, what) for what, count in counts.items())} loaded; {listed}")
    return int(bool(severities["error"] or (strict and severities["warning"])))


def _issue_lines(found: Sequence[Issue]) -> Iterator[str]:
    """Yield issues as text, errors first; of many notes of one rule in one file the first stands for all."""
    notes: dict[tuple[str, str], list[Issue]] = {}
    for issue in found:
        if issue.severity == "note":
            notes.setdefault((issue.rule, issue.file), []).append(issue)
    for severity in ("error", "warning"):
        yield from (_issue_text(issue) for issue in found if issue.severity == severity)
    for issues in notes.values():
        more = f"\n         ... and {len(issues) - 1} more of this rule in this file" if len(issues) > 1 else ""
        yield _issue_text(issues[0]) + more


def _issue_text(issue: Issue) -> str:
    value = f" (found {issue.value})" if issue.value != "null" else ""
    where = printable(f"{issue.severity:<8} {issue.file}  {issue.path}")
    what = printable(f"{issue.message}{value}; {issue.consequence} [{issue.rule}]")
    return f"{where}\n         {what}"


@app.command
def show(source: str, id: str, /) -> None:  # noqa: A002
    """Print a conversation with its annotations.

    Parameters
    ----------
    source
        Conversations: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    id
        Id of the conversation, or how no other id begins.
    """
    from attune_bench.progress import progress
    from attune_data import load

    with progress() as phase:
        conversations = load(source, progress=phase("reading conversations", None))
    begun = [conversation.id for conversation in conversations if conversation.id.startswith(id)]
    if len(begun) > 1 and id not in begun:
        raise UsageError(f"{len(begun)} ids begin with {id!r}, for instance {begun[0]!r} and {begun[1]!r}")
    try:
        emit(str(conversations[begun[0] if len(begun) == 1 else id]))
    except KeyError as error:
        raise UsageError(f"{error.args[0]}; see: attune-bench validate {source}") from None


@app.command
def describe(source: str, /, *, as_json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> None:
    """Count conversations by topic, diagnosis, model and attitude, and their turns, annotations and issues.

    Parameters
    ----------
    source
        Conversations: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    as_json
        Print the counts as JSON.
    """
    from attune_bench.benchmarks.attunebench.description import describe as count
    from attune_bench.benchmarks.attunebench.description import description_text
    from attune_bench.progress import progress
    from attune_data import load

    with progress() as phase:
        conversations = load(source, progress=phase("reading conversations", None))
    if not conversations:
        raise UsageError(f"no usable conversation in {source}; see: attune-bench validate {source}")
    counts = count(conversations)
    emit(json.dumps(counts, indent=2) if as_json else description_text(counts))


@app.command
def score(
    *,
    results: str,
    ground_truth: str,
    output: Path = Path("scores.json"),
    protocol: Literal["documented", "released"] = "documented",
) -> None:
    """Score run files against the conversations they predict.

    Parameters
    ----------
    results
        Run files: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    ground_truth
        Conversations: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    output
        Where to write the scores.
    protocol
        Which definition counts where the documentation and the released scorer differ.
    """
    from attune_bench.benchmarks.attunebench.scoring import score as score_runs
    from attune_bench.progress import progress
    from attune_bench.stats.signing import fingerprint
    from attune_data import load, load_runs

    if not output.parent.is_dir():
        raise UsageError(f"no such folder: {output.parent}; create it or choose another --output")
    with progress() as phase:
        conversations = load(ground_truth, progress=phase("reading conversations", None))
        runs = load_runs(results, progress=phase("reading run files", None))
        scores = score_runs(conversations, runs, protocol=protocol, progress=phase("scoring runs", len(runs)))
        scored = {record["conversationId"] for record in scores.records}
        used = (conversation for conversation in conversations if conversation.id in scored)
        scores.metadata["data"], scores.metadata["runs"] = fingerprint(used), fingerprint(runs)
    see = f"attune-bench validate {ground_truth} --results {results}"
    if not conversations or not runs:
        empty, source = ("conversation", ground_truth) if not conversations else ("run file", results)
        raise UsageError(f"no usable {empty} in {source}; see: {see}")
    if not scores.records:
        raise UsageError(
            f"none of the {len(runs)} runs in {results} belongs to the {len(conversations)} conversations in "
            f"{ground_truth}: check that both come from the same data set"
        )
    try:
        scores.write(output)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}; choose another --output") from None
    rows = plural(len(scores.aggregates), "model and mode", "models and modes")
    emit(f"{output}: {plural(len(scores.records), 'run')} of {rows}, protocol {protocol}")
    problems = Counter(issue.severity for issue in (*conversations.found, *runs.found, *scores.metadata["issues"]))
    if problems["error"] or problems["warning"]:
        counts = f"{plural(problems['error'], 'error')} and {plural(problems['warning'], 'warning')}"
        emit(f"{counts} in the files; see: {see}")
    emit(f"next: attune-bench report --scores {output}")


@app.command
def report(
    *,
    scores: Path,
    format: Literal["table", "markdown", "csv", "json"] = "table",  # noqa: A002
    html: Path | None = None,
    data: str | None = None,
    results: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    small_cells: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Print a report of a file of scores; with --html write a page with intervals, comparisons and figures.

    Parameters
    ----------
    scores
        What `attune-bench score` wrote.
    format
        table, in 100 columns; markdown, for a paper; csv, every aggregate as a column; json, the same with metadata.
    html
        Write this file of HTML instead: one file, which makes no request.
    data
        For --html: the conversations that were scored, for subgroups.
    results
        For --html, with --data: the run files that were scored, for agreement by question.
    resamples
        For --html: how many resamples.
    seed
        For --html: the same seed gives the same numbers.
    small_cells
        For --html: show values of fewer than 5 participants, and single conversations, too.
    """
    from attune_bench.report import report as render
    from attune_bench.scores import Scores

    read = Scores.read(scores)
    if html is None:
        if data is not None or results is not None or small_cells:
            raise UsageError("--data, --results and --small-cells are for the page of HTML; give --html FILE too")
        emit(render(read, format=format).rstrip("\n"))
        return
    from attune_bench.report.html import html_report
    from attune_data import load, load_runs

    if format != "table":
        raise UsageError("--format is for the report as text; leave out --format or --html")
    check_page(html, [str(scores), data, results])
    conversations = None if data is None else load(data)
    runs = None if results is None else load_runs(results)
    try:
        text = html_report(read, data=conversations, runs=runs, resamples=resamples, seed=seed, small_cells=small_cells)
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from None
    write_page(html, text)


@app.command
def stats(*, scores: Path) -> None:
    """Print how each metric is distributed over the conversations of each model and mode.

    Parameters
    ----------
    scores
        What `attune-bench score` wrote.
    """
    from attune_bench.scores import Scores
    from attune_bench.stats.summary import summary

    emit(summary(Scores.read(scores)))
