"""What scores were made of: hashes of data and results, and the settings of the runs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from attune_bench.scores.parts import GroupSettings
from attune_data.record import HASH_VERSION, Record, canonical_parts, with_place
from attune_metrics.signature import hash_digests

if TYPE_CHECKING:
    from attune_data.collection import Kind


def fingerprint(records: Iterable[Record], *, version: int = HASH_VERSION) -> str:
    """Return the hash of records; the order of records, and of keys in their files, does not matter.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> fingerprint(conversations) == fingerprint(reversed(conversations))
    True
    """
    return hash_of((digest(record, version=version) for record in records), version=version)


def hash_of(digests: Iterable[bytes], *, version: int = HASH_VERSION) -> str:
    """Return the hash of records from their digests; from the second version on it begins with its version."""
    hashed = hash_digests(digests)
    return hashed if version == 1 else f"v{version}-{hashed}"


def version_of(recorded: object) -> int:
    """Return the version of a recorded hash.

    Examples
    --------
    >>> version_of("v2-e3b0c44298fc1c149afbf4c8996fb924"), version_of("e3b0c44298fc1c149afbf4c8996fb924")
    (2, 1)
    """
    return HASH_VERSION if isinstance(recorded, str) and recorded.startswith(f"v{HASH_VERSION}-") else 1


def is_hash_of(recorded: str, records: Iterable[Record]) -> bool:
    """Tell whether a recorded hash is the hash of records, in the form of its own version."""
    return recorded == fingerprint(records, version=version_of(recorded))


def digest(record: Record, *, version: int = HASH_VERSION) -> bytes:
    """Return the hash of a record, whatever the order of the keys in its file."""
    return sha256(canonical_parts(record, version=version)[0]).digest()


def results_fingerprint(results: Iterable[Record], kind: "Kind[Any, Any]", *, version: int = HASH_VERSION) -> str:
    """Return the hash of results, whatever their order: what was answered, to what, by whom, with which settings.

    When results were made, how long that took and what it cost, see `attune_data.Kind.unhashed`, changes no hash. The
    runner also notes the cost of each role of a benchmark, such as ``judge_cost``, in results that have no such field.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> from attune_data.kinds import RUN
    >>> runs = load_runs("demo")
    >>> later = [run.model_copy(update={"run_timestamp": "2026-03-01", "api_cost": 0.5}) for run in runs]
    >>> results_fingerprint(later, RUN) == results_fingerprint(runs, RUN)
    True
    """
    digests = (result_digests(result, kind, version=version)[0] for result in results)
    return hash_of(digests, version=version)


def result_digests(result: Record, kind: "Kind[Any, Any]", *, version: int = HASH_VERSION) -> tuple[bytes, bytes]:
    """Return two hashes of a result: of what a signature counts, as `results_fingerprint` does, and of everything.

    A result names its model, which a file may tell by its place alone.
    """
    costs = {key for key in result.model_extra or () if key.endswith("_cost")}
    content, unhashed = canonical_parts(with_place(result), kind.unhashed | costs, version=version)
    counted = sha256(content).digest()
    return counted, sha256(counted + unhashed).digest()


NOT_RECORDED = "not recorded"


CHANCE_BASELINE = "baseline/chance"
"""The row of a set of random answers."""

PRIOR_BASELINE = "baseline/prior"
"""The row of the answers that are most frequent among others, whatever the unit says."""


SENT_WHERE_SET: Mapping[str, tuple[str, str]] = {
    "reasoning_effort": ("reasoning effort", "not sent"),
    "extra_body": ("extra body", "not sent"),
    "token_limit": ("limit of tokens", "sent"),
}
"""Settings that change an answer and are recorded only where they were set: what messages call them, and the value of
runs that do not record them."""


def compared_early(model: str) -> str:
    """Return how the note on a model begins that was compared while it ran, so that intervals of one look do not hold.

    Examples
    --------
    >>> compared_early("vendor/a")
    'vendor/a was compared while it ran'
    """
    return f"{model} was compared while it ran"


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


def plain_setting(value: Any) -> str | int | float | None:
    """Return a value as a setting can be: a text or a finite number; anything else as its text.

    Examples
    --------
    >>> [plain_setting(value) for value in (0.5, float("nan"), [1, 2])]
    [0.5, 'nan', '[1, 2]']
    """
    is_plain = value is None or (isfinite(value) if isinstance(value, float) else isinstance(value, str | int))
    return value if is_plain else str(value)


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


EPISODE_SETTINGS: Mapping[str, str] = {
    "prompt_version": "version of the simulator's instructions",
    "prompt_hash": "instructions",
    "simulator": "simulator",
    "max_rounds": "number of rounds",
    "temperature": "temperature",
    "answer_format": "answer format",
    "config_hash": "configuration",
}
"""The settings of conversations with a simulated person in which models that are compared may not differ, and what they
are called; the last is a hash of all others but the temperature, and of what ``_configuration.json`` beside the results
lists."""


def episode_settings(episode: Record) -> dict[str, Any]:
    """Return the settings of a conversation with a simulated person: None for one that the record does not tell."""
    given = episode.model_extra or {}
    settings = {name: getattr(episode, name, given.get(name)) for name in EPISODE_SETTINGS}
    # A temperature that is null was left to the server.
    if of_server(given, "temperature"):
        settings["temperature"] = "of the server"
    others = ("provider", "simulator_provider", "simulator_temperature", "seed", "language")
    return settings | {name: given[name] for name in others if name in given} | sent_where_set(given)


def group_settings(runs: Iterable[tuple[str, str | None, Mapping[str, Any]]]) -> tuple[GroupSettings, ...]:
    """Return the settings of the runs of models, by model and condition; people and baselines have none.

    Parameters
    ----------
    runs : iterable of (str, str or None, mapping)
        Of each run its model, its condition and its settings; one that is None is not recorded, one that is left out
        does not apply to the run. Where some runs of a group record a setting of `SENT_WHERE_SET`, the others have the
        value of runs that do not record it.

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
            found.setdefault(name, set()).add(plain_setting(value))
    for name in SENT_WHERE_SET.keys() & found:
        found[name].update(one.get(name, SENT_WHERE_SET[name][1]) for one in settings)
    return {
        name: tuple(sorted(values, key=lambda value: (value is None, str(value)))) for name, values in found.items()
    }
