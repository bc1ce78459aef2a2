"""The command `signature`: the whole line that a text for a terminal has the hash of."""

import json
from contextlib import redirect_stdout
from io import StringIO

import click

from attune_bench.cli.options import verb
from attune_bench.cli.output import UserError, emit
from attune_metrics.signature import short_signature

_SIGNED = ("report", "compare", "rank", "subset", "analyze", "judge")


@verb("signature compare results.csv --seed 1")
@click.argument("call", metavar="COMMAND ...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def signature(ctx: click.Context, /, call: tuple[str, ...]) -> None:
    """Print the signature of COMMAND whole: what the line of its hash stands for below its output.

    COMMAND is the same call, without attune-bench. JSON, CSV, Markdown and pages of HTML have signatures whole.
    """
    name, *others = call
    if name not in (*_SIGNED, "debias"):  # the earlier name of judge correct
        raise UserError(f"{name} prints no signature; name one of {', '.join(_SIGNED)}, with its arguments")
    for option in ("--format", "--html"):
        if any(word.partition("=")[0] == option for word in others):
            raise UserError(f"leave out {option}: the signature is the same for every format")
    with redirect_stdout(StringIO()) as written:
        ctx.find_root().command.main([*call, "--format", "json"], prog_name="attune-bench", standalone_mode=False)
    content = json.loads(written.getvalue())
    # analyze has one for each analysis.
    parts = [content] if "metadata" in content else [part for part in content.values() if "metadata" in part]
    found = [part["metadata"]["signature"] for part in parts if part["metadata"].get("signature")]
    if not found:
        raise UserError(f"{' '.join(call)} prints no signature")
    whole = "\n".join(found)
    emit(f"signature: {short_signature(whole)}\n{whole}")


# All that follows is the call of the other command.
signature.allow_interspersed_args, signature.ignore_unknown_options = False, True
