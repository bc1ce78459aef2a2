"""The commands `annotate`: people answer in a browser, and their answers become files that other commands read."""

from collections.abc import Callable, Sequence
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import click

from attune_bench.annotate.store import Person, Store
from attune_bench.benchmarks import BENCHMARKS
from attune_bench.cli.help import VerbGroup
from attune_bench.cli.options import FILE, F, all_of, option, output_option, verb
from attune_bench.cli.output import UserError, emit, mistakes, writing
from attune_data.references import resolve

serving_options: Callable[[F], F] = all_of(
    option("--file", "The file of the study; it is begun, or gone on with.", Path, required=True),
    option("--output -o", "The folder of the results.", Path, required=True),
    option("--port", "Where the server listens.", int, default=8017),
    option("--host", "The address on which the server listens.", default="127.0.0.1", folded=True),
    option("--public-url", "The https address that people open, of a server with TLS in front of this one."),
)
"""The options of every command that serves a study."""


def serve_study(
    store: Store,
    job: Any,
    links: Sequence[tuple[Person, str]],
    *,
    output: Path,
    host: str,
    port: int,
    public_url: str | None,
) -> None:
    """Print the links that let people in, and serve a study until the command is stopped.

    Parameters
    ----------
    store : Store
        The file of the study.
    job : Job
        What people are asked.
    links : sequence of (Person, str)
        New personal links: whose they are, and their secrets, which are printed here and kept nowhere.
    output, host, port, public_url
        As of `serving_options`.
    """
    try:
        from attune_bench.annotate.server import origin_of, serve
    except ModuleNotFoundError as error:
        raise UserError(
            f"{error.name} is not installed; it comes with an extra: pip install 'attune-bench[annotate]'"
        ) from None
    with store, mistakes():
        origin = origin_of(host, port, public_url)
        for person, secret in links:
            emit(f"{person.name or person.id}: {origin}/enter/{secret}")
        administrator = token_urlsafe(16)
        emit(f"The administrator, until the server stops: {origin}/admin/enter/{administrator}")
        emit(f"Answers are kept in {store.path}, results are written to {output}. Ctrl-C stops the server.")
        serve(store, job, administrator=administrator, output=output, host=host, port=port, public_url=public_url)


@verb("annotate backup study.db -o backup.db")
@click.argument("study", type=FILE)
@output_option("The copy.", required=True)
def backup(study: Path, output: Path) -> None:
    """Copy the file of a study, also while people work.

    A withdrawal deletes the person's answers in this copy too, as long as it stays where it was written.
    """
    if output.exists():
        raise UserError(f"{output} exists; choose another --output")
    with mistakes(), writing(output, "--output"), Store(study) as store:
        store.backup(output)
    emit(f"{output}: a copy of {study}")


class _Jobs(VerbGroup):
    """The commands of any study, then the jobs of benchmarks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        jobs = [job.name for benchmark in BENCHMARKS for job in benchmark.annotation]
        return [*jobs, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        jobs = {job.name: job.command for benchmark in BENCHMARKS for job in benchmark.annotation}
        found: click.Command | None = (
            resolve(jobs[cmd_name]) if cmd_name in jobs else super().get_command(ctx, cmd_name)
        )
        return found


@click.group(cls=_Jobs, examples=("annotate predict demo --as ann --file ann.db -o human",))
def annotate() -> None:
    """Have people annotate in a browser: what models are asked, ratings of answers, conversations of their own.

    Nothing leaves this machine but the messages to a model that a study names. Needs the extra annotate: pip install
    'attune-bench[annotate]'.
    """


annotate.add_command(backup)
