"""What the commands that ask models share: options, progress, what is said at the end."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from attune_bench._usage import UsageError, emit
from attune_data._text import columns_of_terminal, plural, printable, shortened

if TYPE_CHECKING:
    from attune_bench.runner.engine import Options, Outcome
    from attune_bench.runner.meter import Meter
    from attune_bench.runner.providers import Endpoint
    from attune_data import Collection, Conversation

__all__ = [
    "Names",
    "Output",
    "Provider",
    "command",
    "common",
    "endpoints",
    "loaded",
    "report",
    "sent_temperature",
    "shown",
    "usage_errors",
    "warn",
]

Provider = Literal["openrouter", "openai", "prime", "local"]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]

_PLAIN_SECONDS = 30.0


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


def loaded(source: str, limit: int | None) -> "Collection[Conversation]":
    from attune_bench.progress import progress
    from attune_data import load

    if limit is not None and limit < 1:
        raise UsageError(f"--limit is {limit}; expected a positive number")
    with progress() as phase:
        conversations = load(source, progress=phase("reading conversations", None))
    left_out = sum(issue.severity == "error" for issue in conversations.found)
    if left_out:
        warn(f"{plural(left_out, 'error')} in the files; see: attune-bench validate {source}")
    if not conversations:
        raise UsageError(f"no usable conversation in {source}; see: attune-bench validate {source}")
    return conversations[:limit]


def endpoints(
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
        warn("--api-key can be read by other users of this machine; better set it in the environment")
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


def sent_temperature(given: float | Literal["server"]) -> float | None:
    return None if given == "server" else given


def common(
    options: "Options", prices: Path | None, seed: int | None, temperature: float | Literal["server"]
) -> dict[str, Any]:
    """Return the options that all commands have, None for those at their default."""
    return {
        "--concurrency": options.concurrency if options.concurrency != 8 else None,
        "--call-timeout": options.call_timeout if options.call_timeout != 120.0 else None,
        "--max-cost": options.max_cost,
        "--prices": prices,
        "--seed": seed,
        "--temperature": temperature if temperature != 0.0 else None,
        "--max-tokens": options.max_tokens if options.max_tokens != 4096 else None,
    }


def command(name: str, arguments: tuple[str, ...], options: dict[str, Any]) -> str:
    """Return a command line of what was parsed, so that no key can be in it."""
    words = ["attune-bench", name, *arguments]
    for option, value in options.items():
        if value is not None:
            words += [option, *(value if isinstance(value, tuple) else [str(value)])]
    return shlex.join(words)


@contextmanager
def shown() -> Iterator[Callable[["Meter"], None]]:
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


def report(outcome: "Outcome", output: Path, made: str = "file") -> int:
    """Print what came of a run, counted as what it has made; return the exit status."""
    before = f", {outcome.earlier} of them from before" if outcome.earlier else ""
    emit(f"{output}: {plural(outcome.finished, made)}{before}")
    if outcome.meter.answers:
        emit(outcome.meter.text())
    if outcome.stopped is not None:
        warn(f"stopped: {outcome.stopped}")
    for skipped in outcome.skipped[:3]:
        mode = f" ({skipped.mode})" if skipped.mode else ""
        warn(f"{skipped.conversation_id}{mode}: {skipped.reason}")
    if outcome.skipped:
        count = plural(len(outcome.skipped), "conversation")
        warn(f"{count} not finished, listed in {output}/_skipped_*.json; the same command tries again")
    return int(bool(outcome.skipped))


def warn(text: str) -> None:
    sys.stderr.write(f"attune-bench: {printable(text)}\n")
