"""The commands that ask models: `attune-bench run`, `rejudge`, `profile`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, get_args

from cyclopts import Parameter

from attune_bench._asking import Asking, Names, Output, Provider, Temperature, usage_errors
from attune_bench._usage import UsageError, emit, mistakes
from attune_bench.benchmarks.attunebench.profile.asking import PROFILE, ProfileSettings, profile_options
from attune_bench.benchmarks.attunebench.profile.scoring import profile_table, read_predictions, score_profiles
from attune_bench.benchmarks.attunebench.rejudging import REJUDGE, drafted_runs
from attune_bench.benchmarks.attunebench.settings import MAX_TOKENS, AttuneBenchSettings
from attune_bench.benchmarks.attunebench.task import TASK
from attune_bench.progress import progress
from attune_bench.runner import RunOptions, run_sync
from attune_bench.runner.command_line import command_line, endpoints
from attune_bench.runner.console import progress_line, report_outcome, warn
from attune_bench.runner.estimate import estimate, estimate_text
from attune_bench.runner.folder import note_source, noted_sources
from attune_data import Collection, Conversation, load, load_codebook, load_runs
from attune_data.record import Mode
from attune_data.text import plural

__all__ = ["profile", "rejudge", "run"]


@dataclass(frozen=True, kw_only=True)
class _Asking(Asking):
    temperature: Temperature = 0.0
    max_tokens: int = MAX_TOKENS


_DEFAULTS = _Asking()

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
    asking: _Asking = _DEFAULTS,
) -> int:
    """Ask a model the questions of the benchmark and write a run file for each conversation.

    The same command again goes on where it was stopped; nothing that was answered is asked for again. Exits with 1
    where a conversation could not be finished.

    Parameters
    ----------
    provider
        Who serves the model; openai-compatible is any server of the OpenAI protocol (local is the same).
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
        Folder for the run files and the cache.
    limit
        Only the first conversations.
    panas_strategy
        How the PANAS after the conversation is asked for.
    codebook
        The data set's own annotation_codebook.json, instead of the bundled questions.
    judge_base_url
        URL of an OpenAI-compatible server of the judges, where it is another.
    dry_run
        Print the number of calls, tokens and the cost, and send nothing.
    """
    with usage_errors():
        for name, given in (("--modes", modes), ("--judge-model", judge_model)):
            if given == ():
                raise UsageError(f"{name} is given without a name; give one or more, or leave it out")
        options, chosen = asking.options(), load_codebook(codebook)
        with mistakes():
            settings = [
                AttuneBenchSettings(
                    model, mode, judge_model or (), panas_strategy, codebook=chosen, **asking.decoding()
                )
                for mode in get_args(Mode)
                if "all" in modes or mode in modes
            ]
        conversations = _loaded(source, limit)
        if dry_run:
            _print_estimate(conversations, settings, options)
            return 0
        if (judge_provider or judge_base_url) and not judge_model:
            raise UsageError("a provider of judges is given but no judge; name one with --judge-model")
        servers = endpoints(
            provider,
            base_url=asking.base_url,
            api_key=asking.api_key,
            role="judge" if judge_model else None,
            role_provider=judge_provider,
            role_base_url=judge_base_url,
        )
        changed = {
            "--modes": modes if modes != ("default",) else None,
            "--judge-model": judge_model,
            "--judge-provider": judge_provider,
            "--output": output,
            "--limit": limit,
            "--panas-strategy": panas_strategy if panas_strategy != "absolute" else None,
            "--codebook": codebook,
            **asking.changed(servers.values()),
            "--judge-base-url": servers["judge"].url if judge_base_url else None,
        }
        options = replace(options, command=command_line("run", (provider, model, source), changed))
        with progress_line() as watch:
            outcome = run_sync(TASK, conversations, settings, servers, output=output, options=options, watch=watch)
        if outcome.finished:
            note_source(output, source)
    status = report_outcome(outcome)
    if outcome.finished:
        emit(_next(output, source))
    return status


def _loaded(source: str, limit: int | None) -> Collection[Conversation]:
    if limit is not None and limit < 1:
        raise UsageError(f"--limit is {limit}; expected a positive number")
    with progress() as phase:
        conversations = load(source, progress=phase("reading conversations", None))
    left_out = sum(issue.severity == "error" for issue in conversations.found)
    if left_out:
        warn(f"{plural(left_out, 'error')} in the files; see: attune-bench validate {source}")
    if not conversations:
        raise UsageError(f"no usable conversation in {source}; see: attune-bench validate {source}")
    return conversations[:limit]


def _print_estimate(
    conversations: Collection[Conversation], settings: list[AttuneBenchSettings], options: RunOptions
) -> None:
    planned = (
        call for own in settings for conversation in conversations for call in TASK.calls(conversation, own, None)
    )
    by_model = estimate(planned, settings[0].decoding)
    calls = plural(sum(one.calls for one in by_model.values()), "call")
    what = f"{plural(len(conversations), 'conversation')} in {plural(len(settings), 'mode')}"
    emit(f"{what}: {calls}, and one more for each answer that cannot be read")
    emit(estimate_text(by_model, options.prices))


def _next(runs: Path, source: str) -> str:
    return f"next: {command_line('score', (), {'--results': runs, '--ground-truth': source})}"


def rejudge(
    directory: Path,
    /,
    *,
    judge_model: Names,
    ground_truth: str | None = None,
    judge_provider: Provider = "openrouter",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    codebook: Path | None = None,
    asking: _Asking = _DEFAULTS,
) -> int:
    """Re-run judges on the drafts of run files, and write these with the new judgements to another folder.

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
        # Of "." and ".." the parent is not the folder that they are in.
        beside = directory if directory.name.strip(".") else directory.resolve()
        target = output or beside.parent / f"{directory.resolve().name}-rejudged"
        if target.resolve() == directory.resolve():
            raise UsageError(f"the run files in {directory} would be replaced; choose another --output")
        options, chosen = asking.options(), load_codebook(codebook)
        with mistakes():
            settings = AttuneBenchSettings("any", judges=judge_model, codebook=chosen, **asking.decoding())
        runs, source = load_runs(directory), ground_truth or _noted(directory)
        drafted = drafted_runs(runs, _loaded(source, None))
        server = endpoints(judge_provider, base_url=asking.base_url, api_key=asking.api_key)["model"]
        changed = {
            "--judge-model": judge_model,
            "--ground-truth": ground_truth,
            "--judge-provider": judge_provider,
            "--output": target,
            "--codebook": codebook,
            **asking.changed([server]),
        }
        options = replace(options, command=command_line("rejudge", (str(directory),), changed))
        with progress_line() as watch:
            outcome = run_sync(REJUDGE, drafted, settings, server, output=target, options=options, watch=watch)
        if outcome.finished:
            note_source(target, source)
    if len(drafted) < len(runs):
        warn(f"{plural(len(runs) - len(drafted), 'run')} without a draft or a conversation left out")
    status = report_outcome(outcome)
    if outcome.finished:
        emit(_next(target, source))
    return status


def _noted(runs: Path) -> str:
    sources = noted_sources(runs)
    if len(sources) == 1:
        return sources[0]
    what = f"runs of {len(sources)} sources ({', '.join(sources)})" if sources else "no note of what its runs are of"
    raise UsageError(f"{runs} contains {what}; name the conversations with --ground-truth")


def profile(
    provider: Provider,
    model: str,
    source: str,
    /,
    *,
    output: Output = Path("profiles"),
    limit: int | None = None,
    asking: _Asking = _DEFAULTS,
) -> int:
    """Ask a model for each participant's profile from the conversation alone, and score it. An experiment.

    Parameters
    ----------
    provider
        Who serves the model; openai-compatible is any server of the OpenAI protocol (local is the same).
    model
        The model, as its provider names it.
    source
        Conversations: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    output
        Folder for the answers and the cache.
    limit
        Only the first conversations.
    """
    with usage_errors():
        options, conversations = asking.options(), _loaded(source, limit)
        with mistakes():
            settings = ProfileSettings(model, profile_options(conversations), **asking.decoding())
        servers = endpoints(provider, base_url=asking.base_url, api_key=asking.api_key)
        changed = {"--output": output, "--limit": limit, **asking.changed(servers.values())}
        options = replace(options, command=command_line("profile", (provider, model, source), changed))
        with progress_line() as watch:
            outcome = run_sync(PROFILE, conversations, settings, servers, output=output, options=options, watch=watch)
        status = report_outcome(outcome)
        emit(profile_table(score_profiles(conversations, read_predictions(output, model))))
    return status
