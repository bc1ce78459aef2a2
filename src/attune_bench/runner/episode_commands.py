"""The command `attune-bench eibench run`."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from attune_bench._usage import UsageError, emit, mistakes
from attune_bench.benchmarks.eibench.flow import most_calls, run_episode
from attune_bench.benchmarks.eibench.running import folder_of, run_episodes_sync
from attune_bench.benchmarks.eibench.settings import EpisodeSettings
from attune_bench.progress import progress
from attune_bench.runner._console import (
    Asking,
    Output,
    Provider,
    Temperature,
    command,
    endpoints,
    report,
    sent,
    shown,
    usage_errors,
    warn,
)
from attune_bench.runner.calls import Call
from attune_bench.runner.estimate import Estimate, estimate_text
from attune_data import Collection, Scenario, load_scenarios
from attune_data.eibench.scenario import Scene
from attune_data.extras import require
from attune_data.text import plural

__all__ = ["run"]


@dataclass(frozen=True, kw_only=True)
class _Asking(Asking):
    """Those options with EIBench's own defaults.

    Parameters
    ----------
    temperature
        Sent with the calls of the model; server for the server's own.
    max_tokens
        The most tokens of an answer.
    """

    temperature: Temperature = 0.7
    max_tokens: int = 8192


_DEFAULTS = _Asking()


def run(
    provider: Provider,
    model: str,
    source: str,
    /,
    *,
    simulator_model: str,
    simulator_provider: Provider | None = None,
    output: Output = Path("episodes"),
    scene: Annotated[tuple[Scene, ...], Parameter(consume_multiple=True, negative="")] = (),
    limit: int | None = None,
    max_rounds: int = 8,
    judge_all: Annotated[bool, Parameter(negative="")] = False,
    language: Literal["en", "zh"] | None = None,
    simulator_temperature: Temperature = 0.7,
    simulator_base_url: str | None = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    asking: _Asking = _DEFAULTS,
) -> int:
    """Let a model talk with the simulated person of each scenario, and write results.jsonl and summary.json.

    The same command again goes on where it was stopped; nothing that was answered is asked for again. Exits with 1
    where an episode could not be finished. Numbers are comparable for one simulator and one version of its
    instructions, which are our own, only.

    Parameters
    ----------
    provider
        Who serves the model; local is any server of the OpenAI protocol.
    model
        The model, as its provider names it.
    source
        Scenarios: a folder, a .jsonl file, an archive, hf://owner/name, or demo.
    simulator_model
        The model that plays the person and judges each reply.
    simulator_provider
        Who serves it; by default the provider of the model.
    output
        Folder; the model gets its own in it, with the results, and what a run needs to go on.
    scene
        Only these scenes.
    limit
        Only the first scenarios.
    max_rounds
        How often the person judges and answers at most.
    judge_all
        Judge the last reply of charm episodes too, which the benchmark leaves unjudged.
    language
        Of our instructions to both sides; by default Chinese for a scenario in Chinese, else English.
    simulator_temperature
        Sent with the calls of the simulator; server for the server's own.
    simulator_base_url
        URL of a local server of the simulator, where it is another.
    dry_run
        Print the number of calls, tokens and the cost, and send nothing.
    """
    with usage_errors():
        options = asking.options()
        with mistakes():
            settings = EpisodeSettings(
                model,
                simulator_model,
                max_rounds=max_rounds,
                judge_all=judge_all,
                language=language,
                seed=asking.seed,
                temperature=sent(asking.temperature),
                simulator_temperature=sent(simulator_temperature),
            )
        scenarios = _scenarios(source, scene, limit)
        if dry_run:
            calls = plural(sum(most_calls(scenario, settings) for scenario in scenarios), "call")
            again = "up to two more for each judgement that cannot be read"
            emit(f"{plural(len(scenarios), 'scenario')}: {calls} at most, and {again}")
            emit(estimate_text(_estimate(scenarios, settings, options.max_tokens), options.prices))
            return 0
        require("httpx2", "run")
        server, person = endpoints(provider, asking, simulator_provider, simulator_base_url, True)
        changed = {
            "--simulator-model": simulator_model,
            "--simulator-provider": simulator_provider,
            "--output": output,
            "--scene": scene or None,
            "--limit": limit,
            "--max-rounds": max_rounds,
            **({"--judge-all": ()} if judge_all else {}),
            "--language": language,
            "--simulator-temperature": simulator_temperature,
            **asking.changed(server, person),
            "--simulator-base-url": person.url if simulator_base_url else None,
        }
        options = replace(options, command=command("eibench", ("run", provider, model, source), changed))
        with shown() as watch:
            outcome = run_episodes_sync(
                scenarios,
                settings,
                server,
                output=output,
                simulator_endpoint=person,
                options=options,
                watch=watch,
            )
    folder = folder_of(model, output)
    status = report(outcome, folder, "episode")
    if outcome.finished:
        emit(f"next: {command('eibench', ('score', str(folder)), {'--data': source})}")
    return status


def _scenarios(source: str, scene: tuple[Scene, ...], limit: int | None) -> Collection[Scenario]:
    if limit is not None and limit < 1:
        raise UsageError(f"--limit is {limit}; expected a positive number")
    with progress() as phase:
        scenarios = load_scenarios(source, progress=phase("reading scenarios", None))
    left_out = [issue for issue in scenarios.found if issue.severity == "error"]
    if left_out:
        first = left_out[0]
        warn(f"{plural(len(left_out), 'error')} in the files; the first: {first.file} {first.path}: {first.message}")
    if scene:
        scenarios = scenarios.where(scene=list(scene))
    if not scenarios:
        kind = f" {' or '.join(scene)}" if scene else ""
        raise UsageError(f"no usable{kind} scenario in {source}")
    return scenarios[:limit]


def _estimate(scenarios: Collection[Scenario], settings: EpisodeSettings, max_tokens: int) -> dict[str, Estimate]:
    """Return the estimate of each model, from episodes in which both sides say next to nothing."""
    each: dict[str, Estimate] = {}
    for scenario in scenarios:
        calls: list[Call] = []

        async def complete(call: Call, _attempt: int, calls: list[Call] = calls) -> str:
            calls.append(call)
            return '{"reply": "."}'

        with suppress(ValueError):  # One that cannot be played makes no calls.
            asyncio.run(run_episode(scenario, complete, settings=settings))
        for coming, call in enumerate(calls):
            each.setdefault(call.model, Estimate()).add(call, max_tokens, coming)
    return each
