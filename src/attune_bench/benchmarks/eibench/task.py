"""EIBench as the runner sees it, and the files of its results.

In the output folder each model has a folder of its own: its name with ``_`` for ``/``. There ``results.jsonl`` contains
the complete episodes of the scenarios in their order, ``summary.json`` what
`attune_bench.benchmarks.eibench.summary.model_summary` gives of them, and hidden files the cache and the episodes, by
which a run goes on where it was stopped. Both results are also written where a run is interrupted; after a kill the
same call writes them. A folder takes one configuration.

The protocol is that of EIBench's released evaluation, reflection before each reply included, apart from this:

- The instructions of both sides are our own, in English and Chinese; they ask for what the benchmark's own ask for.
  Numbers are comparable for one simulator and one version of these instructions only.
- In a charm episode, where the model speaks first, one fixed line of a user precedes its words in every request; the
  benchmark's code sends it in the first only, and then conversations that some servers refuse.
- A call that fails however often it is tried is no empty reply, which would be scored: the episode has no line in the
  results, is listed as skipped, and is tried again by the same call.
- A reply that the server says ended early is asked for once more, and then the episode is skipped likewise; a judgement
  that did is one that cannot be read.
- Reasoning that a server gives apart from the answer is not used.
- The simulator is asked for an answer of a JSON schema, where its server takes one. Repairs of an answer leave its
  texts alone, and do not close an object that was cut off.
- A ``reply`` of the simulator that is no text is an answer that cannot be read.
- A state in place of changes that is no number leaves the state as it was; there it counts 0.
- A scenario that lacks an anchor is left out, and named before the first call.
- The judgement with which a person fell silent is in the history, as an utterance without words. ``thinking`` beside
  the words of the model is what it thought before.
- ``stop_reason`` in the last utterance tells a stop of the simulator from a silence, both ``simulator_stop``.

As there, a ``continue`` stops only where it is ``no``, so that ``false`` does not; ``meta.continue`` tells what was
said. What the model wrote outside of a proper pair of tags is said aloud. The model sees its own earlier outputs with
their thinking. The last reply of a charm episode is not judged, unless `EIBenchSettings.judge_all` is set. The page
``docs/comparability.md`` has all of this as a table.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attune_bench.benchmarks.eibench.flow import TRIES, planned_calls, run_episode, unplayable
from attune_bench.benchmarks.eibench.scoring import score
from attune_bench.benchmarks.eibench.settings import EIBenchSettings, bundled_prompts
from attune_bench.benchmarks.eibench.summary import model_summary
from attune_bench.fingerprint import fingerprint
from attune_bench.runner.cache import cache_key
from attune_bench.runner.calls import WHERE_SET, Role
from attune_bench.runner.file_names import safe_name
from attune_bench.runner.folder import RunError, noted_refusals, read_json
from attune_bench.runner.prompts import read_prompts
from attune_bench.runner.providers import Endpoint
from attune_bench.runner.task import Source, Task
from attune_data import Episode, Scenario
from attune_data.io.documents import write_whole

__all__ = ["TASK"]

# Hidden from loading, which reads the results.
_EPISODES = "_episodes"
_CONFIGURATION = "_configuration.json"
_RESULTS = "results.jsonl"
_SUMMARY = "summary.json"
# Models are compared where all else is the same.
_OF_THE_MODEL = ("model", "temperature", "model_provider", *WHERE_SET)


def _settings(model: str, *, simulator_model: str, prompts: Path | None = None, **options: Any) -> EIBenchSettings:
    """Return the settings that a command line names; `prompts` is a wording of one's own, as a folder."""
    return EIBenchSettings(model, simulator_model, prompts=read_prompts(prompts, bundled_prompts()), **options)


def _folder(output: Path, settings: EIBenchSettings) -> Path:
    return output / safe_name(settings.model.split("/"), settings.model)


def _file_name(scenario: Scenario, _settings: EIBenchSettings) -> str:
    return f"{_EPISODES}/{safe_name([scenario.id], scenario.id)}.json"


def _configuration(settings: EIBenchSettings, providers: Mapping[Role, str]) -> dict[str, Any]:
    return settings.provenance() | {f"{role}_provider": provider for role, provider in providers.items()}


def _config_hash(configuration: Mapping[str, Any]) -> str:
    # Another seed is another draw of the same configuration, as of every repeat.
    return _config_hash_with_seed({**configuration, "seed": None})


def _config_hash_with_seed(configuration: Mapping[str, Any]) -> str:
    """Return what episodes of version 0.1.0 record."""
    return cache_key(**{name: value for name, value in configuration.items() if name not in _OF_THE_MODEL})


def _fields(scenario: Scenario, settings: EIBenchSettings, source: Source) -> Mapping[str, Any]:
    """Return what an episode records of its run."""
    config_hash = _config_hash(_configuration(settings, source.providers))
    return {
        "config_hash": config_hash,
        "scenario_hash": fingerprint([scenario]),
        "prompt_hash": settings.prompts.hash,
        "provider": source.providers["model"],
        "simulator_provider": source.providers["simulator"],
    }


@contextmanager
def _results(
    folder: Path, scenarios: Sequence[Scenario], settings: EIBenchSettings, servers: Mapping[Role, Endpoint]
) -> Iterator[None]:
    """Refuse a folder of another configuration; write the results of the complete episodes in the end."""
    configuration = _configuration(settings, {role: server.provider for role, server in servers.items()})
    _check_configuration(folder, configuration)
    content: dict[str, Any] = {"config_hash": _config_hash(configuration), "configuration": configuration}
    write_whole(folder / _CONFIGURATION, [json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"])
    try:
        yield
    finally:
        hashes = (content["config_hash"], _config_hash_with_seed(configuration))
        _write_results(folder, scenarios, settings, hashes)


TASK: Task[Scenario, EIBenchSettings] = Task(
    name="eibench",
    calls=lambda scenario, settings, _: planned_calls(scenario, settings),
    play=run_episode,
    tries=lambda _: TRIES,
    unusable=unplayable,
    settings=_settings,
    unit="scenario",
    file_name=_file_name,
    folder=_folder,
    fields=_fields,
    recorded=lambda *_: {},  # A folder takes one configuration.
    results=_results,
)
"""Scenarios, and the episodes in which a model talks with the simulated person of each."""


def _check_configuration(folder: Path, configuration: Mapping[str, Any]) -> None:
    if not (folder / _EPISODES).is_dir():
        if (folder / _RESULTS).exists():
            raise RunError(f"{folder / _RESULTS} was not written by this runner; choose another folder")
        return
    path = folder / _CONFIGURATION
    try:
        before = read_json(path)["configuration"]
        asked = {**dict.fromkeys(WHERE_SET), **configuration}
        differ = {name: (before.get(name), now) for name, now in asked.items() if before.get(name) != now}
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise RunError(f"{path} does not say how the episodes of its folder were made; choose another folder") from None
    # A refusal is noted in the folder of the run, in which those of repeats are.
    if differ.get("answer_format") == ("schema", "free") and (noted_refusals(folder) or noted_refusals(folder.parent)):
        del differ["answer_format"]  # The run goes on without the schemas that its server refused.
    if differ:
        said = ", ".join(f"{name} {then!r}, here {now!r}" for name, (then, now) in differ.items())
        raise RunError(f"{folder} contains episodes of another configuration ({said}); choose another folder")


def _write_results(
    folder: Path, scenarios: Sequence[Scenario], settings: EIBenchSettings, hashes: tuple[str, str]
) -> None:
    paths = {folder / _file_name(one, settings): one for one in scenarios}
    made = [found for path, one in paths.items() if (found := _complete(path, one, hashes)) is not None]
    if not made:
        # Results of other scenarios, or of an older content or format of these, do not stay.
        for name in (_RESULTS, _SUMMARY):
            (folder / name).unlink(missing_ok=True)
        return
    write_whole(folder / _RESULTS, [line for line, _ in made])
    summary = model_summary(score(scenarios, [episode for _, episode in made]))
    for block in (summary["overall"], *summary["by_scene"].values()):
        block["goal_score"] = None
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
    write_whole(folder / _SUMMARY, [text.encode() + b"\n"])


def _complete(path: Path, scenario: Scenario, hashes: tuple[str, str]) -> tuple[bytes, Episode] | None:
    """Return an episode and its line, None where it is missing, or of an older content of its scenario or settings."""
    try:
        made: dict[str, Any] = read_json(path)
        if made["scenario_hash"] != fingerprint([scenario]) or made.get("config_hash", hashes[0]) not in hashes:
            return None
        if "config_hash" in made:
            made["config_hash"] = hashes[0]
        del made["run_key"]
    except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
        return None
    line = json.dumps(made, ensure_ascii=False).encode() + b"\n"
    try:
        return line, Episode.model_validate_json(line)
    except ValueError:
        raise RunError(f"{path} is no episode; remove it, and the same command makes it again") from None
