"""What an evaluated model predicted of one conversation: a run file."""

from attune_data.attunebench.run_html import run_html
from attune_data.attunebench.run_parts import RunData
from attune_data.text import plural, printable

__all__ = ["Run"]


class Run(RunData):
    """One run file: the predictions of one evaluated model, in one mode, on one conversation.

    A notebook shows the predictions in brief.

    Examples
    --------
    >>> run = Run(conversation_id="c1", em_model="vendor/model", turns=[{"turn_number": 1}])
    >>> run.mode, run.complete
    ('default', False)
    """

    def __repr__(self) -> str:
        """Return one line; `model_dump` gives every field."""
        incomplete = "" if self.complete else ", incomplete"
        return printable(f"<Run {self.id}: {plural(len(self.turns), 'turn')}{incomplete}>")

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return run_html(self)
