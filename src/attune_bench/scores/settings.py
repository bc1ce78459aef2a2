"""The settings of the runs of each model and condition, as their files record them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from attune_data.record import content_hash

NOT_RECORDED = "not recorded"


CHANCE_BASELINE = "baseline/chance"
"""The row of a set of random answers."""


SENT_WHERE_SET: Mapping[str, tuple[str, str]] = {
    "reasoning_effort": ("reasoning effort", "not sent"),
    "extra_body": ("extra body", "not sent"),
    "token_limit": ("limit of tokens", "sent"),
}
"""Settings that change an answer and are recorded only where they were set: what messages call them, and the value of
runs that do not record them."""


_SHORT = 12


GroupKind = Literal["model", "person", "baseline"]


def kind_of_group(model: str) -> GroupKind:
    """Return what a row of scores is of, as the name tells: ``baseline/...``, ``human/...``, or else a model.

    Examples
    --------
    >>> [kind_of_group(name) for name in ("vendor/model", "human/ann", "baseline/prior")]
    ['model', 'person', 'baseline']
    """
    kinds: dict[str, GroupKind] = {"baseline": "baseline", "human": "person"}
    return kinds.get(model.partition("/")[0], "model")


def people_among(models: Iterable[str]) -> list[str]:
    """Return the names that are people's.

    Examples
    --------
    >>> people_among(["vendor/model", "human/ann"])
    ['human/ann']
    """
    return [model for model in models if kind_of_group(model) == "person"]


class GroupSettings(BaseModel):
    """The settings of the runs of one model under one condition, as their files record them.

    Attributes
    ----------
    model : str
        The model.
    condition : str, optional
        The condition.
    settings : dict of str to tuple
        By the name of a setting, the values found, sorted; None where a file does not record it. A setting that does
        not apply to any of the files is left out.

    Examples
    --------
    >>> GroupSettings(model="vendor/model", settings={"temperature": (0.0,)}).settings["temperature"]
    (0.0,)
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, allow_inf_nan=False)

    model: str
    condition: str | None = None
    settings: dict[str, tuple[str | int | float | None, ...]] = {}

    def __hash__(self) -> int:
        return content_hash(self)


def setting_text(value: str | float | None) -> str:
    """Return the value of a setting as a text; a hash is cut to 12 digits.

    Examples
    --------
    >>> setting_text(0.0), setting_text("vendor/judge"), setting_text(None)
    ('0', 'vendor/judge', 'not recorded')
    """
    if value is None:
        return NOT_RECORDED
    text = str(value).removesuffix(".0")
    is_hash = len(text) > _SHORT and set(text) <= set("0123456789abcdef")
    return text[:_SHORT] if is_hash else text


def of_server(given: Mapping[str, Any], name: str) -> bool:
    """Tell whether a result records that a setting was left to the server: as null."""
    return name in given and given[name] is None


def sent_where_set(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of `SENT_WHERE_SET` that a result records, of what it records.

    Examples
    --------
    >>> sent_where_set({"temperature": 0.0, "max_tokens": None, "extra_body": {"top_p": 0.9}})
    {'extra_body': '{"top_p": 0.9}', 'token_limit': 'of the server'}
    """
    found = {name: given[name] for name in ("reasoning_effort", "extra_body") if given.get(name)}
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True) for name, value in found.items()
    }
    return texts | ({"token_limit": "of the server"} if of_server(given, "max_tokens") else {})


def group_settings(
    runs: Iterable[tuple[str, str | None, Mapping[str, Any]]],
) -> tuple[GroupSettings, ...]:
    """Return the settings of the runs of models, by model and condition; people and baselines have none.

    Parameters
    ----------
    runs : iterable of (str, str or None, mapping)
        Of each run its model, its condition and its settings; one that is None is not recorded, one that is left out
        does not apply to the run. Of those of `SENT_WHERE_SET` that some runs of a group record, the others have the
        value of runs that do not.

    Examples
    --------
    >>> runs = [("m", None, {"temperature": 0.0}), ("m", None, {"temperature": 0.7}), ("n", None, {})]
    >>> [(group.model, group.settings) for group in group_settings(runs)]
    [('m', {'temperature': (0.0, 0.7)}), ('n', {})]
    """
    grouped: dict[tuple[str, str | None], list[Mapping[str, Any]]] = {}
    for model, condition, settings in runs:
        if kind_of_group(model) == "model":
            grouped.setdefault((model, condition), []).append(settings)
    return tuple(
        GroupSettings(model=model, condition=condition, settings=_values_of(own))
        for (model, condition), own in sorted(grouped.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    )


def _values_of(settings: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Return the values of each setting in the runs of one group, sorted."""
    found: dict[str, set[Any]] = {}
    for one in settings:
        for name, value in one.items():
            found.setdefault(name, set()).add(value)
    for name in SENT_WHERE_SET.keys() & found:
        found[name].update(one.get(name, SENT_WHERE_SET[name][1]) for one in settings)
    return {name: tuple(sorted(values, key=_order)) for name, values in found.items()}


def _order(value: Any) -> tuple[bool, str]:
    return value is None, str(value)
