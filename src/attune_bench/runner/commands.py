"""The commands that ask models: `attune-bench run`, `rejudge`, `profile`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, get_args

from cyclopts import Parameter

from attune_bench._usage import UsageError, emit
from attune_bench.benchmarks.attunebench.flow import planned_calls
from attune_bench.benchmarks.attunebench.profile.asking import profile_sync
from attune_bench.benchmarks.attunebench.profile.scoring import profile_table, read_predictions, score_profiles
from attune_bench.benchmarks.attunebench.rejudging import rejudge_sync
from attune_bench.benchmarks.attunebench.running import run_sync
from attune_bench.runner._console import (
    DEFAULTS,
    Asking,
    Names,
    Output,
    Provider,
    command,
    endpoints,
    loaded,
    report,
    shown,
    usage_errors,
    warn,
)
from attune_bench.runner.estimate import estimate, estimate_text
from attune_bench.runner.folder import note_source, noted_sources
from attune_data import load_codebook, load_runs
from attune_data.extras import require
from attune_data.record import Mode
from attune_data.text import plural

__all__ = ["profile", "rejudge", "run"]

ModeName = Literal["default", "verbose", "omniscient", "verbose_omniscient", "all"]


def run(
    provider: Provider,
    model: str,
    source: str,
    /,
    *,
    modes: Annotated[tuple[ModeName, ...], Parameter(consume_multiple=True, negative="")] = ("default",),
    judge_model: Names | None = None,
    judge_provider: Provider | None = None,
    output: Output = Path("results"),
    limit: int | None = None,
    panas_strategy: Literal["absolute", "delta", "blind_delta"] = "absolute",
    codebook: Path | None = None,
    judge_base_url: str | None = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    asking: Asking = DEFAULTS,
) -> int:
    """Ask a model the questions of the benchmark and write a run file for each conversation.

    The same command again goes on where it was stopped; nothing that was answered is asked for again. Exits with 1
    where a conversation could not be finished.

    Parameters
    ----------
    provider
        Who serves the model; local is any server of the OpenAI protocol.
    model
        The model, as its provider names it.
    source
        Conversations: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    modes
        What the model is shown and asked for; several, or all.
    judge_model
        Models that judge the drafts.
    judge_provider
        Who serves them; by default the provider of the model.
    output
        Folder for the run files and the journal.
    limit
        Only the first conversations.
    panas_strategy
        How the PANAS after the conversation is asked for.
    codebook
        The data set's own annotation_codebook.json, instead of the bundled questions.
    judge_base_url
        URL of a local server of the judges, where it is another.
    dry_run
        Print the number of calls, tokens and the cost, and send nothing.
    """
    with usage_errors():
        for name, given in (("--modes", modes), ("--judge-model", judge_model)):
            if given == ():
                raise UsageError(f"{name} is given without a name; give one or more, or leave it out")
        options, chosen = asking.options(), load_codebook(codebook)
        settings = [
            asking.settings(
                model, provider, mode=mode, judges=judge_model or (), panas_strategy=panas_strategy, codebook=chosen
            )
            for mode in get_args(Mode)
            if "all" in modes or mode in modes
        ]
        conversations = loaded(source, limit)
        if dry_run:
            planned = (call for one in settings for each in conversations for call in planned_calls(each, one))
            by_model = estimate(planned, options.max_tokens)
            calls = plural(sum(one.calls for one in by_model.values()), "call")
            what = f"{plural(len(conversations), 'conversation')} in {plural(len(settings), 'mode')}"
            emit(f"{what}: {calls}, and one more for each answer that cannot be read")
            emit(estimate_text(by_model, options.prices))
            return 0
        require("httpx2", "run")
        server, judges = endpoints(provider, asking, judge_provider, judge_base_url, bool(judge_model))
        changed = {
            "--modes": modes if modes != ("default",) else None,
            "--judge-model": judge_model,
            "--judge-provider": judge_provider,
            "--output": output,
            "--limit": limit,
            "--panas-strategy": panas_strategy if panas_strategy != "absolute" else None,
            "--codebook": codebook,
            **asking.changed(server, judges),
            "--judge-base-url": judges.url if judge_base_url else None,
        }
        options = replace(options, command=command("run", (provider, model, source), changed))
        with shown() as watch:
            outcome = run_sync(
                conversations,
                settings,
                server,
                output=output,
                judge_endpoint=judges,
                options=options,
                watch=watch,
            )
        if outcome.finished:
            note_source(output, source)
    status = report(outcome, output)
    if outcome.finished:
        emit(_next(output, source))
    return status


def _next(runs: Path, source: str) -> str:
    return f"next: {command('score', (), {'--results': runs, '--ground-truth': source})}"


def rejudge(
    directory: Path,
    /,
    *,
    judge_model: Names,
    ground_truth: str | None = None,
    judge_provider: Provider = "openrouter",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    codebook: Path | None = None,
    asking: Asking = DEFAULTS,
) -> int:
    """Let other judges judge the drafts of run files, and write them with their judgements to another folder.

    Parameters
    ----------
    directory
        Folder of the run files.
    judge_model
        Models that judge.
    ground_truth
        Conversations: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo; by default those that
        the runs were made of, where run has noted it in their folder.
    judge_provider
        Who serves the judges.
    output
        Folder for the new run files; by default the name of the first with -rejudged.
    codebook
        The data set's own annotation_codebook.json, as for run.
    """
    with usage_errors():
        require("httpx2", "run")
        # Of "." and ".." the parent is not the folder that they are in.
        beside = directory if directory.name.strip(".") else directory.resolve()
        target = output or beside.parent / f"{directory.resolve().name}-rejudged"
        if target.resolve() == directory.resolve():
            raise UsageError(f"the run files in {directory} would be replaced; choose another --output")
        options, chosen = asking.options(), load_codebook(codebook)
        settings = asking.settings("any", judge_provider, judges=judge_model, codebook=chosen)
        runs, source = load_runs(directory), ground_truth or _noted(directory)
        conversations = loaded(source, None)
        server, _ = endpoints(judge_provider, asking, None, None, True)
        changed = {
            "--judge-model": judge_model,
            "--ground-truth": ground_truth,
            "--judge-provider": judge_provider,
            "--output": target,
            "--codebook": codebook,
            **asking.changed(server),
        }
        options = replace(options, command=command("rejudge", (str(directory),), changed))
        with shown() as watch:
            outcome = rejudge_sync(runs, conversations, settings, server, output=target, options=options, watch=watch)
        if outcome.finished:
            note_source(target, source)
    unjudged = len(runs) - outcome.finished - len(outcome.skipped)
    if unjudged:
        warn(f"{plural(unjudged, 'run')} without a draft or a conversation left out")
    status = report(outcome, target)
    if outcome.finished:
        emit(_next(target, source))
    return status


def _noted(runs: Path) -> str:
    sources = noted_sources(runs)
    if len(sources) == 1:
        return sources[0]
    what = f"runs of {len(sources)} sources ({', '.join(sources)})" if sources else "no note of what its runs are of"
    raise UsageError(f"{runs} holds {what}; name the conversations with --ground-truth")


def profile(
    provider: Provider,
    model: str,
    source: str,
    /,
    *,
    output: Output = Path("profiles"),
    limit: int | None = None,
    asking: Asking = DEFAULTS,
) -> int:
    """Ask a model for each participant's profile from the conversation alone, and score it. An experiment.

    Parameters
    ----------
    provider
        Who serves the model; local is any server of the OpenAI protocol.
    model
        The model, as its provider names it.
    source
        Conversations: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    output
        Folder for the answers and the journal.
    limit
        Only the first conversations.
    """
    with usage_errors():
        require("httpx2", "run")
        options, settings = asking.options(), asking.settings(model, provider)
        conversations = loaded(source, limit)
        server, _ = endpoints(provider, asking, None, None, False)
        changed = {
            "--output": output,
            "--limit": limit,
            **asking.changed(server),
        }
        options = replace(options, command=command("profile", (provider, model, source), changed))
        with shown() as watch:
            outcome = profile_sync(conversations, settings, server, output=output, options=options, watch=watch)
        status = report(outcome, output)
        emit(profile_table(score_profiles(conversations, read_predictions(output, model))))
    return status
