"""The commands that AttuneBench has alone, `rejudge` and `profile`, and judging the drafts of runs anew."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from attune_bench.benchmarks.attunebench import BENCHMARK
from attune_bench.benchmarks.attunebench.baselines import SeenTurn
from attune_bench.benchmarks.attunebench.parsing import merge_judgements
from attune_bench.benchmarks.attunebench.profile import (
    PROFILE,
    ProfileSettings,
    profile_options,
    profile_table,
    read_predictions,
    score_profiles,
)
from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, ConversationCalls, run_file_name, settings_of
from attune_bench.cli.options import data_option, many, option, output_option, verb
from attune_bench.cli.output import UserError, emit, kind_of, mistakes
from attune_bench.cli.run import (
    ask,
    asking_options,
    decoding,
    limit_option,
    load_units,
    model_arguments,
    run_options,
    servers_of,
    usage_errors,
)
from attune_bench.cli.sources import check_usable, load
from attune_bench.runner.cache import RunError, noted_servers, noted_sources
from attune_bench.runner.calls import OPENAI_COMPATIBLE, USUAL_URLS, Call, Endpoint, Role, provider_name
from attune_bench.runner.task import Fields, Source, Task, recorded_settings
from attune_bench.runner.terminal import warn
from attune_data import Conversation, Run
from attune_data.text import columns_of_terminal, plural

_JUDGED = ("em_draft_judge_scores", "em_draft_binary_assessment")


@dataclass(frozen=True, slots=True)
class DraftedRun:
    """A run with drafts, and the conversation that it predicts."""

    run: Run
    conversation: Conversation

    @property
    def id(self) -> str:
        """Id of the conversation."""
        return self.run.conversation_id

    def to_json(self) -> bytes:
        """Return run and conversation as JSON."""
        return self.run.to_json() + self.conversation.to_json()


def drafted_runs(runs: Iterable[Run], conversations: Iterable[Conversation]) -> list[DraftedRun]:
    """Return the runs that can be judged: runs with a draft, of a conversation that is given.

    Parameters
    ----------
    runs : iterable of Run
        The runs.
    conversations : iterable of Conversation
        What they predict.

    Returns
    -------
    list of DraftedRun
        Run and conversation, in the order of the runs.

    Raises
    ------
    RunError
        No run can be judged; the text says why.
    """
    by_id = {conversation.id: conversation for conversation in conversations}
    known = [DraftedRun(run, by_id[run.conversation_id]) for run in runs if run.conversation_id in by_id]
    if not known:
        raise RunError("no run is of any of these conversations; are they of the same data set?")
    drafted = [one for one in known if any(turn.em_drafted_response.strip() for turn in one.run.turns)]
    if not drafted:
        raise RunError("no run of these conversations has a draft to judge")
    return drafted


def _judged(calls: ConversationCalls, drafted: DraftedRun) -> Iterator[tuple[SeenTurn, str]]:
    """Yield each turn with a judged draft, and the draft."""
    drafts = {turn.turn_number: turn.em_drafted_response for turn in drafted.run.turns}
    for turn in calls.turns:
        draft = drafts.get(turn.number, "")
        if draft.strip() and calls.is_judged(turn):
            yield turn, draft


def _calls(drafted: DraftedRun, settings: AttuneBenchSettings, answers: Mapping[str, str] | None = None) -> list[Call]:
    calls = ConversationCalls(drafted.conversation, settings)
    found: list[Call] = []
    for turn, draft in _judged(calls, drafted):
        request = calls.judge_request(turn, draft)
        found += calls.judge(turn).calls_to_make(f"turn-{turn.number}", request, answers or {})
    return found


def _assemble(drafted: DraftedRun, answers: Mapping[str, str], settings: AttuneBenchSettings) -> Run:
    """Return the run with these judgements in place of its own."""
    by_turn: dict[int, dict[str, Fields]] = {}
    calls: dict[str, Fields] = {}
    asked = ConversationCalls(drafted.conversation, settings)
    for turn, _ in _judged(asked, drafted):
        judgements = asked.judge(turn).read(f"turn-{turn.number}", answers)
        calls |= judgements.calls
        by_turn[turn.number] = judgements.by_model
    content = drafted.run.model_dump(by_alias=True, exclude_unset=True)
    for turn in content["turns"]:
        for field in _JUDGED:
            turn.pop(field, None)
            turn.pop(f"{field}_by_model", None)
        turn.update(merge_judgements(by_turn.get(turn["turnNumber"], {})))
    content.setdefault("duration_seconds", None)  # The duration of the judges alone would be too short.
    content.setdefault("usage", None)
    content["calls"] = _of_the_model(content.get("calls")) | calls
    if incomplete := _of_the_model(content.pop("incomplete_answers", None)):
        content["incomplete_answers"] = incomplete
    return Run.model_validate(content)


def _of_the_model(by_call: object) -> Fields:
    """Return what a run file says of the calls that are not a judge's."""
    entries = by_call.items() if isinstance(by_call, dict) else ()
    return {name: entry for name, entry in entries if "/judge/" not in name}


def _judged_by(settings: AttuneBenchSettings, source: Source, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a run file says of its judges, who were asked with some settings."""
    judge_settings = {"provider": source.providers["judge"], **asked}
    return {"judge_models": list(settings.judges), "judge_settings": judge_settings}


def _recorded(settings: AttuneBenchSettings, source: Source) -> Mapping[str, Any]:
    """Return what a run file says of its settings."""
    return {"em_model": settings.model, **_judged_by(settings, source, recorded_settings(settings))}


def _unit_settings(drafted: DraftedRun, settings: AttuneBenchSettings) -> AttuneBenchSettings:
    if not settings.judges:
        raise RunError("the settings name no judge")
    return replace(settings, model=drafted.run.em_model, mode=drafted.run.mode, judges_alone=True)


REJUDGE: Task[DraftedRun, AttuneBenchSettings] = Task(
    name="attunebench-rejudge",
    calls=_calls,
    assemble=_assemble,
    unit="run",
    file_name=lambda drafted, _settings: run_file_name(drafted.run),
    fields=lambda _drafted, settings, source: _judged_by(settings, source, settings.provenance()),
    recorded=_recorded,
    unit_settings=_unit_settings,
)
"""Runs with drafts, and the same runs with other judgements; each run keeps its own model and mode."""


@verb("rejudge runs --data demo --judge-model judge --base-url http://localhost:8000/v1")
@click.argument("directory", type=click.Path(path_type=Path))
@many("--judge-model", "Models that judge.", required=True)
@data_option("The conversations")
@option("--judge-provider", "Who serves the judges; by default the server that DIRECTORY notes, else openrouter.")
@output_option("Folder for the new run files; by default the name of the first with -rejudged.")
@option("--codebook", "The data set's own codebook, as for run.", Path)
@option("--prompts", "A folder with templates of your own, as for run.", Path)
@asking_options
@click.pass_context
def rejudge(
    ctx: click.Context,
    /,
    directory: Path,
    judge_model: tuple[str, ...],
    data: str | None,
    judge_provider: str | None,
    output: Path | None,
    codebook: Path | None,
    prompts: Path | None,
    **given: Any,
) -> int:
    """Let judges judge the drafts of the run files in DIRECTORY anew, and write these to another folder.

    Without --data the conversations are those that the runs were made of, and without --judge-provider and --base-url
    the server is the server of the runs' judges or model, as `run` has noted in their folder.
    """
    with usage_errors():
        # Of "." and ".." the parent is not the folder that they are in.
        beside = directory if directory.name.strip(".") else directory.resolve()
        target = output or beside.parent / f"{directory.resolve().name}-rejudged"
        if target.resolve() == directory.resolve():
            raise UserError(f"the run files in {directory} would be replaced; choose another --output")
        with mistakes():
            asked = {"judge_model": judge_model, "codebook": codebook, "prompts": prompts, **decoding(ctx)}
            (settings,) = settings_of("any", **asked)
        options = run_options(given)
        kind, sources = kind_of(BENCHMARK.results), [str(directory)]
        runs = load(kind, sources)
        if set(runs.issues["rule"]) == {"not-a-record"} and not runs:
            raise UserError(
                f"rejudge is for run files of {BENCHMARK.title}, and {directory} contains none; of another benchmark, "
                "attune-bench run with other judges asks the judges alone: the model's answers are in the cache"
            )
        check_usable(kind, sources, runs)
        source = data or _noted(directory)
        drafted = drafted_runs(runs, load_units(source, BENCHMARK))
        servers = _judge_servers(directory, judge_provider, given)
        if len(drafted) < len(runs):
            warn(f"{plural(len(runs) - len(drafted), 'run')} without a draft or a conversation left out")
        return ask(
            ctx,
            REJUDGE,
            drafted,
            settings,
            servers,
            options=options,
            output=target,
            source=source,
            made="run",
            benchmark=BENCHMARK,
        )


def _judge_servers(runs: Path, provider: str | None, given: Mapping[str, Any]) -> dict[Role, Endpoint]:
    """Return where judges are served: as the options say, else as the folder of the runs notes."""
    base_url, noted = given["base_url"], noted_servers(runs)
    if provider is None and len(noted) > 1:
        said = ", ".join(f"{known} at {url}" for known, url in noted.items())
        raise UserError(f"{runs} contains runs of {len(noted)} providers ({said}); name one with --judge-provider")
    named = provider or next(iter(noted), "openrouter")
    chosen = provider_name(named)
    is_url_noted = chosen == OPENAI_COMPATIBLE and named not in USUAL_URLS and base_url is None and chosen in noted
    servers = servers_of(named, {**given, "base_url": noted[chosen] if is_url_noted else base_url}, ["model"], {})
    server = servers["model"]
    if is_url_noted and server.headers and not server.is_loopback:
        # The folder may be another person's, and so may the server that it names.
        raise UserError(f"{runs} names the server {server.url}; to send it a key, give it with --base-url")
    if noted and (provider is None or is_url_noted):
        warn(f"the judges are served by {chosen} at {server.url}, as {runs} notes")
    return servers


def _noted(runs: Path) -> str:
    sources = noted_sources(runs)
    if len(sources) == 1:
        return sources[0]
    what = f"runs of {len(sources)} sources ({', '.join(sources)})" if sources else "no note of what its runs are of"
    raise UserError(f"{runs} contains {what}; name the conversations with --data")


@verb("profile local my-model demo --base-url http://localhost:8000/v1 --limit 2")
@model_arguments
@output_option("Folder of the answers, and of all responses, by which a run goes on.", default="profiles")
@limit_option
@asking_options
@click.pass_context
def profile(
    ctx: click.Context, /, provider: str, model: str, data: str, output: Path, limit: int | None, **given: Any
) -> int:
    """Ask MODEL for each participant's profile from the conversation alone, and score it. An experiment.

    PROVIDER, MODEL and DATA are as for run.
    """
    with usage_errors():
        options = run_options(given)
        conversations = load_units(data, BENCHMARK, limit)
        with mistakes():
            settings = ProfileSettings(model, options=profile_options(conversations), **decoding(ctx))
        servers = servers_of(provider, given, ["model"], {})
        status = ask(
            ctx,
            PROFILE,
            conversations,
            settings,
            servers,
            options=options,
            output=output,
            source=data,
            made="answer",
            benchmark=None,
        )
        scores = score_profiles(conversations, read_predictions(output, model))
        emit(profile_table(scores, columns_of_terminal()))
    return status
