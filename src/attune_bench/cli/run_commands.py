"""The command `run`."""

from pathlib import Path
from typing import Any

import click

from attune_bench.cli.asking import (
    ask,
    asking_options,
    check_asking,
    decoding,
    limit_option,
    load_units,
    model_arguments,
    output_option,
    print_estimate,
    providers_of,
    run_options,
    servers_of,
    settings_and_roles,
    task_of,
    usage_errors,
)
from attune_bench.cli.options import benchmark_option, own_options, verb, where_option, where_traits
from attune_bench.cli.output import UserError, check_output
from attune_bench.cli.reading import benchmark_of, kind_of

__all__ = ["run"]

_OF_SERVERS = ("_provider", "_base_url")


@verb(own="run")
@model_arguments
@output_option("results", "Folder of what is made, and of all responses, by which a run goes on.")
@limit_option
@where_option
@benchmark_option("A benchmark, or module:NAME; by default the data tell.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How often everything is asked, each time with a --seed 1,000 higher; see docs/repeats.md.",
)
@click.option("--dry-run", is_flag=True, help="Print the number of calls, tokens and the cost, and send nothing.")
@asking_options
@click.pass_context
def run(
    ctx: click.Context,
    /,
    provider: str,
    model: str,
    data: str,
    output: Path,
    limit: int | None,
    where: tuple[str, ...],
    benchmark: str | None,
    repeats: int,
    dry_run: bool,
    **given: Any,
) -> int:
    """Ask MODEL, served by PROVIDER, what the benchmark of DATA asks, and write its results.

    PROVIDER is openrouter, openai, prime, or openai-compatible (local is the same) for any server of the OpenAI
    protocol with --base-url; MODEL its name there; DATA a folder, a file, an archive, hf://owner/name, or demo.

    The same command again goes on where it was stopped; nothing that was answered is asked for again. Exits with 1
    where something could not be finished.
    """
    chosen = benchmark_of(benchmark, data, "data")
    own = own_options(ctx, chosen, given)
    task = task_of(chosen)
    made = kind_of(chosen.results)
    if repeats > 1 and "repeat" not in made.model.model_fields:
        raise UserError(f"{made.plural} of {chosen.title} have no field repeat; each repeat needs a folder of its own")
    with usage_errors():
        of_servers = {name: own.pop(name) for name in list(own) if name.endswith(_OF_SERVERS)}
        check_output(output, data)
        each, roles = settings_and_roles(task, model, decoding(ctx), own)
        check_asking(provider, roles, of_servers)
        options = run_options(given)
        units = load_units(data, chosen, limit, **where_traits(where))
        if dry_run:
            providers = providers_of(provider, roles, of_servers)
            print_estimate(task, units, each, providers, options=options, output=output, repeats=repeats)
            return 0
        servers = servers_of(provider, given, roles, of_servers)
        return ask(
            ctx,
            task,
            units,
            each,
            servers,
            options=options,
            output=output,
            source=data,
            made=made.noun,
            benchmark=chosen,
            repeats=repeats,
        )
