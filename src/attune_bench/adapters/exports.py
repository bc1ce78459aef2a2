"""Scores as results on the pages of models on the Hub, and as folders of tables."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import polars as pl
from typing_extensions import Unpack

from attune_bench.report.privacy import hides, shown_strata, shown_summary
from attune_bench.runner.calls import model_folder, safe_part
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable, metrics_per_unit
from attune_bench.scores.tables_out import long_table
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions
from attune_bench.stats.signing import sign
from attune_data.issues import PublishError
from attune_data.publishing import check_writable, writing
from attune_data.query import Queryable
from attune_data.text import pluralize

_FOLDER = ".eval_results"
_SYNTHETIC = "SYNTHETIC data"


def hub_results(
    table: ScoreTable, *, dataset: str, small_cells: bool = False, **options: Unpack[AnalysisKeywords]
) -> dict[str, str]:
    """Return the results of each model, as the Hub's own types write them.

    An entry has the data set, a metric as the task, the value and the date of the runs. The format has no interval: the
    notes have the interval in words, the condition and the signature, and begin with ``SYNTHETIC data`` if any scored
    record is invented.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    dataset : str
        The data set on the Hub, ``owner/name``.
    small_cells : bool
        Whether to keep values that rest on few people.
    **options
        ``metrics`` (by default the main one), ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `AnalysisOptions`.

    Returns
    -------
    dict of str to str
        YAML by path, ``<model>/.eval_results/<benchmark>.yaml``. Models without any value are left out, and so are
        people and baselines, which have no page. Characters of a model's name that a folder cannot have are replaced
        and a digest follows: ``vendor/large-free--b26510822c32``, a name that no repository has.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = hub_results(score(load("demo"), load_runs("demo")), dataset="lab/attune", resamples=200)
    >>> list(found)
    ['synthetic/attentive/.eval_results/attunebench.yaml', 'synthetic/hasty/.eval_results/attunebench.yaml']
    """
    import huggingface_hub as hub
    import yaml

    chosen = AnalysisOptions(**options)
    options["metrics"] = list(chosen.names(table, [table.primary]))
    frame = shown_summary(table, small_cells=small_cells, **options)
    entries: dict[str, list[Any]] = {}
    for row in frame.drop_nulls("value").iter_rows(named=True):
        model, condition = row["model"], row["condition"]
        if kind_of_group(model) != "model":
            continue
        own: Any = {**options, "metrics": [row["metric"]]}
        scale = table.metrics[row["metric"]].scale
        said = [
            *([_SYNTHETIC] if table.provenance.synthetic else []),
            table.metrics[row["metric"]].label,
            *([] if scale == 1 else [f"reports show {scale:g} times the value"]),
            *([f"{table.provenance.condition} {condition}"] if condition else []),
        ]
        if row["low"] is not None:
            said.append(f"{100 * chosen.level:g}% interval {row['low']:.6g} to {row['high']:.6g}")
        said += [f"{row['n']} {pluralize(table.provenance.unit)}", sign(table, models=[model], **own)]
        dates = table.settings.get((model, condition), {}).get("date", ())
        date = max((str(date) for date in dates if date), default=None)
        entries.setdefault(model, []).append(
            hub.EvalResultEntry(
                dataset_id=dataset, task_id=row["metric"], value=row["value"], date=date, notes="; ".join(said)
            )
        )
    name = safe_part(table.provenance.benchmark or "scores")
    return {
        f"{_folder(model)}/{_FOLDER}/{name}.yaml": yaml.safe_dump(
            hub.eval_result_entries_to_yaml(found), sort_keys=False, allow_unicode=True, width=10_000
        )
        for model, found in entries.items()
    }


def _folder(model: str) -> str:
    """Return the folder of a model: its name, or a name that no repository can have if it cannot be a folder."""
    folder = model_folder(model)
    return folder if folder == model else f"{folder}--{sha256(model.encode()).hexdigest()[:12]}"


def check_proposable(results: Mapping[str, str]) -> None:
    """Raise a `PublishError` if results cannot be proposed, as far as can be checked without the network.

    Parameters
    ----------
    results : mapping of str to str
        What `hub_results` gives.

    Raises
    ------
    PublishError
        Results are of synthetic data, a model's name is not the name of a repository, there is no token, or the network
        is forbidden.
    """
    for path, text in results.items():
        model = path.partition(f"/{_FOLDER}/")[0]
        if _SYNTHETIC in text:
            raise PublishError(
                f"the results of {model} are of synthetic data, which say nothing about a model, and are not proposed "
                "to its page; score runs on real data, or leave out the push"
            )
        if "--" in model:
            raise PublishError(f"{model} is not the name of a repository; leave the model out of the scores")
        check_writable(model)


def push_hub_results(results: Mapping[str, str]) -> list[str]:
    """Propose results to the repositories of the models: one pull request each, which the owners accept or not.

    Parameters
    ----------
    results : mapping of str to str
        From `hub_results`. A model is a repository on the Hub, ``owner/name``.

    Returns
    -------
    list of str
        The addresses of the pull requests.

    Raises
    ------
    PublishError
        As `check_proposable`, before anything is proposed; or a repository cannot be written to, with the pull requests
        that were made before.
    """
    import huggingface_hub as hub

    check_proposable(results)
    files = [(path.partition(f"/{_FOLDER}/"), text.encode()) for path, text in results.items()]
    made: list[str] = []
    for (model, _, name), content in files:
        try:
            with writing(model) as api:
                done = api.create_commit(
                    model,
                    [hub.CommitOperationAdd(f"{_FOLDER}/{name}", content)],
                    commit_message="Add evaluation results of attune-bench",
                    create_pr=True,
                )
        except PublishError as error:
            before = f"; pull requests made before: {', '.join(made)}" if made else ""
            raise PublishError(f"{error}{before}") from None
        made.append(str(done.pr_url))
    return made


def flat_tables(
    table: ScoreTable,
    *,
    by: Sequence[str] = (),
    data: Queryable | None = None,
    small_cells: bool = False,
    **options: Unpack[AnalysisKeywords],
) -> dict[str, pl.DataFrame]:
    """Return scores as tables without nested columns.

    Parameters
    ----------
    table, by, data, small_cells, **options
        As for `attune_bench.adapters.eee.eee_records`.

    Returns
    -------
    dict of str to polars.DataFrame
        - ``summary``, from `attune_bench.stats.summary.summary`;
        - ``subgroups``, with `by`: the summary of each stratum, after the columns trait and stratum;
        - ``scores``, if a metric has one value for each unit: from `attune_bench.scores.tables_out.long_table`, and
          `attune_bench.Scores.from_table` reads it. If clusters are people, only with `small_cells`;
        - ``models``, a row a model: its ``kind``, ``model``, ``person`` or ``baseline``, and ``synthetic``, whether any
          scored record is invented;
        - ``metrics``, a row a metric.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> tables = flat_tables(scores, small_cells=True, metrics=["composite_score"], resamples=200)
    >>> {name: frame.height for name, frame in tables.items()}
    {'summary': 2, 'scores': 80, 'models': 2, 'metrics': 1}
    """
    found = {"summary": shown_summary(table, small_cells=small_cells, **options)}
    names = found["summary"]["metric"].unique(maintain_order=True).to_list()
    if by:
        parts = shown_strata(table, by, data=data, small_cells=small_cells, **options)
        found["subgroups"] = pl.concat(part.rows.select(pl.lit(part.trait).alias("trait"), pl.all()) for part in parts)
    if not hides(table, small_cells=small_cells) and any(name in names for name in metrics_per_unit(table)):
        found["scores"] = long_table(table, names)
    found["models"] = pl.DataFrame(
        {"model": table.models, "kind": [kind_of_group(model) for model in table.models]},
        schema={"model": pl.String, "kind": pl.String},
    ).with_columns(synthetic=pl.lit(table.provenance.synthetic))
    fields = ("label", "low", "high", "higher_is_better", "statistic", "source")
    of_metrics = {field: [getattr(table.metrics[name], field) for name in names] for field in fields}
    numbers = {"low": pl.Float64, "high": pl.Float64}
    found["metrics"] = pl.DataFrame({"metric": names, **of_metrics}, schema_overrides=numbers)
    return found
