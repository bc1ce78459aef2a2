"""The command `attune-bench eibench run`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from attune_bench._asking import Asking, Output, Provider, Temperature, sent, usage_errors
from attune_bench._usage import UsageError, emit, mistakes
from attune_bench.benchmarks.eibench.flow import planned_calls
from attune_bench.benchmarks.eibench.settings import MAX_TOKENS, TEMPERATURE, EIBenchSettings
from attune_bench.benchmarks.eibench.task import TASK
from attune_bench.progress import progress
from attune_bench.runner import run_sync
from attune_bench.runner.command_line import command_line, endpoints
from attune_bench.runner.console import progress_line, report_outcome, warn
from attune_bench.runner.estimate import estimate, estimate_text
from attune_data import Collection, Scenario, load_scenarios
from attune_data.eibench.scenario import Scene
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

    temperature: Temperature = TEMPERATURE
    max_tokens: int = MAX_TOKENS


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
    simulator_temperature: Temperature = TEMPERATURE,
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
        Who serves the model; openai-compatible is any server of the OpenAI protocol (local is the same).
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
        URL of an OpenAI-compatible server of the simulator, where it is another.
    dry_run
        Print the number of calls, tokens and the cost, and send nothing.
    """
    with usage_errors():
        options = asking.options()
        with mistakes():
            settings = EIBenchSettings(
                model,
                simulator_model,
                max_rounds=max_rounds,
                judge_all=judge_all,
                language=language,
                simulator_temperature=sent(simulator_temperature),
                **asking.decoding(),
            )
        scenarios = _scenarios(source, scene, limit)
        if dry_run:
            planned = [call for scenario in scenarios for call in planned_calls(scenario, settings)]
            again = "up to two more for each judgement that cannot be read"
            emit(f"{plural(len(scenarios), 'scenario')}: {plural(len(planned), 'call')} at most, and {again}")
            emit(estimate_text(estimate(planned, settings.decoding), options.prices))
            return 0
        servers = endpoints(
            provider,
            base_url=asking.base_url,
            api_key=asking.api_key,
            role="simulator",
            role_provider=simulator_provider,
            role_base_url=simulator_base_url,
        )
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
            **asking.changed(servers.values()),
            "--simulator-base-url": servers["simulator"].url if simulator_base_url else None,
        }
        options = replace(options, command=command_line("eibench", ("run", provider, model, source), changed))
        with progress_line() as watch:
            outcome = run_sync(TASK, scenarios, settings, servers, output=output, options=options, watch=watch)
    status = report_outcome(outcome, "episode")
    if outcome.finished:
        emit(f"next: {command_line('eibench', ('score', str(outcome.folder)), {'--data': source})}")
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
