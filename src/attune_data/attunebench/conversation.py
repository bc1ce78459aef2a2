"""The ground truth: a conversation between a person and a model, annotated by that person."""

from attune_data.attunebench.conversation_html import conversation_html
from attune_data.attunebench.parts import ConversationData
from attune_data.attunebench.transcript import transcript
from attune_data.text import columns_of_terminal, plural, printable

__all__ = ["Conversation"]


class Conversation(ConversationData):
    """One annotated conversation, the ground truth that predictions are scored against.

    `print` shows the transcript with the annotations, a notebook the same as HTML.

    Examples
    --------
    >>> from attune_data import load
    >>> conversation = load("demo")[0]
    >>> conversation.turns[0].turn_number
    1
    """

    def __repr__(self) -> str:
        """Return one line; `print` shows the transcript, `model_dump` gives every field."""
        metadata = self.metadata
        facts = filter(None, (metadata.category, plural(len(self.turns), "turn"), metadata.model))
        return printable(f"<Conversation {self.id}: {', '.join(facts)}>")

    def __str__(self) -> str:
        """Return the transcript with the annotations, wrapped to the width of the terminal."""
        return transcript(self, columns_of_terminal())

    def _repr_html_(self) -> str:
        return conversation_html(self)
