"""Whether the numbers of models may be set side by side: only where their runs agree in what changes an answer.

`Provenance.settings` has the settings of the runs, `Provenance.comparability_keys` the settings that count. A setting
that a metric names in `Metric.depends_on` counts for that metric only. People and baselines have no settings and are
compared with anything. Results that record nothing count as one unknown setting.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, TypeVar

import polars as pl

from attune_bench.scores.provenance import NOT_RECORDED, SENT_WHERE_SET, kind_of_group, setting_text
from attune_bench.scores.table import ScoreTable, term_columns
from attune_data.text import plural
from attune_metrics.metric import MetricInputError

T = TypeVar("T", bound=ScoreTable)
Group = tuple[str, str | None]
Differences = Mapping[str, Mapping[str, Sequence[str]]]
Models = Mapping[Group, Mapping[str, tuple[Any, ...]] | None]

_MOST_NAMED = 3


class MixedSettingsError(ValueError):
    """The runs of compared models differ in a setting that changes answers; the text names the difference."""


def differences(
    table: ScoreTable, *, groups: Iterable[Group] | None = None, metrics: Sequence[str] | None = None
) -> Differences:
    """Return the settings in which the runs of models differ.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    groups : iterable of (str, str or None), optional
        Models and conditions; by default all.
    metrics : sequence of str, optional
        Names of metrics; by default all.

    Returns
    -------
    dict of str to dict
        By what the setting is called: each value, as a text, with the models that have it, and with their condition
        where it is the conditions of a model that differ. Empty where the numbers may be set side by side.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> differences(score(load("demo"), load_runs("demo")))
    {}
    """
    models = _models(table, groups)
    called, of_all, of_some = _by_reach(table, metrics, models)
    found = {called[name]: _values(models, name) for name in of_all}
    for name, resting in of_some.items():
        valued = _valued(table, resting)
        labels = ", ".join(table.metrics[metric].label for metric in resting)
        own = {group: settings for group, settings in models.items() if group in valued}
        found[f"{called[name]} (for {labels})"] = _values(own, name)
    return {what: _named(values) for what, values in found.items() if len(values) > 1}


def is_mixed(table: ScoreTable) -> bool:
    """Tell whether runs differ in settings that change answers, and are compared all the same."""
    return table.provenance.mixed and bool(differences(table))


def check_comparable(
    table: ScoreTable, *, groups: Iterable[Group] | None = None, metrics: Sequence[str] | None = None
) -> None:
    """Refuse to compare models if their runs differ in a setting that changes answers.

    Parameters
    ----------
    table, groups, metrics
        As for `differences`.

    Raises
    ------
    MixedSettingsError
        Where they differ and `Provenance.mixed` is not set.
    """
    if not table.provenance.mixed and (found := differences(table, groups=groups, metrics=metrics)):
        raise MixedSettingsError(
            f"the runs differ in settings that change answers, so their numbers are not comparable: {in_words(found)}. "
            "--allow-mixed (in Python scores.allow_mixed()) goes on, and marks every output"
        )


def check_within_conditions(
    table: ScoreTable, metrics: Sequence[str] | None = None, *, groups: Iterable[Group] | None = None
) -> None:
    """Do as `check_comparable` for the models of each condition, where no two conditions are compared.

    Of metrics, see `check_one_scale`.
    """
    check_one_scale(table, table.metrics if metrics is None else metrics)
    chosen = list(table.groups if groups is None else groups)
    for condition in dict.fromkeys(condition for _, condition in chosen):
        check_comparable(table, groups=[group for group in chosen if group[1] == condition], metrics=metrics)


def check_one_scale(table: ScoreTable, metrics: Iterable[str]) -> None:
    """Raise a MetricInputError where each model has a scale of its own of a metric, see `Metric.relative_to`."""
    for metric in map(table.metric, metrics):
        if metric.own_scale:
            raise MetricInputError(f"{metric.name!r} cannot rank or compare models: {metric.own_scale}")


def allow_mixed(table: T) -> T:
    """Return the scores to be compared although their runs differ; where they do, every output says so.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> allow_mixed(score(load("demo"), load_runs("demo"))).provenance.mixed
    True
    """
    return replace(table, provenance=table.provenance.model_copy(update={"mixed": True}))


def common_settings(table: ScoreTable) -> tuple[dict[str, str], list[str]]:
    """Return the comparability settings that all models have in common, and those that no result records.

    Both by what they are called; a setting in which models differ is in neither. Of settings that only some metrics
    rest on, those without a value are left out.
    """
    models = _models(table, None)
    if not models:
        return {}, []
    common, unknown = {}, []
    called, of_all, of_some = _by_reach(table, None, models)
    for name in (*of_all, *of_some):
        values = list(_values(models, name))
        if values == [NOT_RECORDED]:
            unknown += [called[name]] if name in of_all else []
        elif len(values) == 1:
            common[called[name]] = values[0]
    return common, unknown


def settings_mark(table: ScoreTable, metrics: Sequence[str], *, groups: Iterable[Group] | None = None) -> str | None:
    """Return the short form of the settings for a signature; None where no model can have any.

    The first comparability setting, as a rule the version of the prompts, and a hash of all of them; ``unknown`` where
    it is not recorded, ``mixed`` where models differ.
    """
    models = _models(table, groups)
    _, of_all, of_some = _by_reach(table, metrics, models)
    values = {name: sorted(_values(models, name)) for name in (*of_all, *of_some)}
    if not models or not values:
        return None
    if all(found in ([], [NOT_RECORDED]) for found in values.values()):
        return "unknown"
    first = "mixed" if differences(table, groups=models, metrics=metrics) else "".join(next(iter(values.values())))
    digest = sha256(json.dumps(values).encode()).hexdigest()[:8]
    return f"{'unknown' if first == NOT_RECORDED else first}.{digest}"


def settings_by_group(
    table: ScoreTable, *, beside: Iterable[ScoreTable] = ()
) -> dict[Group, dict[str, tuple[str, ...]]]:
    """Return the comparability settings of every model and condition, by what they are called, as texts.

    One that some metrics rest on is there where the model has a value of them; people and baselines have none. Two
    groups may be compared where each setting that both have is one and the same.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    beside : iterable of ScoreTable, optional
        Scores that they are set beside: of `SENT_WHERE_SET` those count that any of these models records.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = settings_by_group(score(load("demo"), load_runs("demo")))
    >>> found["synthetic/hasty", "default"]["temperature"]
    ('not recorded',)
    """
    models = _models(table, None)
    called, of_all, of_some = _by_reach(table, None, models, *(_models(other, None) for other in beside))
    valued = {name: _valued(table, resting) for name, resting in of_some.items()}
    found: dict[Group, dict[str, tuple[str, ...]]] = {}
    for group in models:
        names = [*of_all, *(name for name in of_some if group in valued[name])]
        values = {called[name]: tuple(_values({group: models[group]}, name)) for name in names}
        found[group] = {name: value for name, value in values.items() if value}
    return found


def in_words(found: Differences) -> str:
    """Return differences as a sentence's end.

    Examples
    --------
    >>> in_words({"temperature": {"0": ["a"], "0.7": ["b", "c"]}})
    'temperature 0 (of a), 0.7 (of b, c)'
    >>> of = ["a"], ["b"]
    >>> in_words({name: dict(zip(("v1", "not recorded"), of)) for name in ("prompts", "codebook")})
    'prompts, codebook recorded (of a), not recorded (of b)'
    """
    # What one side records and the other does not is said once.
    said: dict[str, list[str]] = {}
    for what, values in found.items():
        unknown = NOT_RECORDED in values and len(values) == 2
        parts = (
            f"{'recorded' if unknown and value != NOT_RECORDED else value} (of {_listed(models)})"
            for value, models in sorted(values.items(), key=lambda item: item[0] == NOT_RECORDED)
        )
        said.setdefault(", ".join(parts), []).append(what)
    return "; ".join(f"{', '.join(names)} {values}" for values, names in said.items())


def _listed(models: Sequence[str]) -> str:
    named = ", ".join(models[:_MOST_NAMED])
    others = len(models) - _MOST_NAMED
    return named if others <= 0 else f"{named} and {plural(others, 'other')}"


def _models(table: ScoreTable, groups: Iterable[Group] | None) -> Models:
    """Return the settings of every model and condition, None for one without; people and baselines are left out."""
    chosen = table.groups if groups is None else dict.fromkeys(groups)
    return {group: table.settings.get(group) for group in chosen if kind_of_group(group[0]) == "model"}


def _by_reach(
    table: ScoreTable, metrics: Sequence[str] | None, *compared: Models
) -> tuple[dict[str, str], list[str], dict[str, list[str]]]:
    """Return how each comparability setting is called; which count for any metric; and for which metrics others count.

    The settings are the benchmark's, and the settings of `SENT_WHERE_SET` that a model records.
    """
    recorded = {name for models in compared for own in models.values() for name in own or ()}
    sent = {name: label for name, (label, _) in SENT_WHERE_SET.items() if name in recorded}
    called = table.provenance.comparability_keys | sent
    some = {name for metric in table.metrics.values() for name in metric.depends_on}
    chosen = table.metrics if metrics is None else metrics
    resting = {
        name: [metric for metric in chosen if name in table.metric(metric).depends_on]
        for name in called
        if name in some
    }
    of_all = [name for name in called if name not in some]
    return called, of_all, {name: metrics for name, metrics in resting.items() if metrics}


def _valued(table: ScoreTable, metrics: Sequence[str]) -> set[Group]:
    """Return the models and conditions that have a value of any of the metrics."""
    columns = [column for name in metrics for column in term_columns(table.metrics[name])]
    rows = table.values.filter(pl.any_horizontal(pl.col(columns).is_not_null()))
    return set(rows.select("model", "condition").unique().iter_rows())


def _values(models: Models, name: str) -> dict[str, list[Group]]:
    """Return the values of a setting as texts, each with its groups; one to which it does not apply has none."""
    found: dict[str, list[Group]] = {}
    unset = (SENT_WHERE_SET[name][1],) if name in SENT_WHERE_SET else ()
    for group, own in models.items():
        for value in (None,) if own is None else own.get(name, unset):
            found.setdefault(setting_text(value), []).append(group)
    return found


def _named(values: Mapping[str, Sequence[Group]]) -> dict[str, list[str]]:
    """Return the models of each value, with the condition where a model has several."""
    conditions: dict[str, set[str | None]] = {}
    for groups in values.values():
        for model, condition in groups:
            conditions.setdefault(model, set()).add(condition)
    return {
        value: list(
            dict.fromkeys(
                f"{model} [{condition}]" if len(conditions[model]) > 1 else model for model, condition in groups
            )
        )
        for value, groups in values.items()
    }
