"""The commands that ask models: `attune-bench run`, `rejudge`, `profile`."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from cyclopts import Parameter

from attune_bench.cli import UsageError
from attune_data._extras import require
from attune_data._record import Mode
from attune_data._text import columns_of_terminal, plural, printable, shortened

if TYPE_CHECKING:
    from attune_bench.runner.engine import Outcome
    from attune_bench.runner.meter import Meter
    from attune_bench.runner.providers import Endpoint
    from attune_data import Collection, Conversation

__all__ = ["run"]

Provider = Literal["openrouter", "openai", "prime", "local"]
ModeName = Literal["default", "verbose", "omniscient", "verbose_omniscient", "all"]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]

_PLAIN_SECONDS = 30.0


def run(
    provider: Provider,
    model: str,
    source: str,
    /,
    *,
    modes: Annotated[tuple[ModeName, ...], Parameter(consume_multiple=True, negative="")] = ("default",),
    judge_model: Names = (),
    judge_provider: Provider | None = None,
    output: Output = Path("results"),
    limit: int | None = None,
    concurrency: int = 8,
    call_timeout: float = 120.0,
    max_cost: float | None = None,
    prices: Path | None = None,
    panas_strategy: Literal["absolute", "delta", "blind_delta"] = "absolute",
    seed: int | None = None,
    temperature: float | Literal["server"] = 0.0,
    max_tokens: int = 4096,
    codebook: Path | None = None,
    base_url: str | None = None,
    judge_base_url: str | None = None,
    api_key: str | None = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Ask a model the questions of the benchmark and write a run file for each conversation.

    The same command again goes on where it was stopped; nothing that was answered is asked for again. Exits with 1
    where a conversation could not be finished.

    Parameters
    ----------
    provider
        Who serves the model; local is any server of the OpenAI protocol.
    model
        The model, as its provider names it.
    source
        Conversations: a .json file, a .jsonl file, a folder, a zip or tar archive, or demo.
    modes
        What the model is shown and asked for; several, or all.
    judge_model
        Models that judge the drafts.
    judge_provider
        Who serves them; by default the provider of the model.
    output
        Folder for the run files and the journal.
    limit
        Only the first conversations.
    concurrency
        The most calls at once.
    call_timeout
        Seconds for one try of a call.
    max_cost
        US dollars that all answers in the folder may cost at most; needs the prices.
    prices
        TOML or JSON: per model a table of input and output, US dollars for a million tokens.
    panas_strategy
        How the PANAS after the conversation is asked for.
    seed
        Sent with every call.
    temperature
        Sent with every call; server for the server's own.
    max_tokens
        The most tokens of an answer.
    codebook
        The data set's own annotation_codebook.json, instead of the bundled questions.
    base_url
        URL of a local server, such as http://localhost:8000/v1.
    judge_base_url
        The same of the judges' server, where it is another.
    api_key
        The key; it can be read by other users of the machine, who see the command. Better set it in the environment.
    dry_run
        Print the number of calls, tokens and the cost, and send nothing.
    """
    from attune_bench.runner import Options, Settings, planned_calls, read_prices, run_sync
    from attune_bench.runner.estimate import estimate, estimate_text
    from attune_data import load_codebook

    with usage_errors():
        known = read_prices(prices) if prices else {}
        chosen = load_codebook(codebook)
        try:
            settings = [
                Settings(
                    model,
                    provider,
                    mode,
                    judge_model,
                    panas_strategy,
                    seed,
                    None if temperature == "server" else temperature,
                    chosen,
                )
                for mode in get_args(Mode)
                if "all" in modes or mode in modes
            ]
            options = Options(concurrency, call_timeout, max_tokens, max_cost, known)
        except ValueError as error:
            raise UsageError(str(error)) from None
        conversations = _loaded(source, limit)
        if dry_run:
            calls = [call for one in settings for each in conversations for call in planned_calls(each, one)]
            what = f"{plural(len(conversations), 'conversation')} in {plural(len(settings), 'mode')}"
            _print(f"{what}: {plural(len(calls), 'call')}, and one more for each answer that cannot be read")
            _print(estimate_text(estimate(calls, max_tokens), known))
            return 0
        require("httpx2", "run")
        server, judges = _endpoints(provider, base_url, api_key, judge_provider, judge_base_url, bool(judge_model))
        changed = {
            "--modes": modes if modes != ("default",) else None,
            "--judge-model": judge_model or None,
            "--judge-provider": judge_provider,
            "--output": output,
            "--limit": limit,
            "--concurrency": concurrency if concurrency != 8 else None,
            "--call-timeout": call_timeout if call_timeout != 120.0 else None,
            "--max-cost": max_cost,
            "--prices": prices,
            "--panas-strategy": panas_strategy if panas_strategy != "absolute" else None,
            "--seed": seed,
            "--temperature": temperature if temperature != 0.0 else None,
            "--max-tokens": max_tokens if max_tokens != 4096 else None,
            "--codebook": codebook,
            "--base-url": server.url if base_url else None,
            "--judge-base-url": judges.url if judge_base_url else None,
        }
        options = replace(options, command=_command("run", (provider, model, source), changed))
        with _shown() as watch:
            outcome = run_sync(
                conversations,
                settings,
                server,
                output=output,
                judge_endpoint=judges,
                options=options,
                watch=watch,
            )
    status = _report(outcome, output)
    if outcome.finished:
        _print(f"next: attune-bench score --results {output} --ground-truth {source}")
    return status


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn what the user can mend into one line; Ctrl-C too, with exit status 130."""
    from attune_bench.runner import PriceError, ProviderError, RunError
    from attune_data import CodebookError

    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write("attune-bench: stopped; the same command goes on from here\n")
        sys.exit(130)
    except ImportError as error:
        if "attune-bench[" not in str(error):
            raise
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from None
    except (RunError, ProviderError, PriceError, CodebookError) as error:
        raise UsageError(str(error)) from None


def _loaded(source: str, limit: int | None) -> "Collection[Conversation]":
    from attune_bench.progress import progress
    from attune_data import load

    if limit is not None and limit < 1:
        raise UsageError(f"--limit is {limit}; expected a positive number")
    with progress() as phase:
        conversations = load(source, progress=phase("reading conversations", None))
    left_out = sum(issue.severity == "error" for issue in conversations.found)
    if left_out:
        _warn(f"{plural(left_out, 'error')} in the files; see: attune-bench validate {source}")
    if not conversations:
        raise UsageError(f"no usable conversation in {source}; see: attune-bench validate {source}")
    return conversations[:limit]


def _endpoints(
    provider: Provider,
    base_url: str | None,
    api_key: str | None,
    judge_provider: Provider | None,
    judge_base_url: str | None,
    has_judges: bool,
) -> tuple["Endpoint", "Endpoint"]:
    """Return where the model and the judges are served."""
    from attune_bench.runner import endpoint

    if (judge_provider or judge_base_url) and not has_judges:
        raise UsageError("there is a provider of judges but no judge; name one with --judge-model")
    if api_key is not None:
        _warn("--api-key can be read by other users of this machine; better set it in the environment")
    ask: Callable[[str], str] | None = None
    if sys.stdin.isatty() and sys.stderr.isatty():
        from getpass import getpass as ask
    of_judges = judge_provider or provider
    if base_url and "local" not in (provider, of_judges):
        raise UsageError(f"{provider} has a URL of its own; --base-url is for local")
    server = endpoint(provider, base_url=base_url if provider == "local" else None, api_key=api_key, ask=ask)
    if of_judges == provider and judge_base_url is None:
        return server, server
    url = (judge_base_url or base_url) if of_judges == "local" else judge_base_url
    return server, endpoint(of_judges, base_url=url, api_key=api_key if of_judges == provider else None, ask=ask)


def _command(name: str, arguments: tuple[str, ...], options: dict[str, Any]) -> str:
    """Return a command line of what was parsed, so that no key can be in it."""
    words = ["attune-bench", name, *arguments]
    for option, value in options.items():
        if value is not None:
            words += [option, *(value if isinstance(value, tuple) else [str(value)])]
    return shlex.join(words)


@contextmanager
def _shown() -> Iterator[Callable[["Meter"], None]]:
    """Give what shows a meter: one line that changes on a terminal, else a line every half a minute."""
    stream, is_terminal, shown = sys.stderr, sys.stderr.isatty(), monotonic()

    def show(meter: "Meter") -> None:
        nonlocal shown
        if is_terminal:
            stream.write(f"\r{shortened(meter.text(), columns_of_terminal() - 1)}\x1b[K")
            stream.flush()
        elif monotonic() - shown > _PLAIN_SECONDS:
            shown = monotonic()
            stream.write(f"{meter.text()}\n")
            stream.flush()

    try:
        yield show
    finally:
        if is_terminal:
            stream.write("\n")


def _report(outcome: "Outcome", output: Path) -> int:
    """Print what came of a run; return the exit status."""
    before = f", {outcome.earlier} of them from before" if outcome.earlier else ""
    _print(f"{output}: {plural(outcome.finished, 'file')}{before}")
    if outcome.meter.answers:
        _print(outcome.meter.text())
    if outcome.stopped is not None:
        _warn(f"stopped: {outcome.stopped}")
    for skipped in outcome.skipped[:3]:
        _warn(f"{skipped.conversation_id} ({skipped.mode}): {skipped.reason}")
    if outcome.skipped:
        count = plural(len(outcome.skipped), "conversation")
        _warn(f"{count} not finished, listed in {output}/_skipped_*.json; the same command tries again")
    return int(bool(outcome.skipped))


def _warn(text: str) -> None:
    sys.stderr.write(f"attune-bench: {printable(text)}\n")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
