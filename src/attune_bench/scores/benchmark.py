"""Benchmarks: an entry names its records, its scoring, the calls it makes, and its own analyses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attune_data.references import Reference

if TYPE_CHECKING:
    import polars as pl

Verb = Literal["score", "run"]


def temperature(text: str) -> float | None:
    """Return the value of an option for a temperature, None for the server's own; for `Option.kind`.

    Examples
    --------
    >>> temperature("0.7"), temperature("server")
    (0.7, None)
    """
    try:
        return None if text == "server" else float(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a number nor server") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option that commands take for one benchmark.

    Attributes
    ----------
    name : str
        The keyword of the function that takes it; on the command line ``--name`` with ``-`` for ``_``.
    help : str
        What it does, in a sentence, and what holds where it is not given.
    verbs : tuple of str
        The commands that take it.
    kind : callable
        Its value from a text: str, int, float, bool, `pathlib.Path`, or a function that raises a ValueError.
    values : tuple of str
        The values it can have; any where there are none.
    multiple : bool
        Whether it takes several values.
    required : bool
        Whether it must be given.
    flag : str
        On the command line, where it is not ``--name``.
    role : str
        The role whose server the option names, see `role_options`; empty for any other option.
    """

    name: str
    help: str
    verbs: tuple[Verb, ...]
    kind: Callable[[str], Any] = str
    values: tuple[str, ...] = ()
    multiple: bool = False
    required: bool = False
    flag: str = ""
    role: str = ""


def role_options(
    role: str,
    help: str,  # noqa: A002 - as of `Option`
    *,
    multiple: bool = False,
    required: bool = False,
) -> tuple[Option, Option, Option]:
    """Return the options of ``run`` for a role that a benchmark asks beside the evaluated model.

    Parameters
    ----------
    role : str
        The role, as `attune_bench.runner.Call.role` and the settings name it, such as ``judge``. The options are
        ``--judge-model``, ``--judge-provider`` and ``--judge-base-url``; the task's settings take ``judge_model``.
    help : str
        What the models of the role do, in a sentence.
    multiple, required : bool
        Whether several models may have the role, and whether one must be named.

    Examples
    --------
    >>> [option.name for option in role_options("judge", "Models that judge the drafts.")]
    ['judge_model', 'judge_provider', 'judge_base_url']
    """
    who = role.replace("_", " ")
    return (
        Option(name=f"{role}_model", help=help, verbs=("run",), multiple=multiple, required=required),
        Option(
            name=f"{role}_provider",
            help=f"The provider that serves the {who}; by default the provider of the model.",
            verbs=("run",),
            role=role,
        ),
        Option(
            name=f"{role}_base_url",
            help=f"URL of an OpenAI-compatible server of the {who}, where it differs from --base-url.",
            verbs=("run",),
            role=role,
        ),
    )


PROMPTS_OPTION = Option(
    name="prompts", help="A folder with templates of your own, named as the bundled ones.", verbs=("run",), kind=Path
)
"""The option of a benchmark that takes templates of prompts from a folder, as `attune_bench.runner.task` reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A choice that the scores depend on, made when they are analysed.

    Attributes
    ----------
    name : str
        As in `attune_bench.Scores.variant`, and on the command line ``--name``.
    help : str
        What it does, in a sentence.
    values : tuple of str
        What can be chosen, the default first.
    """

    name: str
    help: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command that one benchmark has alone.

    Attributes
    ----------
    name, help : str
        As the command line lists it.
    command : Reference
        The click command.
    """

    name: str
    help: str
    command: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoresFormat:
    """A benchmark's own file of scores.

    Attributes
    ----------
    keys : frozenset of str
        The keys of the JSON object by which it is recognised.
    read, write : Reference
        ``read(path) -> ScoreTable`` and ``write(scores, path)``.
    check : Reference
        ``check(scores)`` raises `MetricInputError` where the detail of scores from a Parquet file is not as the
        benchmark keeps it.
    default : str
        The name that it is written to.
    """

    keys: frozenset[str]
    read: Reference
    write: Reference
    check: Reference
    default: str


TEXT_COLUMNS = ("model", "condition", "unit", "detail", "digest", "settings", "problem")
"""What is kept of a scored result as text: what names it; what its benchmark keeps beyond the terms, as JSON; its hash;
how it was made; why it was not scored, else null."""


def frame_of(columns: Mapping[str, Sequence[Any]]) -> "pl.DataFrame":
    """Return columns of scored results, see `Streaming`, as a frame."""
    import polars as pl

    types = dict.fromkeys(TEXT_COLUMNS, pl.String) | {"detail": None}  # text, or compressed
    return pl.DataFrame(columns, schema={name: types.get(name, pl.Float64) for name in columns}, strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Streaming:
    """How results are scored some at a time, for a benchmark that scores each by itself.

    Attributes
    ----------
    scorer : Reference
        ``scorer(data, **options)`` from records by id; its ``score(results, digests)`` gives columns, as a dict of
        lists with a value for each of some results: those of `TEXT_COLUMNS`, and as numbers the terms of its scores.
        Its ``about(id)`` makes what scores keep of a record of the data, and remembers it. The digest of a result is
        the first of `attune_bench.scores.provenance.result_digests`.
    kept_data, kept_result : Reference
        ``kept(record, digest)``: a record with only what its kind needs to tell which of two with one key counts; this
        digest is of everything that a record has.
    join : Reference
        ``join(scorer, results, scored) -> ScoreTable``: `results` as `kept_result` gives them, `scored` for each a
        frame of such columns and its row in it.
    """

    scorer: Reference
    kept_data: Reference
    kept_result: Reference
    join: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark.

    Attributes
    ----------
    name : str
        What ``--benchmark`` takes.
    title : str
        What pages call it.
    docs : str, optional
        Its page under ``docs/``.
    data : Reference, optional
        The kind of record that holds the reference; None where the results hold all there is.
    results : Reference
        The kind of record that is scored.
    cluster : str
        The field of the data's records that those share which are not independent, such as a participant.
    score : Reference
        ``score(data, results, *, progress=None, **options) -> ScoreTable``; without `data`, ``score(results, ...)``.
    row : Reference, optional
        ``row(result)`` returns the model, the condition and the unit of a result: the row that it has in
        `attune_bench.Scores.values`. Samples of an export need it, and so do transcripts and
        `comparability_keys`.
    comparability_keys : mapping of str to str
        The settings that change an answer, by the name under which results record them, and what messages call them,
        where the scoring does not say it: `attune_bench.score` then reads them from the results.
    streaming : Streaming, optional
        The same for results that are scored while they are read.
    options : tuple of Option
        Further options of its commands.
    choices : tuple of Choice
        What its scores depend on, chosen when they are analysed.
    task : Reference, optional
        How a model is asked, an `attune_bench.runner.Task`; None where it cannot be run.
    baselines : Reference, optional
        By name, predictors that use no model: ``predict(data) -> results``. The one named ``chance`` draws every
        answer and takes ``seed``; `attune_bench.chance` runs it. Where the expected value of a metric is known, the
        scores have it for each unit, as ``chance.<metric>`` in `Scores.units`.
    analyses : Reference
        By name, its own `attune_bench.scores.columns.Analysis`.
    sections : Reference, optional
        ``sections(page, *, data, results) -> list of Section``: its own parts of a page of HTML, of which `page`, an
        `attune_bench.report.sections.PageScores`, has the scores and options; `data` and `results` are None where
        not given. A Section without parts says why it is left out.
    transcripts : Reference, optional
        ``transcripts(record, results)`` gives what a page shows once of a unit, as HTML and figures: `record` is its
        record of the data, None for a benchmark without data; `results` are those of all models, by what the page calls
        them. By default the parts of the record. What a model made of it is shown as its kind says. It needs `row`.
    commands : tuple of Command
        Commands that it has alone.
    limits : tuple of str
        What its numbers do not say, for the page.
    scores_format : ScoresFormat, optional
        Its own format of a file of scores.
    """

    name: str
    title: str
    docs: str | None = None
    data: Reference = None
    results: Reference
    cluster: str = "id"
    score: Reference
    row: Reference = None
    comparability_keys: Mapping[str, str] = field(default_factory=dict)
    streaming: Streaming | None = None
    options: tuple[Option, ...] = ()
    choices: tuple[Choice, ...] = ()
    task: Reference = None
    baselines: Reference = None
    analyses: Reference = field(default_factory=dict)
    sections: Reference = None
    transcripts: Reference = None
    commands: tuple[Command, ...] = ()
    limits: tuple[str, ...] = ()
    scores_format: ScoresFormat | None = None
