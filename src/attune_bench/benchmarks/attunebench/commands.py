"""The commands that AttuneBench has alone: `rejudge` and `profile`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from attune_bench.benchmarks.attunebench import BENCHMARK
from attune_bench.benchmarks.attunebench.profile.asking import PROFILE, ProfileSettings, profile_options
from attune_bench.benchmarks.attunebench.profile.scoring import profile_table, read_predictions, score_profiles
from attune_bench.benchmarks.attunebench.rejudging import REJUDGE, drafted_runs
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings, bundled_prompts
from attune_bench.cli.asking import (
    ask,
    asking_options,
    decoding,
    limit_option,
    load_units,
    model_arguments,
    output_option,
    run_options,
    servers_of,
    usage_errors,
)
from attune_bench.cli.options import NamedPath, data_option, many, verb
from attune_bench.cli.output import UserError, emit, mistakes
from attune_bench.cli.reading import kind_of, read_all
from attune_bench.runner.calls import Role
from attune_bench.runner.console import warn
from attune_bench.runner.folder import noted_servers, noted_sources
from attune_bench.runner.prompts import read_prompts
from attune_bench.runner.providers import OPENAI_COMPATIBLE, Endpoint, provider_name
from attune_data import load_codebook
from attune_data.text import columns_of_terminal, plural

__all__ = ["profile", "rejudge"]


@verb()
@click.argument("directory", type=click.Path(path_type=Path))
@many("--judge-model", required=True, help="Models that judge.")
@data_option("The conversations")
@click.option(
    "--judge-provider", help="Who serves the judges; by default the server that DIRECTORY notes, else openrouter."
)
@output_option(None, "Folder for the new run files; by default the name of the first with -rejudged.")
@click.option("--codebook", type=click.Path(path_type=Path), help="The data set's own codebook, as for run.")
@click.option("--prompts", type=NamedPath(path_type=Path), help="A folder with templates of your own, as for run.")
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
    the server is that of the runs' judges or model, as `run` has noted in their folder.
    """
    with usage_errors():
        # Of "." and ".." the parent is not the folder that they are in.
        beside = directory if directory.name.strip(".") else directory.resolve()
        target = output or beside.parent / f"{directory.resolve().name}-rejudged"
        if target.resolve() == directory.resolve():
            raise UserError(f"the run files in {directory} would be replaced; choose another --output")
        with mistakes():
            settings = AttuneBenchSettings(
                "any",
                judges=judge_model,
                codebook=load_codebook(codebook),
                prompts=read_prompts(prompts, bundled_prompts()),
                **decoding(ctx),
            )
        options = run_options(given)
        runs = read_all(kind_of(BENCHMARK.results), [str(directory)], lambda _: None)
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
    chosen = provider_name(provider or next(iter(noted), "openrouter"))
    is_url_noted = chosen == OPENAI_COMPATIBLE and base_url is None and chosen in noted
    servers = servers_of(chosen, {**given, "base_url": noted[chosen] if is_url_noted else base_url}, ["model"], {})
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


@verb()
@model_arguments
@output_option("profiles", "Folder of the answers, and of all responses, by which a run goes on.")
@limit_option
@asking_options
@click.pass_context
def profile(
    ctx: click.Context,
    /,
    provider: str,
    model: str,
    data: str,
    output: Path,
    limit: int | None,
    **given: Any,
) -> int:
    """Ask MODEL for each participant's profile from the conversation alone, and score it. An experiment.

    PROVIDER, MODEL and DATA are as for run.
    """
    with usage_errors():
        options = run_options(given)
        conversations = load_units(data, BENCHMARK, limit)
        with mistakes():
            settings = ProfileSettings(model, profile_options(conversations), **decoding(ctx))
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
