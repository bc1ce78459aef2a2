"""Entries of benchmarks: each names a benchmark's records, its scoring, its calls to models and its own analyses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from attune_data.references import Reference

Verb = Literal["score", "run"]


def temperature(text: str) -> float | None:
    """Return a temperature from the text of an option, None for ``server``, the server's own; used as `Option.kind`.

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
        One sentence that says what it does and what applies if it is not given.
    verbs : tuple of str
        The commands that take it.
    kind : callable
        Makes its value from a text: str, int, float, bool, `pathlib.Path`, or a function that raises a ValueError for a
        wrong text.
    values : tuple of str
        The values it can have; if this is empty, any value.
    multiple : bool
        Whether it takes several values.
    required : bool
        Whether it must be given.
    flag : str
        The name on the command line, if that is not ``--name``.
    role : str
        The role whose server the option names, see `role_options`; empty for any other option.
    is_common : bool
        Whether ``--help`` lists the option, not only ``--help-all``; an option that is required is listed anyway.
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
    is_common: bool = False


def role_options(
    role: str,
    help: str,  # noqa: A002 - as of `Option`
    *,
    multiple: bool = False,
    required: bool = False,
) -> tuple[Option, Option, Option]:
    """Return the options of ``run`` for a role, such as a judge, that is asked in addition to the evaluated model.

    Parameters
    ----------
    role : str
        The role, as `attune_bench.runner.Call.role` and the settings name it, such as ``judge``. For ``judge`` the
        options are ``--judge-model``, ``--judge-provider`` and ``--judge-base-url``, and the task's settings take
        ``judge_model``.
    help : str
        What the models of the role do, in a sentence.
    multiple, required : bool
        Whether several models may have the role, and whether one must be named.

    Examples
    --------
    >>> [option.name for option in role_options("judge", "Models that judge the answers.")]
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


EPISODE_OPTIONS = (
    *role_options("simulator", "The model that plays the person and judges each reply.", required=True),
    Option(
        name="simulator_temperature",
        help="Sent with the calls of the simulator, or server for the server's own; by default 0.7.",
        verbs=("run",),
        kind=temperature,
    ),
    Option(
        name="max_rounds",
        help="The most rounds of a conversation; by default the benchmark's own number.",
        verbs=("run",),
        kind=int,
    ),
    Option(
        name="language",
        help="Of our instructions to both sides; by default Chinese for a scenario in Chinese, else English.",
        verbs=("run",),
        values=("en", "zh"),
    ),
    PROMPTS_OPTION,
)
"""The options of a benchmark in which the model talks with a simulated person (`attune_bench.runner.episodes`)."""


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
    """A command that only one benchmark has.

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
    """A benchmark's own format for files of scores.

    Attributes
    ----------
    keys : frozenset of str
        The keys of a JSON object by which a file of this format is recognised.
    read, write : Reference
        ``read(path) -> ScoreTable`` and ``write(scores, path)``.
    check : Reference
        ``check(scores)`` raises `MetricInputError` if `detail` in scores from a Parquet file does not have the
        benchmark's form.
    default : str
        The default name of a file that is written.
    """

    keys: frozenset[str]
    read: Reference
    write: Reference
    check: Reference
    default: str


TEXT_COLUMNS = ("model", "condition", "unit", "detail", "digest", "settings", "problem")
"""The columns of a scored result that are text: the model, condition and unit that name it; ``detail``, what its
benchmark keeps in addition to the terms, as JSON; ``digest``, its hash; ``settings``, how it was made; ``problem``, why
it was not scored, or null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streaming:
    """How results are scored in parts, for a benchmark that can score each result by itself.

    Attributes
    ----------
    scorer : Reference
        ``scorer(data, **options)`` makes a scorer; `data` has records by id. Its ``score(results)`` takes an iterable
        of pairs, each a result and its digest, the first of `attune_bench.scores.provenance.result_digests`. It returns
        a dict of columns, which are lists with one value for each result: the columns of `TEXT_COLUMNS`, and the terms
        of the scores as numbers. Its ``about(id)`` computes the part of a data record that scores keep, and remembers
        it in its dict ``known``, by id.
    kept_data, kept_result : Reference
        ``kept(record, digest)`` returns a record with only what its kind needs to decide which of two records with the
        same key counts. This digest is computed from the whole record.
    join : Reference
        ``join(scorer, results, scored, digest_of) -> ScoreLists``: `results` are as `kept_result` returns them.
        `scored` has for each result columns that ``score`` returned, and the number of the result's row in them.
        ``digest_of(id)`` returns the hash of a data record.
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
        The kind of record that holds the reference; None if the results hold everything that scoring needs.
    units : Reference, optional
        The kind of record that `task` asks about; by default `data`.
    results : Reference
        The kind of record that is scored.
    cluster : str
        A field of the data's records, such as the participant. Records with the same value are not independent.
    score : Reference
        ``score(data, results, *, progress=None, **options) -> ScoreTable``; without `data`, ``score(results, ...)``.
    row : Reference, optional
        ``row(result)`` returns the model, the condition and the unit of a result, which identify its row in
        `attune_bench.Scores.values`. The samples of an export, transcripts and `comparability_keys` need this function.
    comparability_keys : mapping of str to str
        The settings that change an answer: the name under which results record a setting, and its name in messages.
        Give them if the scoring does not name them itself; `attune_bench.score` then reads the settings from the
        results.
    streaming : Streaming, optional
        How results are scored while they are read; None if that is not possible.
    options : tuple of Option
        Further options of its commands.
    choices : tuple of Choice
        What its scores depend on, chosen when they are analysed.
    task : Reference, optional
        The `attune_bench.runner.Task` that asks a model; None if the benchmark cannot be run.
    pairs : Reference, optional
        The `attune_bench.runner.pairs.Pairing` by which ``run --pairs`` has answers of two models compared. It needs
        `row` and a task whose calls are known beforehand.
    baselines : Reference, optional
        Predictors that use no model, by name: ``predict(data) -> results``. The predictor ``chance`` draws every answer
        at random and takes ``seed``; `attune_bench.chance` runs this predictor. Where the expected value of a metric is
        known, the scores have it for each unit, as ``chance.<metric>`` in `Scores.units`.
    analyses : Reference
        By name, its own `attune_bench.scores.columns.Analysis`.
    sections : Reference, optional
        ``sections(page, *, data, results) -> list of Section`` makes the benchmark's own parts of an HTML page. `page`,
        an `attune_bench.report.page_scores.PageScores`, has the scores and options of the page; `data` and `results`
        are None if they are not given. A Section without parts says why it is left out.
    transcripts : Reference, optional
        ``transcripts(record, results)`` returns what a page shows once for each unit, as HTML and figures. `record` is
        the unit's record in the data, None for a benchmark without data; `results` has the results of all models for
        the unit, by the name that the page gives to each. By default the parts of the record are shown. The result of
        each model follows in the form that the kind of results defines. Transcripts need `row`.
    answers : Reference, optional
        ``answers(data, results)`` returns the texts of results that people can rate, a list of
        `attune_bench.annotate.rated.RatedText` with the conversation before each.
    measures : Reference, optional
        ``measures(records) -> attune_bench.report.measures.Measures`` measures what the records of the data say, for
        the page of the data that ``describe --html`` writes.
    commands : tuple of Command
        Commands that only this benchmark has.
    annotation : tuple of Command
        The commands by which ``annotate`` has people answer what the benchmark asks.
    limits : tuple of str
        Sentences for the page about what the benchmark's numbers do not show.
    scores_format : ScoresFormat, optional
        Its own format of a file of scores.
    """

    name: str
    title: str
    docs: str | None = None
    data: Reference = None
    units: Reference = None
    results: Reference
    cluster: str = "id"
    score: Reference
    row: Reference = None
    comparability_keys: Mapping[str, str] = field(default_factory=dict)
    streaming: Streaming | None = None
    options: tuple[Option, ...] = ()
    choices: tuple[Choice, ...] = ()
    task: Reference = None
    pairs: Reference = None
    baselines: Reference = None
    analyses: Reference = field(default_factory=dict)
    sections: Reference = None
    transcripts: Reference = None
    answers: Reference = None
    measures: Reference = None
    commands: tuple[Command, ...] = ()
    annotation: tuple[Command, ...] = ()
    limits: tuple[str, ...] = ()
    scores_format: ScoresFormat | None = None

    def __post_init__(self) -> None:
        if self.units is None:
            object.__setattr__(self, "units", self.data)
