"""The commands `batch export` and `batch import`: a batch service answers the calls of a run."""

from pathlib import Path
from typing import Any, ClassVar

import click
from pydantic import BaseModel, ConfigDict, ValidationError

from attune_bench.benchmarks import benchmark_names
from attune_bench.cli.help import VerbGroup
from attune_bench.cli.options import (
    FILE,
    benchmark_option,
    option,
    output_option,
    own_benchmark_option,
    own_options,
    verb,
    where_option,
    where_traits,
)
from attune_bench.cli.output import UserError, check_output, command_line, emit, kind_of
from attune_bench.cli.run import (
    check_asking,
    decoding,
    decoding_options,
    limit_option,
    load_units,
    model_arguments,
    prices_option,
    providers_of,
    settings_and_roles,
    take_server_options,
    task_of,
    usage_errors,
)
from attune_bench.cli.sources import benchmark_of, named_benchmark
from attune_bench.runner.batch import Imported, Manifest, check_batch, export_batch, import_batch, read_manifest
from attune_bench.runner.cache import ReplaceError, note_source, source_at, source_from
from attune_bench.runner.calls import ProviderError, Role
from attune_bench.runner.cost import read_prices
from attune_bench.runner.task import Task
from attune_bench.runner.terminal import report_made, unreadable_text, warn, warn_of
from attune_bench.scores.benchmark import Benchmark
from attune_data.collection import Collection
from attune_data.issues import SourceError
from attune_data.text import listed, plural

_SAID = 20  # lines that are errors


class _Asked(BaseModel):
    """What calls were exported for, as the manifest keeps it; `paths` names the options that are paths."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    benchmark: str
    provider: str
    model: str
    data: str
    limit: int | None
    where: tuple[str, ...]
    decoding: dict[str, Any]
    options: dict[str, Any]
    paths: tuple[str, ...]


@click.group(cls=VerbGroup, examples=("batch export openai gpt-4.1 demo --limit 8 -o calls.jsonl",))
def batch() -> None:
    """Have a batch service, or an engine without a server, answer the calls of a run.

    Most services take half the price. export writes the calls to a file, import takes the answers and writes results;
    export --again writes the calls that are left, such as the calls of judges, to a second file.
    """


@verb("batch export openai gpt-4.1 demo --limit 8 -o calls.jsonl", own="run")
@model_arguments
@output_option("The file of calls, with a name in .jsonl.", required=True)
@option("--again", "A folder of results: the calls that are left there.", Path)
@limit_option
@where_option
@benchmark_option("A benchmark, or module:NAME; by default the data tell.")
@decoding_options
@click.pass_context
def export(
    ctx: click.Context,
    /,
    provider: str,
    model: str,
    data: str,
    output: Path,
    again: Path | None,
    limit: int | None,
    where: tuple[str, ...],
    benchmark: str | None,
    **given: Any,
) -> int:
    """Write the calls of a run for a batch service.

    They are the calls that the benchmark of DATA makes to MODEL, as lines of OpenAI's batch format.

    PROVIDER, MODEL and DATA are as for run; nothing is sent. A file has the calls to one model, at most 50,000 and
    200 MB; further ones are called NAME-2.jsonl and so on. The manifest beside them, NAME.manifest.json, belongs to
    the answers: keep it where it is.
    """
    if output.suffix != ".jsonl":
        raise UserError(f"{output} does not end in .jsonl, the format of calls")
    check_output(output, data)
    if Path(data).exists() and output.resolve() == Path(data).resolve():
        raise UserError(f"{output} is the data; choose another --output")
    if again is not None and output.resolve().is_relative_to(again.resolve()):
        raise UserError(f"{output} is in {again}, and every file there is read as a result; choose another folder")
    chosen = benchmark_of(benchmark, data, "units")
    with usage_errors():
        check_batch(task_of(chosen))
    own = own_options(ctx, chosen, given)
    if urls := [name for name in own if name.endswith("_base_url")]:
        raise UserError(f"--{urls[0].replace('_', '-')} is for run; a file of calls is answered where you send it")
    folder = output.parent
    paths = [name for name, value in own.items() if isinstance(value, Path)]
    asked = _Asked(
        benchmark=benchmark or chosen.name, provider=provider, model=model, data=source_from(folder, data),
        limit=limit, where=where, decoding=decoding(ctx), paths=paths,
        options=own | {name: source_from(folder, str(own[name])) for name in paths},
    )  # fmt: skip
    with usage_errors():
        task, units, each, providers = _prepared(asked, folder, chosen)
        command = asked.model_dump(mode="json")
        found = export_batch(task, units, each, providers, calls=output, again=again, command=command)
    warn_of(found.failed[:_SAID])
    if not found.calls:
        emit(f"no call is left: {again} has every answer")
        return int(bool(found.failed))
    about = f"{plural(found.calls, 'call')} about {plural(len(units), task.unit)}"
    emit(f"{about}; nothing was sent. Next, with the answers:")
    for path in found.files:
        emit(command_line("batch", ("import", str(path), "ANSWERS.jsonl"), {"-o": str(again or "RUNS")}))
    return 0


@verb("batch import calls.jsonl answers.jsonl -o results")
@click.argument("calls", type=FILE)
@click.argument("answers", type=FILE, nargs=-1, required=True)
@output_option("Folder of the results and of all responses.", default="results")
@prices_option
@option("--partial", "Take the answers that are there; calls without one are left.", bool)
@own_benchmark_option
def import_(
    calls: Path, answers: tuple[Path, ...], output: Path, prices: Path | None, partial: bool, benchmark: str | None
) -> int:
    """Take the ANSWERS to a file of CALLS; write results.

    Results are written of the units that the answers are enough for.

    ANSWERS are the files that the service gave, its file of errors too; the order of lines does not matter. Every call
    needs one line, but for --partial. Lines that are errors are listed. attune-bench run with the same arguments and
    this folder asks for the calls that are left, too. Exits with 1 where a call is left.
    """
    with usage_errors():
        manifest = read_manifest(calls)
        try:
            asked = _Asked.model_validate(manifest.command)
        except ValidationError:
            raise UserError(f"the manifest of {calls} is damaged; export the calls again") from None
        known = benchmark_names()
        if asked.benchmark not in known and asked.benchmark != benchmark:  # No file decides which module is imported.
            raise UserError(f"these calls are of {asked.benchmark}; if that is yours, name it with --benchmark")
        if benchmark not in (None, asked.benchmark):
            raise UserError(f"--benchmark is {benchmark}, and these calls are of {asked.benchmark}; leave it out")
        chosen = named_benchmark(asked.benchmark)
        try:
            task, units, each, providers = _prepared(asked, calls.parent, chosen)
            data = source_at(calls.parent, asked.data)
        except (UserError, SourceError, ProviderError):
            raise
        except (TypeError, AttributeError, ValueError):
            raise UserError(f"the manifest of {calls} has settings that no export wrote; export them again") from None
        check_output(output, data)
        try:
            found = import_batch(
                task, units, each, providers, calls=calls, answers=answers, output=output, partial=partial,
                prices=read_prices(prices) if prices else {},
            )  # fmt: skip
        except ReplaceError as error:
            raise UserError(f"{error}; another --output keeps both") from None
    note_source(output, data)
    _report(found, manifest, calls, task.unit, kind_of(chosen.results).noun)
    if found.outcome.is_unreadable:
        warn(unreadable_text(found.outcome))
    elif not found.outcome.skipped:
        forced = {} if asked.benchmark in known else {"--benchmark": asked.benchmark}
        emit("next: " + command_line("score", (), {"--results": str(output), "--data": data, **forced}))
    return int(bool(found.outcome.skipped) or found.outcome.is_unreadable)


def _prepared(
    asked: _Asked, folder: Path, benchmark: Benchmark
) -> tuple[Task[Any, Any], Collection[Any], list[Any], dict[Role, str]]:
    """Return the task, the units, the settings and who serves each role, of what was asked for in a folder."""
    task = task_of(benchmark)
    own = {
        name: Path(source_at(folder, value)) if name in asked.paths else value for name, value in asked.options.items()
    }
    of_servers = take_server_options(benchmark, own)
    each, roles = settings_and_roles(task, asked.model, asked.decoding, own)
    check_asking(asked.provider, roles, of_servers)
    units = load_units(source_at(folder, asked.data), benchmark, asked.limit, **where_traits(asked.where))
    return task, units, each, providers_of(asked.provider, roles, of_servers)


def _report(found: Imported, manifest: Manifest, calls: Path, unit: str, made: str) -> None:
    """Say what came of answers."""
    report_made(found.outcome, made)
    for error in found.errors[:_SAID]:
        warn(f"{error.place}: {error.call}: {error.reason}")
    if len(found.errors) > _SAID:
        warn(f"{plural(len(found.errors) - _SAID, 'more line')} of the answers are errors")
    warn_of(found.failed[:_SAID])
    if found.waiting:
        others = listed([str(calls.with_name(one.name)) for one in manifest.files if one.name != calls.name])
        waiting = f"{plural(found.waiting, 'call')} of the same export without an answer here"
        emit(f"{waiting}: import those to {others} first")
    if found.left:
        left = [f"{plural(found.left.total(), 'call')} left"]
        left += [f"{n:,} of them of {role.replace('_', ' ')}s" for role, n in found.left.items() if role != "model"]
        about = f"{', '.join(left)}, about {plural(len(found.outcome.skipped), unit)}"
        then = "then export" if found.waiting else "export"
        emit(f"{about}: {then} again with --again, or attune-bench run into this folder")


batch.add_command(export)
batch.add_command(import_)
