"""Runs of many episodes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attune_bench.benchmarks.attunebench.run_files import safe_name
from attune_bench.benchmarks.attunebench.running import synchronous
from attune_bench.benchmarks.eibench.flow import most_calls, run_episode
from attune_bench.benchmarks.eibench.scoring import episode_summary
from attune_bench.benchmarks.eibench.settings import EpisodeSettings
from attune_bench.runner.calls import Complete, Role
from attune_bench.runner.client import Sampling
from attune_bench.runner.engine import work_through
from attune_bench.runner.folder import RunError
from attune_bench.runner.jobs import Job, Options, Outcome, Watch
from attune_bench.runner.journal import key_of
from attune_bench.runner.providers import Endpoint
from attune_bench.stats.signing import fingerprint
from attune_data import Episode, Scenario
from attune_data.io.files import write_whole

__all__ = ["folder_of", "run_episodes", "run_episodes_sync"]

# Hidden from loading, which reads the results.
_EPISODES = "_episodes"
_CONFIGURATION = "_configuration.json"
_RESULTS = "results.jsonl"
_SUMMARY = "summary.json"
# Models are compared where all else is the same.
_OF_THE_MODEL = ("model", "temperature", "model_provider")


async def run_episodes(
    scenarios: Sequence[Scenario],
    settings: EpisodeSettings,
    endpoint: Endpoint,
    *,
    output: str | Path,
    simulator_endpoint: Endpoint | None = None,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Let a model talk with the simulated person of each scenario, and write EIBench's ``results.jsonl``.

    Parameters
    ----------
    scenarios : sequence of Scenario
        Each once.
    settings : EpisodeSettings
        Who talks with whom, and how.
    endpoint : Endpoint
        Where the model is served.
    output : str or Path
        Folder, created where it does not exist, in which the model has its own: its name with ``_`` for ``/``. There
        ``results.jsonl`` holds the finished episodes of these scenarios in their order, ``summary.json`` what
        `attune_bench.benchmarks.eibench.scoring.episode_summary` gives of them, a hidden journal all answers, and
        hidden files the episodes, by which a run goes on where it was stopped. Both results are also written where a
        run is interrupted; after a kill the same call writes them.
    simulator_endpoint : Endpoint, optional
        Where the simulator is served; by default as the model.
    options : Options, optional
        How the run is made; by default with 8192 tokens of an answer at most.
    watch : callable, optional
        Given the `Meter` twice a second, and at the end.

    Returns
    -------
    Outcome
        What is finished and what is not. The latter is also in ``_skipped_<model>.json``.

    Raises
    ------
    RunError
        As of `run`; or the folder holds episodes of another configuration, or what this runner did not write.
    PriceError
        The cost is limited and a price, or that of an earlier answer, is not known.
    ImportError
        httpx2 is not installed.

    Notes
    -----
    The protocol is that of EIBench's released evaluation, reflection before each reply included, apart from this:

    - The instructions of the simulator, and those about reflection, are our own, in English and Chinese. Numbers are
      comparable for one simulator and one version of these instructions only.
    - In a charm episode, where the model speaks first, one fixed line of a user stands before its words in every
      request; the benchmark's code sends it in the first only, and then conversations that some servers refuse.
    - A call that fails however often it is tried is no empty reply, which would be scored: the episode has no line in
      the results, is listed as skipped, and is tried again by the same call.
    - Of the model's output nothing is said aloud that stands in a ``<think>`` which is never closed, or before a
      ``</think>`` which was never opened. Reasoning that a server gives apart from the answer is not used.
    - The simulator is asked for an answer of a JSON schema, where its server takes one. Repairs of an answer leave
      its texts alone.
    - The judgement with which a person fell silent stands in the history, as an utterance without words.
    - ``stop_reason`` in the last utterance tells a stop of the simulator from a silence, both ``simulator_stop``.

    As there, a ``continue`` stops only where it is ``no``, so that ``false`` does not; ``meta.continue`` tells what was
    said. An object that was cut off before its reply is a silence. The last reply of a charm episode is not judged,
    unless `EpisodeSettings.judge_all` is set.
    """
    if not scenarios:
        raise RunError("there are no scenarios to run")
    how = options or Options(max_tokens=8192)
    servers: dict[Role, Endpoint] = {"model": endpoint, "simulator": simulator_endpoint or endpoint}
    configuration = settings.provenance() | {"max_tokens": how.max_tokens}
    configuration |= {f"{role}_provider": server.provider for role, server in servers.items()}
    config_hash = key_of(**{name: value for name, value in configuration.items() if name not in _OF_THE_MODEL})
    jobs = [_job(scenario, settings, how, config_hash) for scenario in scenarios]
    folder = folder_of(settings.model, output)
    results = _results(folder, scenarios, jobs, configuration, config_hash)
    return await work_through(jobs, servers, folder, how, watch, within=results)


run_episodes_sync = synchronous(run_episodes)


def folder_of(model: str, output: str | Path) -> Path:
    """Return the folder of a model.

    Examples
    --------
    >>> folder_of("vendor/large:free", "results").as_posix()
    'results/vendor_large-free'
    """
    return Path(output, safe_name(model.split("/"), model))


def _job(scenario: Scenario, settings: EpisodeSettings, options: Options, config_hash: str) -> Job:
    content = fingerprint([scenario])

    async def make(complete: Complete) -> Episode:
        made = await run_episode(scenario, complete, settings=settings)
        return made.model_copy(update={"config_hash": config_hash, "scenario_hash": content})

    return Job(
        conversation_id=scenario.id,
        model=settings.model,
        mode=None,
        name=f"{_EPISODES}/{safe_name([scenario.id], scenario.id)}.json",
        provenance=settings.provenance(),
        depends_on={"content": content, "config_hash": config_hash},
        sampling={
            "model": Sampling(settings.temperature, settings.seed, options.max_tokens),
            "simulator": Sampling(settings.simulator_temperature, settings.seed, options.max_tokens),
        },
        models=(settings.model, settings.simulator),
        calls=most_calls(scenario, settings),
        make=make,
    )


@contextmanager
def _results(
    folder: Path, scenarios: Sequence[Scenario], jobs: Sequence[Job], configuration: Mapping[str, Any], config_hash: str
) -> Iterator[None]:
    """Refuse a folder of another configuration; write the results of what is finished in the end, whatever it is."""
    _check_configuration(folder, configuration)
    content = {"config_hash": config_hash, "configuration": configuration}
    write_whole(folder / _CONFIGURATION, [json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"])
    try:
        yield
    finally:
        _write_results(folder, scenarios, jobs)


def _check_configuration(folder: Path, configuration: Mapping[str, Any]) -> None:
    if not (folder / _EPISODES).is_dir():
        if (folder / _RESULTS).exists():
            raise RunError(f"{folder / _RESULTS} was not written by this runner; choose another folder")
        return
    path = folder / _CONFIGURATION
    try:
        there = json.loads(path.read_bytes())["configuration"]
        differ = {name: (there.get(name), now) for name, now in configuration.items() if there.get(name) != now}
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise RunError(f"{path} does not say how the episodes there were made; choose another folder") from None
    if differ:
        said = ", ".join(f"{name} {before!r}, here {now!r}" for name, (before, now) in differ.items())
        raise RunError(f"{folder} holds episodes of another configuration ({said}); choose another folder")


def _write_results(folder: Path, scenarios: Sequence[Scenario], jobs: Sequence[Job]) -> None:
    made = [found for job in jobs if (found := _finished(folder / job.name, job)) is not None]
    if not made:
        # What is there is of other scenarios, or of an older content of these.
        for name in (_RESULTS, _SUMMARY):
            (folder / name).unlink(missing_ok=True)
        return
    write_whole(folder / _RESULTS, [line for line, _ in made])
    summary = episode_summary([episode for _, episode in made], scenarios)
    for block in (summary["overall"], *summary["by_scene"].values()):
        block["goal_score"] = None
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
    write_whole(folder / _SUMMARY, [text.encode() + b"\n"])


def _finished(path: Path, job: Job) -> tuple[bytes, Episode] | None:
    """Return an episode and its line, None where there is none, or one of an older content of its scenario."""
    try:
        made: dict[str, Any] = json.loads(path.read_bytes())
        if made["scenario_hash"] != job.depends_on["content"]:
            return None
        del made["run_key"]
    except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
        return None
    line = json.dumps(made, ensure_ascii=False).encode() + b"\n"
    try:
        return line, Episode.model_validate_json(line)
    except ValueError:
        raise RunError(f"{path} is no episode; remove it, and the same command makes it again") from None
