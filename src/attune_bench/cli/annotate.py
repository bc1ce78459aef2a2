"""The commands `annotate`: people answer in a browser, and their answers become files that other commands read."""

from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import click

from attune_bench.annotate.rate import RateJob, Scale
from attune_bench.annotate.rated import RatedPair, RatedText, fingerprint, read_rated
from attune_bench.annotate.store import Person, Store
from attune_bench.benchmarks import BENCHMARKS
from attune_bench.cli.help import VerbGroup
from attune_bench.cli.options import FILE, F, all_of, data_option, option, output_option, results_option, verb
from attune_bench.cli.output import UserError, emit, kind_of, mistakes, writing
from attune_bench.cli.sources import read, scored_benchmark
from attune_data.references import resolve
from attune_data.text import plural
from attune_metrics import CATALOG

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
    links: Iterable[tuple[Person, str]],
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
    links : iterable of (Person, str)
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


rated_options: Callable[[F], F] = all_of(
    click.argument("drawn", type=FILE),
    option(
        "--texts",
        "The texts of the rows of DRAWN, where DRAWN has none: a table with the columns model, condition, unit, text "
        "and, if there is one, prompt.",
        Path,
    ),
    results_option("Or what models wrote"),
    data_option("What they answered"),
    option("--metric", "What is rated: a metric that this library knows; ratings have its range."),
    option("--low", "Without --metric: the rating of the lowest step.", float),
    option("--high", "Without --metric: the rating of the highest step.", float),
    option("--steps", "How many steps people choose from.", click.IntRange(2, 11), default=7),
    option("--question", "What people are asked, in place of: How good is this response?"),
)
"""The options of commands by which people rate texts or compare two."""


def rated_job(
    drawn: Path,
    texts: Path | None,
    results: tuple[str, ...],
    data: str | None,
    *,
    metric: str | None,
    low: float | None,
    high: float | None,
    steps: int,
    question: str | None,
) -> RateJob:
    """Return the job of rating what a table has; the parameters are those of `rated_options`."""
    further: Path | list[RatedText] | None = texts
    if results:
        if texts is not None:
            raise UserError("the texts are given twice, by --texts and by --results; leave one out")
        benchmark = scored_benchmark(None, results, data)
        if benchmark.answers is None:
            raise UserError(f"of {benchmark.title} give a table of the texts, as --texts")
        kinds = [(kind_of(benchmark.results), results)]
        if benchmark.data is not None and data is not None:
            kinds.insert(0, (kind_of(benchmark.data), (data,)))
        further = resolve(benchmark.answers)(*(read(kind, sources) for kind, sources in kinds))
    elif data is not None:
        raise UserError("--data is what --results answer; give --results too, or leave --data out")
    with mistakes():
        items = read_rated(drawn, further)
    stated = metric is not None or low is not None or high is not None
    if any(isinstance(item, RatedPair) for item in items):
        if stated:
            raise UserError(f"{drawn} has pairs, which are compared without a scale; leave out --metric, --low, --high")
        return RateJob(items, question=question)
    if metric is not None:
        if low is not None or high is not None:
            raise UserError("--metric says the range; leave out --low and --high, or --metric")
        if metric not in CATALOG:
            raise UserError(f"--metric {metric!r} is not known here; give the range of its ratings: --low and --high")
        low, high = CATALOG[metric].low, CATALOG[metric].high
    if low is None or high is None:
        raise UserError("which ratings do the steps stand for? Name the metric by --metric, or give --low and --high")
    if not -inf < low < high < inf:
        raise UserError(f"ratings from {low:g} to {high:g} are no scale; give the range by --low and --high")
    return RateJob(items, scale=Scale(low, high, steps), dimension=metric or "rating", question=question)


@verb("annotate rate sheet.csv --texts texts.csv --low 0 --high 1 --people 3 --file ratings.db -o ratings")
@rated_options
@option("--people", "How many people rate.", click.IntRange(1, 10_000), default=1)
@serving_options
def rate(people: int, file: Path, output: Path, host: str, port: int, public_url: str | None, **given: Any) -> None:
    """Have people rate texts, or compare two, without names of models.

    DRAWN is a sheet of judge draw, or any table with the columns model, unit, text; or pairs, with the columns unit, a,
    b, text_a, text_b. A column prompt is shown beside the text.

    Prints a personal link for each person. Everybody rates everything, in an order of their own; who stops early has
    rated a random part. A larger --people later adds links. The folder gets labels.csv, which judge correct reads, and
    ratings.csv, which judge agree reads; of pairs comparisons.csv, which rank and report read.
    """
    job = rated_job(**given)
    about = {"items": fingerprint(job.items), "scale": job.scale and [job.scale.low, job.scale.high, job.scale.steps]}
    with mistakes(), writing(file, "--file"):
        store = Store.create(file, job.name, about)
    begun = store.about("people") or 0
    links = [store.add_person(language="en", name=f"rater-{number}") for number in range(begun + 1, people + 1)]
    store.set_about("people", max(people, begun))
    for sentence in said_of(job, output):
        emit(sentence)
    serve_study(store, job, links, output=output, host=host, port=port, public_url=public_url)


def said_of(job: RateJob, output: Path) -> list[str]:
    """Return what a researcher needs to know of a job: what is rated, what steps mean, which command comes next."""
    if job.scale is None:
        many = f"{plural(len(job.items), 'pair')} to compare; sides and order are random for each person."
        return [many, f"next: attune-bench rank {output / 'comparisons.csv'}"]
    low, high, steps = job.scale.low, job.scale.high, job.scale.steps
    return [
        f"{plural(len(job.items), 'text')} to rate, in random order for each person.",
        f"People choose from {steps} steps: step 1 is written as rating {low:g}, step {steps} as {high:g}.",
        f"next: attune-bench judge correct SCORES --labels {output / 'labels.csv'}",
    ]


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


annotate.add_command(rate)
annotate.add_command(backup)
