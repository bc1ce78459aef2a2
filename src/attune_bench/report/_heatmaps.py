"""The figures that are heat maps; `attune_bench.report.figures` exports them."""

from statistics import fmean
from typing import TYPE_CHECKING

from attune_bench.report._drawing import LINES, heatmap, label, rows_of, shown, sizes, unique
from attune_bench.stats_tables import number, p_value
from attune_metrics.catalog import CATALOG

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.report._drawing import Figure

__all__ = ["metric_correlation", "mode_differences", "question_agreement", "win_rates"]


def win_rates(rates: "pl.DataFrame", metric: str = "avg_pairwise_accuracy", *, mode: str | None = None) -> "Figure":
    """Draw in which share of conversations the model of a row does better than that of a column.

    Parameters
    ----------
    rates : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.win_rates` gives.
    metric, mode
        As for `attune_bench.report.figures.scores`.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> given = score(conversations, runs)
    >>> found = analyses.win_rates(given, resamples=200)
    >>> chart = win_rates(found)
    >>> type(chart).__name__
    'LayerChart'
    """
    rows = rows_of(rates, mode, "rate", metric=metric)
    won = {model: fmean(row["rate"] for row in rows if row["model_a"] == model) for model in unique(rows, "model_a")}
    order = sorted(won, key=lambda model: (-won[model], model))
    for row in rows:
        row["shown"] = f"{row['rate']:.2f}"
        row["text"] = f"{row['model_a']} against {row['model_b']}: {shown(row, 'rate')}, {sizes(row)}"
    return heatmap(rows, "rate", ("model_b", order), ("model_a", order), middle=0.5, reach=0.5)


def metric_correlation(correlations: "pl.DataFrame", *, mode: str | None = None) -> "Figure":
    """Draw Spearman's correlation of metrics across models.

    Parameters
    ----------
    correlations : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.metric_correlation` gives.
    mode : str, optional
        As for `attune_bench.report.figures.scores`.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses, baselines
    >>> conversations = load("demo")
    >>> given = score(conversations, [*load_runs("demo"), *baselines.prior(conversations)])
    >>> found = analyses.metric_correlation(given, metrics=["avg_emotion_f1", "avg_emotion_va_score"], resamples=200)
    >>> chart = metric_correlation(found)
    >>> type(chart).__name__
    'LayerChart'
    """
    rows = rows_of(correlations, mode, "rho")
    for row in rows:
        row["first"], row["second"] = label(row["metric_a"]), label(row["metric_b"])
        row["shown"] = f"{row['rho'] + 0.0:.2f}"
        row["text"] = f"{row['second']} and {row['first']}: {shown(row, 'rho')}, {row['models']} models"
    # Each pair once: the triangle below the diagonal.
    columns, lines = unique(rows, "first"), unique(rows, "second")
    return heatmap(rows, "rho", ("first", columns), ("second", lines), middle=0, reach=1)


def mode_differences(differences: "pl.DataFrame", mode: str, *, reference: str = "default") -> "Figure":
    """Draw how far each metric of each model differs between two modes, in widths of the metric's range.

    Parameters
    ----------
    differences : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.mode_differences` gives.
    mode, reference : str
        The two modes.

    Returns
    -------
    altair.LayerChart
        Cells print the difference in the metric's own unit; the colour is relative to its range.

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> runs = load_runs("demo")
    >>> again = [run.model_copy(update={"mode": "verbose"}) for run in runs]
    >>> given = score(load("demo"), [*runs, *again])
    >>> found = analyses.mode_differences(given, metrics=["composite_score"], resamples=200)
    >>> chart = mode_differences(found, "verbose")
    >>> type(chart).__name__
    'LayerChart'
    """
    rows = [
        row
        for row in rows_of(differences, mode, "difference")
        if row["reference"] == reference and row["metric"] in LINES
    ]
    if not rows:
        raise ValueError(f"nothing to draw: no difference between the modes {mode!r} and {reference!r}")
    for row in rows:
        known = CATALOG[LINES[row["metric"]].metric]
        row["share"] = row["difference"] / (known.high - known.low)
        row["place"] = label(row["metric"])
        row["shown"] = number(row["difference"], row["metric"], signed=True)
        row["text"] = (
            f"{row['model']}, {row['place']}: {shown(row, 'difference', row['metric'], signed=True)}, "
            f"Holm p {p_value(row['p_holm'])}, {sizes(row)}"
        )
    reach = max(abs(row["share"]) for row in rows) or 1
    axes = ("model", sorted(unique(rows, "model"))), ("place", unique(rows, "place"))
    return heatmap(rows, "share", *axes, middle=0, reach=reach)


def question_agreement(agreement: "pl.DataFrame", task: str, *, mode: str | None = None) -> "Figure":
    """Draw on which share of turns each model answers each binary question as the participant did.

    Parameters
    ----------
    agreement : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.question_agreement` gives.
    task : str
        One of its tasks, such as ``binary_om``.
    mode : str, optional
        As for `attune_bench.report.figures.scores`.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> given = score(conversations, runs)
    >>> found = analyses.question_agreement(given, data=conversations, runs=runs, resamples=200)
    >>> chart = question_agreement(found, "binary_om")
    >>> type(chart).__name__
    'LayerChart'
    """
    rows = [row for row in rows_of(agreement, mode, "agreement") if row["task"] == task]
    if not rows:
        tasks = ", ".join(sorted(agreement["task"].unique()))
        raise ValueError(f"nothing to draw: no task {task!r}; expected one of {tasks}")
    for row in rows:
        row["shown"] = f"{row['agreement']:.2f}"
        row["text"] = (
            f"{row['model']}, {row['question']}: {shown(row, 'agreement')}, {row['answers']} answers, {sizes(row)}"
        )
    axes = ("model", sorted(unique(rows, "model"))), ("question", unique(rows, "question"))
    return heatmap(rows, "agreement", *axes, middle=0.5, reach=0.5)
