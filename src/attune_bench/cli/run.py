"""The command `run`, and what every command that asks models shares."""

import asyncio
import json
import shlex
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

import click

from attune_bench import Scores
from attune_bench.benchmarks import BENCHMARKS
from attune_bench.cli.analysis_options import mixed_option, number_of_looks
from attune_bench.cli.options import (
    all_of,
    benchmark_option,
    option,
    output_option,
    own_options,
    verb,
    was_given,
    where_option,
    where_traits,
)
from attune_bench.cli.output import (
    UserError,
    check_output,
    check_page,
    command_line,
    emit,
    first_issue,
    kind_of,
    mistakes,
    page_progress,
    progress,
    say,
    validate_command,
    write_page,
)
from attune_bench.cli.scoring import print_ranking, say_alone, score_sources
from attune_bench.cli.sources import baselines_option, benchmark_of, check_baselines, load
from attune_bench.cli.stopping import process
from attune_bench.cli.until import Until, until
from attune_bench.runner import RunError, RunOptions, RunOutcome, RunSettings
from attune_bench.runner import run as run_task
from attune_bench.runner.cache import ReplaceError, note_server, note_source
from attune_bench.runner.calls import (
    OPENAI_COMPATIBLE,
    USUAL_URLS,
    Endpoint,
    Provider,
    ProviderError,
    Role,
    endpoint,
    provider_name,
)
from attune_bench.runner.cost import (
    PROBE,
    Job,
    PriceError,
    calls_within,
    check_limited,
    estimate,
    estimate_text,
    read_prices,
)
from attune_bench.runner.pairs import Judged, Pairing, judge_pairs, matches_with, most_calls, planned_calls
from attune_bench.runner.running import check_results, for_roles, jobs_of, listed_settings, prepare, roles_of
from attune_bench.runner.task import Task
from attune_bench.runner.terminal import progress_line, report_outcome, warn
from attune_bench.scores.benchmark import Benchmark, temperature
from attune_data.collection import Collection
from attune_data.io.documents import parse_json
from attune_data.issues import count_severities
from attune_data.references import resolve
from attune_data.text import listed, plural, sanitize

T = TypeVar("T")

_DECODING = ("seed", "temperature", "max_tokens", "reasoning_effort", "extra_body")
_SECRET = ("api_key", "base_url")
_REPLACES = "--replace lets it do so, another --output keeps both"


class _DataArgument(click.Argument):
    """The argument DATA; where it is missing, says which of the three arguments was probably left out."""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value."""
        model = ctx.params.get("model")
        if model is not None and self.value_is_missing(value) and not ctx.resilient_parsing:
            raise click.UsageError(_missing_argument(ctx.command_path, ctx.params["provider"], model), ctx)
        return super().process_value(ctx, value)


def _missing_argument(command: str, provider: str, model: str) -> str:
    """Say that one of PROVIDER, MODEL and DATA is missing, where only two arguments were given."""
    if provider not in get_args(Provider):
        if near := get_close_matches(provider.lower(), get_args(Provider), n=1, cutoff=0.8):
            return f"no provider {provider!r}, did you mean {near[0]!r}? {_missing_argument(command, near[0], model)}"
        words = f"{command} local {shlex.join([provider, model])}"
        read = f"{provider} is read as PROVIDER and {model} as MODEL, and DATA is missing"
        return f"{read}; is the provider missing? Write: {words}"
    if model == "demo" or model.startswith("hf://") or Path(model).exists():
        words = f"{command} {provider} MODEL {shlex.quote(model)}"
        return f"{model} is read as MODEL, and DATA is missing; is the name of the model missing? Write: {words}"
    return f"DATA is missing; name the data, for instance: {command} {provider} {shlex.quote(model)} demo"


model_arguments = all_of(click.argument("provider"), click.argument("model"), click.argument("data", cls=_DataArgument))
limit_option = option("--limit", "Only the first so many.", click.IntRange(min=1))


def _token_limit(text: str) -> int | None:
    """Return the value of `--max-tokens`, None for the server's own."""
    try:
        return None if text == "server" else int(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a whole number nor server") from None


def _json_object(text: str) -> dict[str, Any]:
    """Return the value of an option that is a JSON object."""
    try:
        value = parse_json(text.encode("utf-8", "surrogateescape"))
    except ValueError:
        value = None
    if not isinstance(value, dict):  # What is in it may be a secret, and is not repeated.
        raise ValueError("no JSON object; expected one such as '{\"top_p\": 0.9}'")
    return value


decoding_options = all_of(
    option("--free-json", "Send no JSON schema, and retry an unreadable answer twice.", bool, folded=True),
    option("--seed", "Sent with every call.", int, folded=True),
    option(
        "--temperature",
        "Sent with every call, or server for the server's own; by default the benchmark's own.",
        temperature,
    ),
    option(
        "--max-tokens",
        "The most tokens of an answer; by default the benchmark's own. With server none is sent, and judges and "
        "simulators of a run keep the benchmark's own.",
        _token_limit,
        folded=True,
    ),
    option(
        "--reasoning-effort",
        "Sent as reasoning_effort, such as low; not to judges and simulators of a run. By default not sent.",
        folded=True,
    ),
    option(
        "--extra-body",
        "Further parameters of a call, as a JSON object; judges and simulators of a run do not get them. Written to "
        "the results.",
        _json_object,
        folded=True,
    ),
)
"""The options of any benchmark that say how it is answered."""

prices_option = option(
    "--prices",
    "TOML or JSON: per model a table of input and output, US dollars for a million tokens.",
    Path,
    folded=True,
)
asking_options = all_of(
    option("--concurrency", "The most calls at once. [default: 8]", int, folded=True),
    option("--call-timeout", "Seconds for one try of a call. [default: 120]", float, folded=True),
    option("--max-cost", "US dollars that all calls of the folder may cost at most.", float),
    option("--replace", "Replace finished results of other settings in the folder without asking.", bool, folded=True),
    prices_option,
    decoding_options,
    option(
        "--base-url",
        "URL of an OpenAI-compatible server, such as http://localhost:8000/v1; ollama, vllm and lmstudio have a usual "
        "one.",
    ),
    option(
        "--api-key",
        "The key of the provider; other users of the machine can read it in the command. Better set it in the "
        "environment.",
        folded=True,
    ),
)
"""The options of all commands that ask models."""


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn what the user can mend into one line; say when it is stopped by a signal."""
    # The terminal has put ^C behind the line of progress.
    below = "\n" if sys.stderr.isatty() else ""
    process.words = f"{below}attune-bench: stopped; the same command goes on from here\n"
    try:
        yield
        process.words = ""
    except (RunError, ProviderError, PriceError) as error:
        raise UserError(str(error)) from None


def decoding(ctx: click.Context) -> dict[str, Any]:
    """Return the settings of any benchmark that say how it is answered, as far as they were given."""
    given = {name: ctx.params[name] for name in _DECODING if was_given(ctx, name)}
    return given | ({"answer_format": "free"} if ctx.params["free_json"] else {})


def task_of(benchmark: Benchmark) -> Task[Any, Any]:
    """Return how a benchmark asks.

    Raises
    ------
    UserError
        Where it asks nothing.
    """
    if benchmark.task is None:
        raise UserError(f"{benchmark.title} cannot be run; attune-bench score scores its published results")
    task: Task[Any, Any] = resolve(benchmark.task)
    return task


def settings_and_roles(
    task: Task[Any, Any], model: str, decoding: Mapping[str, Any], own: Mapping[str, Any]
) -> tuple[list[RunSettings], list[Role]]:
    """Return the settings that options ask for, and the roles that are asked in them."""
    with mistakes():
        each: list[RunSettings] = listed_settings(task.settings(model, **decoding, **own))
    return each, roles_of(each)


def load_units(source: str, benchmark: Benchmark, limit: int | None = None, **traits: Any) -> Collection[Any]:
    """Return the units of a run: the records of a source, or its records with some traits.

    Raises
    ------
    UserError
        Where there is none.
    """
    kind, see = kind_of(benchmark.units), f"see: {validate_command([source], benchmark=benchmark)}"
    units = load(kind, [source])
    if left_out := count_severities(units.found)["error"]:
        warn(f"{plural(left_out, 'error')} in the files{first_issue(units.found)}; {see}")
    if traits:
        with mistakes():
            units = units.where(**traits)
    if not units:
        of_traits = f" with {units.asked}" if traits else ""
        raise UserError(f"no usable {kind.noun} in {source}{of_traits}{first_issue(units.found)}; {see}")
    return units[:limit]


def print_estimate(
    task: Task[Any, Any],
    units: Sequence[Any],
    each: Sequence[RunSettings],
    *,
    providers: Mapping[Role, str],
    options: RunOptions,
    output: Path,
    repeats: int = 1,
) -> list[Job]:
    """Print the number of calls, of tokens and the cost of a run into a folder; warn of results it would replace.

    Returns the jobs of the run.
    """
    check_limited(options.max_cost, (one for own in each for one in own.decoding.values()))
    named: Mapping[str, str] = getattr(units, "files", {})
    folder, units = prepare(task, units, each, output)
    jobs = jobs_of(task, units, each, for_roles(each, providers), named, repeats)
    try:
        check_results(jobs, folder, options)
    except ReplaceError as error:
        warn(f"{error}; {_REPLACES}")
    once = [task.planned(unit, own) for unit in units for own in each]
    files = once * repeats
    calls = [call for file in files for call in file]
    again = task.tries(each[0]) - 1
    conditions = f" in {plural(len(each), 'condition')}" if len(each) > 1 else ""
    times = f", {repeats} times" if repeats > 1 else ""
    tries = "one" if again == 1 else f"up to {again}"
    more = f", and {tries} more for each answer that cannot be read" if again else ""
    say(f"{plural(len(units), task.unit)}{conditions}{times}: {plural(len(calls), 'call')} at most{more}")
    decoding, prices, limit = each[0].decoding, options.prices, options.max_cost
    say(estimate_text(estimate(calls, decoding), prices))
    if probes := [call for call in calls if call.schema_name == PROBE]:
        say("of these, probes, on which no score depends:")
        say(estimate_text(estimate(probes, decoding), prices))
    if limit is None or not {call.model for call in calls} <= prices.keys():
        return jobs
    within = calls_within(calls, decoding, prices, limit)
    if within < len(calls):
        ends = list(accumulate(map(len, files)))
        # A unit is finished with the last of its settings in the last repeat.
        done = sum(end <= within for end in ends[-len(once) :][len(each) - 1 :: len(each)])
        stops = f"--max-cost {limit:g} stops the run after about {within:,} of {plural(len(calls), 'call')}"
        say(f"{stops}, with {done:,} of {plural(len(units), task.unit)} finished")
    return jobs


def providers_of(provider: str, roles: Sequence[Role], own: Mapping[str, Any]) -> dict[Role, str]:
    """Return who serves each role, from the arguments of `servers_of`."""
    return {role: provider_name(own.get(f"{role}_provider", provider)) for role in roles}


def servers_of(
    provider: str, given: Mapping[str, Any], roles: Sequence[Role], own: Mapping[str, Any]
) -> dict[Role, Endpoint]:
    """Return the server of each role.

    Parameters
    ----------
    provider : str
        The provider of the model, and of each role that names no other.
    given : mapping
        The options of the command. ``base_url`` is the URL of the first OpenAI-compatible provider that has none of
        its own, and of every other without a usual URL; ``api_key`` is sent to the provider of the model alone.
    roles : sequence of str
        The roles that are asked.
    own : mapping
        The provider and the URL of roles, as ``judge_provider`` and ``judge_base_url``.

    Raises
    ------
    ProviderError
        A provider has no key (on a terminal the user is asked for it), or its URL cannot be used.
    """
    base_url, api_key = given["base_url"], given["api_key"]
    if api_key is not None:
        warn("--api-key can be read by other users of this machine; better set it in the environment")
    ask: Callable[[str], str] | None = None
    if _is_terminal():
        from getpass import getpass as ask
    providers = {role: own.get(f"{role}_provider", provider) for role in ["model", *roles]}
    compatible = {role: name for role, name in providers.items() if provider_name(name) == OPENAI_COMPATIBLE}
    if base_url and not compatible:
        named = " and ".join(dict.fromkeys(providers.values()))
        raise ProviderError(f"--base-url is for the provider {OPENAI_COMPATIBLE}, and this is {named}; leave it out")
    without_own = [name for role, name in compatible.items() if not own.get(f"{role}_base_url")]
    at_base_url = {*without_own[:1], *(name for name in without_own if name not in USUAL_URLS)}
    shared: dict[str, Endpoint] = {}
    servers: dict[Role, Endpoint] = {}
    for role, name in providers.items():
        if own_url := own.get(f"{role}_base_url"):
            servers[role] = endpoint(name, base_url=own_url, ask=ask)
            continue
        if name not in shared:
            url, key = base_url if name in at_base_url else None, api_key if role == "model" else None
            shared[name] = endpoint(name, base_url=url, api_key=key, ask=ask)
        servers[role] = shared[name]
    return servers


def _is_terminal() -> bool:
    """Tell whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def take_server_options(benchmark: Benchmark, own: dict[str, Any]) -> dict[str, Any]:
    """Take from a benchmark's options those that name the servers of its roles, which its task does not get."""
    return {one.name: own.pop(one.name) for one in benchmark.options if one.role and one.name in own}


def check_asking(provider: str, roles: Sequence[Role], own: Mapping[str, Any]) -> None:
    """Refuse what cannot be asked, before anything is: options of a role that is not asked, the provider."""
    for name in own:
        role = name.removesuffix("_base_url").removesuffix("_provider")
        if role not in roles:
            flag, hint = name.replace("_", "-"), f"name one with --{role.replace('_', '-')}-model"
            raise UserError(f"--{flag} is given but no {role.replace('_', ' ')}; {hint}")
    provider_name(provider)


def run_options(given: Mapping[str, Any]) -> RunOptions:
    """Return how a run is made, of the options of a command; the file of prices is read here alone."""
    chosen = {name: given[name] for name in ("concurrency", "call_timeout") if given[name] is not None}
    known = read_prices(given["prices"]) if given["prices"] else {}
    with mistakes():
        return RunOptions(**chosen, max_cost=given["max_cost"], prices=known, replace=given["replace"])


def ask(
    ctx: click.Context,
    task: Task[Any, Any],
    units: Sequence[Any],
    settings: RunSettings | Sequence[RunSettings],
    servers: Mapping[Role, Endpoint],
    *,
    options: RunOptions,
    output: Path,
    source: str,
    made: str,
    benchmark: Benchmark | None,
    repeats: int = 1,
    report: Callable[[RunOutcome], object] | None = None,
    seen: Callable[[RunOutcome], object] = lambda _: None,
    stops: Until | None = None,
) -> int:
    """Run a task with the options of a command, say what came of it, and return the exit status.

    What was made is called `made`, and is scored as results of `benchmark`, where it is given. `report` is called with
    the outcome; without it the command that scores the results is named. `seen` is called with the outcome too.
    With `stops`, the run ends where a difference is decided.
    """
    options = replace(options, command=_command(ctx, servers, output))

    def execute(part: Any) -> RunOutcome:
        done = _execute(partial(run_task, task, part, settings, servers, output=output, repeats=repeats), options)
        if done.finished:
            note_source(output, source)
            # `rejudge` asks the servers of the run's judges, or else the server of its model.
            for role, server in servers.items():
                if role != "model" or len(servers) == 1:
                    note_server(output, server.provider, server.url)
        return done

    if stops is None or benchmark is None:
        outcome = execute(units)
    else:
        forced = None if benchmark in BENCHMARKS else ctx.params["benchmark"]
        outcome = stops.run(cast("Collection[Any]", units), execute, partial(_scores_of, benchmark, source, forced))
    status = report_outcome(outcome, made)
    seen(outcome)
    if report is not None:
        report(outcome)
    elif outcome.finished and not outcome.is_unreadable and benchmark is not None:
        forced = {} if benchmark in BENCHMARKS else {"--benchmark": ctx.params["benchmark"]}
        data = None if benchmark.data is None else source
        line = command_line("score", (), {"--results": outcome.folder, "--data": data, **forced})
        emit(f"next: {line}")
    return status


def _scores_of(benchmark: Benchmark, data: str, name: str | None, folder: Path) -> Scores:
    """Return the scores of the results in a folder."""
    with progress() as phase:
        return score_sources(benchmark, [str(folder)], data, phase, name=name).scores


def _execute(asking: Callable[..., Coroutine[Any, Any, T]], options: RunOptions) -> T:
    """Run a coroutine of a run with a line of progress; ask before it replaces results of other settings."""

    def execution(options: RunOptions) -> T:
        with progress_line() as watch:
            return _run(asking(options=options, watch=watch))

    try:
        return execution(options)
    except ReplaceError as error:
        keeps = "another --output keeps both"
        if not _is_terminal():
            raise UserError(f"{error}; {_REPLACES}") from None
        try:
            agreed = click.confirm(f"attune-bench: {sanitize(str(error))}; {keeps}. Replace?", err=True)
        except click.Abort:  # of a signal, or of an end of input, which is no answer
            if process.stopped:
                raise
            agreed = False
        if not agreed:
            raise UserError(f"nothing was replaced; {keeps}") from None
        return execution(replace(options, replace=True))


def _run(running: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, which the first signal cancels."""

    async def stoppable() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - for the type checker
        before, process.react = process.react, lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return await running
        finally:
            process.react = before

    made = asyncio.run(stoppable())
    if process.stopped:  # after the last call, when nothing was left to cancel
        raise KeyboardInterrupt
    return made


def _command(ctx: click.Context, servers: Mapping[Role, Endpoint], output: Path) -> str:
    """Return the command line that repeats a command, without keys."""
    arguments: list[str] = []
    options: dict[str, Any] = {}
    for param in ctx.command.get_params(ctx):
        name = param.name or ""
        if not was_given(ctx, name):
            continue
        value = ctx.params[name]
        if isinstance(param, click.Argument):
            arguments.append(str(value))
        elif (role := name.removesuffix("_base_url")) != name and role in servers:
            options[param.opts[0]] = servers[role].url
        elif name not in _SECRET:
            # What was given as "server" is None.
            said = "server" if value is None else json.dumps(value) if isinstance(value, dict) else value
            options[param.opts[0]] = () if value is True else said
    if ctx.params["base_url"]:
        # The URL of the first OpenAI-compatible server, which need not serve the model.
        known = (server.url for server in servers.values() if server.provider == OPENAI_COMPATIBLE)
        options["--base-url"] = next(known, None)
    options.setdefault("--output", output)
    return command_line(ctx.info_name or "", tuple(arguments), options)


@verb(
    "run local my-model demo --dry-run",
    "run local MODEL demo --base-url http://localhost:8000/v1 --limit 8 --html page.html",
    own="run",
)
@model_arguments
@output_option("Folder of the results and of all responses, by which a run goes on.", default="results")
@limit_option
@where_option
@benchmark_option("A benchmark, or module:NAME; by default the data tell.")
@option(
    "--repeats",
    "Number of repeats, each with a --seed 1,000 higher; see docs/repeats.md.",
    click.IntRange(min=1),
    default=1,
    folded=True,
)
@option(
    "--pairs",
    "Then have the judge compare answers of MODEL with answers of other models in the folder, in at most so many "
    "calls, until their order is decided; into OUTPUT-pairs.",
    click.IntRange(min=2),
    folded=True,
)
@option(
    "--against",
    "Scores of another model on the same data, with which a run --until-decided is compared.",
    Path,
    metavar="SCORES",
    folded=True,
)
@option(
    "--until-decided",
    "A metric: run participants in a random order, compare MODEL with the model of --against as --looks says, and stop "
    "where the difference is decided.",
    metavar="METRIC",
    folded=True,
)
@option("--against-model", "Which model of --against, where there are several.", folded=True)
@option(
    "--looks",
    "For --until-decided: how often the models are compared, up to 20 times, or any, for any number of times; by "
    "default 4.",
    number_of_looks,
    folded=True,
)
@mixed_option
@option("--dry-run", "Print the number of calls, tokens and the cost, and send nothing.", bool)
@option("--html", "Score what the folder has in the end, and write this page of it.", Path)
@baselines_option
@asking_options
@click.pass_context
def run(
    ctx: click.Context,
    /,
    provider: str,
    model: str,
    data: str,
    output: Path,
    limit: int | None,
    where: tuple[str, ...],
    benchmark: str | None,
    repeats: int,
    pairs: int | None,
    against: Path | None,
    until_decided: str | None,
    against_model: str | None,
    looks: int | Literal["any"] | None,
    allow_mixed: bool,
    dry_run: bool,
    html: Path | None,
    baselines: bool,
    **given: Any,
) -> int:
    """Ask MODEL, served by PROVIDER, what the benchmark of DATA asks, and write its results.

    PROVIDER is openrouter, openai, prime; ollama, vllm, lmstudio for a server of your own at its usual address; or
    openai-compatible (local is the same) for any server of the OpenAI protocol with --base-url. MODEL is its name
    there; DATA a folder, a file, an archive, hf://owner/name, or demo.

    The same command again goes on where it was stopped; nothing that was answered is asked for again. Exits with 1
    where something could not be finished.
    """
    chosen = benchmark_of(benchmark, data, "units")
    own = own_options(ctx, chosen, given)
    task = task_of(chosen)
    made = kind_of(chosen.results)
    if repeats > 1 and "repeat" not in made.model.model_fields:
        raise UserError(f"{made.plural} of {chosen.title} have no field repeat; each repeat needs a folder of its own")
    if html is not None:
        check_page(html, [data])
    if baselines:
        check_baselines(chosen)
        if html is None:
            raise UserError("--baselines is for the page; give --html FILE too")
    stops = until(model, against, until_decided, against_model, looks, chosen, allow_mixed=allow_mixed)
    if stops is not None and pairs is not None:
        raise UserError("--pairs judges answers to all units, and --until-decided may leave some out; leave one out")
    with usage_errors():
        of_servers = take_server_options(chosen, own)
        check_output(output, data)
        each, roles = settings_and_roles(task, model, decoding(ctx), own)
        check_asking(provider, roles, of_servers)
        pairing, most = None if pairs is None else pairing_of(chosen), pairs or 0
        if pairing is not None:
            with mistakes():
                judge = pairing.settings(each[0])
        options = run_options(given)
        units = load_units(data, chosen, limit, **where_traits(where))
        if stops is not None:
            units = stops.scored_units(units)
        if dry_run:
            providers = providers_of(provider, ["model", *roles], of_servers)
            jobs = print_estimate(
                task, units, each, providers=providers, options=options, output=output, repeats=repeats
            )
            if stops is not None:
                stops.warn_of_settings(jobs)
            if pairing is not None:
                answered = load(made, [str(output)]) if any(output.glob("[!._]*.json")) else []
                most = most_calls(model, units, answered, resolve(chosen.row), repeats=repeats, calls=most)
                say(f"then at most {plural(most, 'call')} about pairs, and one more for an answer that cannot be read")
                planned = planned_calls(pairing, task, units, each[0], most)
                say(estimate_text(estimate(planned, judge.decoding), options.prices))
            return 0
        servers = servers_of(provider, given, roles, of_servers)
        outcomes: list[RunOutcome] = []
        report = None if html is None else partial(_write_report, html, data, chosen, benchmark, baselines)
        status = ask(
            ctx, task, units, each, servers, options=options, output=output, source=data, made=made.noun,
            benchmark=chosen, repeats=repeats, report=report, seen=outcomes.append, stops=stops,
        )  # fmt: skip
        if pairing is None or outcomes[0].stopped:
            return status
        found = load(made, [str(output)])
        matches = matches_with(model, units, found, resolve(chosen.row))
        folder = output.with_name(f"{output.name}-pairs")
        options = replace(options, command=_command(ctx, servers, output))
        asking = partial(judge_pairs, pairing, matches, judge, servers["judge"], model=model, calls=most, output=folder)
        return max(status, _say_judged(_execute(asking, options), pairing, model, most, folder))


def pairing_of(benchmark: Benchmark) -> Pairing[Any]:
    """Return how a judge compares two answers of a benchmark.

    Raises
    ------
    UserError
        Where answers of the benchmark are not compared.
    """
    if benchmark.pairs is None:
        others = listed([one.title for one in BENCHMARKS if one.pairs is not None])
        raise UserError(f"--pairs: answers of {benchmark.title} are not judged in pairs; answers of {others} are")
    found: Pairing[Any] = resolve(benchmark.pairs)
    return found


def _say_judged(judged: Judged, pairing: Pairing[Any], model: str, calls: int, folder: Path) -> int:
    """Say what came of judging a model in pairs, and return the exit status."""
    status = 0 if judged.outcome is None else report_outcome(judged.outcome, pairing.kind.noun)
    if not judged.opponents:
        why = "the folder has no answers of another model that its own can be compared with"
        warn(f"{model} was not judged in pairs: {why}")
        return status
    against = listed([*judged.undecided], 3)
    made = f"{judged.verdicts:,} of {plural(calls, 'call')}"
    if not judged.undecided:
        say(f"{model}: its order with {plural(len(judged.opponents), 'other model')} is decided, after {made}")
    else:
        why = "every answer of theirs is judged" if judged.is_exhausted else f"after {made}"
        more = "" if status or judged.is_exhausted else "; a larger --pairs goes on"
        say(f"{model}: its order with {against} is not decided, {why}{more}")
    if judged.outcome is not None and judged.outcome.finished and not judged.outcome.is_unreadable:
        emit(f"next: {command_line('report', (), {'--results': folder})}")
    return status


def _write_report(
    html: Path, data: str, benchmark: Benchmark, name: str | None, baselines: bool, outcome: RunOutcome
) -> None:
    """Score the results in the folder of a run, write a page of them, and print how the models compare."""
    if not outcome.finished or outcome.is_unreadable:
        warn(f"{html} is not written: {'no answer could be read' if outcome.finished else 'nothing is finished'}")
        return
    folder = str(outcome.folder)
    with progress() as phase:
        scored = score_sources(benchmark, [folder], data, phase, name=name, baselines=baselines)
    try:
        with page_progress() as begin:
            text = scored.scores.report(format="html", data=scored.data, results=scored.made, progress=begin)
    except ValueError as error:
        flags = {"--baselines": baselines, "--small-cells": "--small-cells" in str(error)}
        reference = None if scored.data is None else data
        options: dict[str, Any] = {"--results": folder, "--data": reference, "--benchmark": name, "--html": html}
        options |= {flag: () for flag, is_needed in flags.items() if is_needed}
        other = f"try {command_line('report', (), options)}"
        if outcome.skipped:
            other = f"the same command goes on, and writes the page of all; or {other}"
        raise UserError(f"{html} is not written: {error}; {other}") from None
    write_page(html, text)
    if outcome.skipped:
        every = outcome.finished + len(outcome.skipped)
        say(f"{html} is of {outcome.finished:,} of {plural(every, outcome.meter.unit)}; the others are not finished")
    say_alone(scored)
    emit("")
    print_ranking(scored.scores)
