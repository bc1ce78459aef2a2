"""The settings of the runs of each model and condition, as their files record them."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from attune_data.record import content_hash

__all__ = ["NOT_RECORDED", "GroupSettings", "group_settings", "kind_of_group", "people_among", "setting_text"]

NOT_RECORDED = "not recorded"
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


def group_settings(
    runs: Iterable[tuple[str, str | None, Mapping[str, Any]]],
) -> tuple[GroupSettings, ...]:
    """Return the settings of the runs of models, by model and condition; people and baselines have none.

    Parameters
    ----------
    runs : iterable of (str, str or None, mapping)
        Of each run its model, its condition and its settings; one that is None is not recorded, one that is left out
        does not apply to the run.

    Examples
    --------
    >>> runs = [("m", None, {"temperature": 0.0}), ("m", None, {"temperature": 0.7}), ("n", None, {})]
    >>> [(group.model, group.settings) for group in group_settings(runs)]
    [('m', {'temperature': (0.0, 0.7)}), ('n', {})]
    """
    found: dict[tuple[str, str | None], dict[str, set[Any]]] = {}
    for model, condition, settings in runs:
        if kind_of_group(model) != "model":
            continue
        own = found.setdefault((model, condition), {})
        for name, value in settings.items():
            own.setdefault(name, set()).add(value)
    return tuple(
        GroupSettings(
            model=model,
            condition=condition,
            settings={name: tuple(sorted(values, key=_order)) for name, values in own.items()},
        )
        for (model, condition), own in sorted(found.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    )


def _order(value: Any) -> tuple[bool, str]:
    return value is None, str(value)
