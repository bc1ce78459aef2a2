"""The command line, ``attune-bench``: one set of verbs for all benchmarks, each imported when it is called.

A mistake of the user is one line on standard error that says what to do, and exit status 2.
"""

import gc

from attune_bench.cli import stopping

TYPE_CHECKING = False  # As in `attune_bench`.
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from attune_bench.cli.verbs import app

__all__ = ["app", "main"]


def main(arguments: "Sequence[str] | None" = None) -> None:
    """Run a command and exit with its status.

    The status is 0, 1 where `validate` found errors or a run left something out, 2 for a mistake in the call or an
    output that cannot be written, 130 where SIGINT or SIGTERM stopped it. Without `arguments`, `main` takes the
    arguments of the process and handles its signals and closed standard streams; with `arguments`, the caller does.
    """
    # In one try, and before the imports, which take a while: wherever a signal comes, the process ends the same way.
    try:
        if arguments is None:
            stopping.prepare_process()
            # A command makes many objects and few of them garbage, so that the collector need not look for it as often.
            gc.set_threshold(400_000, 20, 20)
        from attune_bench.cli.verbs import call

        call(arguments)
    except BaseException:
        # At once, without a call: from here on nothing is to be cleaned up.
        stopping.process.react = stopping.leave
        if stopping.process.stopped:
            stopping.leave()
        raise


def __getattr__(name: str) -> "Any":
    """Import the commands when they are first used."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from attune_bench.cli import verbs

    return verbs.app
