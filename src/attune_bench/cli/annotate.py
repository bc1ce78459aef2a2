"""The commands `annotate`: people answer in a browser, and their answers become files that other commands read."""

import shlex
from collections.abc import Callable, Iterable, Iterator
from math import inf
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import click

from attune_bench.annotate.potato import TASK, read_answers, write_task
from attune_bench.annotate.rate import RateJob, Scale, write_tables
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
    **address: Any,
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
    output, **address
        As of `serving_options`.
    """
    try:
        from attune_bench.annotate.server import Address, check_output, serve
    except ModuleNotFoundError as error:
        raise UserError(
            f"{error.name} is not installed; it comes with an extra: pip install 'attune-bench[annotate]'"
        ) from None
    with store, mistakes(), store.served():
        at = Address(**address)
        origin = at.origin  # before anybody is added
        check_output(store, output)
        for person, secret in links:
            emit(f"{person.name or person.id}: {origin}/enter/{secret}")
        administrator = token_urlsafe(16)
        emit(f"The administrator, until the server stops: {origin}/admin/enter/{administrator}")
        emit(f"Answers are kept in {store.path}, results are written to {output}. Ctrl-C stops the server.")
        serve(store, job, administrator=administrator, output=output, address=at)


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
    option("--range scale", "Or the ratings of the lowest and the highest step: LOW HIGH.", float, nargs=2),
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
    scale: tuple[float, float] | None,
    steps: int,
    question: str | None,
) -> RateJob:
    """Return the job of rating the rows of a table; the parameters are as of `rated_options`."""
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
    if any(isinstance(item, RatedPair) for item in items):
        if metric is not None or scale is not None:
            raise UserError(f"{drawn} has pairs, which are compared without a scale; leave out --metric and --range")
        return RateJob(items, question=question)
    if metric is not None and scale is not None:
        raise UserError("--metric says the range of ratings; leave out --range, or --metric")
    if metric is not None and metric not in CATALOG:
        raise UserError(f"--metric {metric!r} is not known here; give the range of its ratings, such as --range 0 1")
    if metric is not None:
        scale = CATALOG[metric].low, CATALOG[metric].high
    if scale is None:
        raise UserError("which ratings do the steps stand for? Name a --metric, or give a range, such as --range 0 1")
    low, high = scale
    if not -inf < low < high < inf:
        raise UserError(f"ratings from {low:g} to {high:g} are no scale; give another --range")
    return RateJob(items, scale=Scale(low, high, steps), dimension=metric or "rating", question=question)


@verb("annotate rate sheet.csv --texts texts.csv --range 0 1 --file ratings.db -o ratings")
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
    about = {
        "table": fingerprint(job.items),
        "scale": job.scale and [job.scale.low, job.scale.high, job.scale.steps],
        "metric": job.dimension,
        "question": job.question,
    }
    with mistakes(), writing(file, "--file"):
        store = Store.create(file, job.name, about)
        job.secret = store.about("secret")
    what = plural(len(job.items), "pair" if job.scale is None else "text")
    sides = "" if job.scale else "; sides are random too"
    emit(f"{what} to rate, in random order for each person{sides}.")
    for sentence in (*steps_of(job), next_of(job, output)):
        emit(sentence)
    links = _new_raters(store, people)
    serve_study(store, job, links, output=output, host=host, port=port, public_url=public_url)


def _new_raters(store: Store, people: int) -> Iterator[tuple[Person, str]]:
    """Add raters up to a number, and yield each with the secret of the link."""
    for number in range((store.about("people") or 0) + 1, people + 1):
        store.set_about("people", number)  # First: no two people may have one name, wherever the program is stopped.
        yield store.add_person(language="en", name=f"rater-{number}")


def steps_of(job: RateJob) -> list[str]:
    """Return the sentence that says which ratings the steps of a scale stand for."""
    if job.scale is None:
        return []
    low, high, steps = job.scale.low, job.scale.high, job.scale.steps
    return [f"People choose from {steps} steps: step 1 is written as rating {low:g}, step {steps} as {high:g}."]


def next_of(job: RateJob, output: Path) -> str:
    """Return which command reads the tables."""
    if job.scale is None:
        return f"next: attune-bench rank {output / 'comparisons.csv'}"
    metric = "" if job.dimension == "rating" else f" --metric {job.dimension}"
    return f"next: attune-bench judge correct SCORES --labels {output / 'labels.csv'}{metric}"


@verb("annotate potato texts.csv --range 0 1 --people 3 -o crowd")
@rated_options
@option("--people", "By how many people each text or pair is rated.", click.IntRange(1, 10_000), default=3)
@output_option("A new folder.", required=True)
def potato(people: int, output: Path, **given: Any) -> None:
    """Write a task of rating for Potato, to which crowds come.

    DRAWN is as for annotate rate. The folder gets potato, which Potato serves, and key.json, which says who wrote which
    text: it stays here, and annotate potato-import needs it.
    """
    job = rated_job(**given)
    with mistakes(), writing(output, "--output"):
        write_task(job, output, people=people)
    what = plural(len(job.items), "pair" if job.scale is None else "text")
    emit(f"{output}: {what} to rate, each by {plural(people, 'person', 'people')}")
    for sentence in steps_of(job):
        emit(sentence)
    emit(f"next: cd {shlex.quote(str(output / TASK))} && potato start config.yaml -p 8000")


@verb("annotate potato-import crowd -o ratings")
@click.argument("folder", type=FILE)
@option("--answers", "Potato's folder of answers, where it is not within FOLDER.", Path)
@output_option("The folder of the results.", required=True)
def potato_import(folder: Path, answers: Path | None, output: Path) -> None:
    """Make tables of what people answered in Potato.

    FOLDER is what annotate potato wrote. The tables are as annotate rate writes them. People are called by a hash of
    their name in Potato, which may be an address.
    """
    with mistakes():
        job, found = read_answers(folder, answers)
    with writing(output, "--output"):
        output.mkdir(parents=True, exist_ok=True)
        written = write_tables(found, job.items, output, scale=job.scale, dimension=job.dimension)
    if not written:
        raise UserError(f"nobody has answered yet, by what Potato keeps of {folder}")
    raters = plural(len({one.rater for one in found}), "person", "people")
    emit(f"{plural(len(found), 'answer')} of {raters}: {', '.join(map(str, written))}")
    emit(next_of(job, output))


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


@click.group(cls=_Jobs, examples=("annotate demo",))
def annotate() -> None:
    """Have people annotate in a browser: what models are asked, ratings of answers, conversations of their own.

    Nothing leaves this machine but the messages to a model that a study names. Needs the extra annotate: pip install
    'attune-bench[annotate]'.
    """


annotate.add_command(rate)
annotate.add_command(potato)
annotate.add_command(potato_import)
annotate.add_command(backup)
