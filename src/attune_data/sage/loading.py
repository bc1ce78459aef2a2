"""Dialogues of SAGE: loaded from files, and drawn as documents for tests."""

from typing import TYPE_CHECKING

from attune_data.io.sources import Source
from attune_data.loading import OnError, Progress, load_records
from attune_data.sage import DIALOGUE, Dialogues, Planning, SageDialogue, SageMessage, emotion_state

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from attune_data.testing import Json


def load_sage(source: Source, *, on_error: OnError = "report", progress: Progress = None) -> Dialogues:
    """Load dialogues of SAGE, as its authors publish them: a file a model, named after it.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        A file, a folder, an archive, an address on the Hub or a Dataset, as in `attune_data.load`. Of a folder the
        files ``*_result.jsonl`` are read, where there are any. A line ends at a line feed only: the texts have
        U+2028 in them. Where a record does not say its ``model``, it is the name of the file, without ``_result``.
    on_error : {"report", "raise"}
        ``"raise"`` raises one error where any record had to be left out.
    progress : callable, optional
        Called with the number of records read so far.

    Returns
    -------
    Dialogues
        In the order of the files; of two of one scenario and model the first.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached, has nothing to read or only records of another kind.
    LoadError
        With ``on_error="raise"``, where any record had to be left out.
    ValueError
        Where `on_error` is neither choice.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "gpt-4.1_result.jsonl")
    ...     _ = path.write_text('{"id": "s1", "emo_point": 57, "history": []}')
    ...     dialogues = load_sage(path)
    >>> dialogues[0].model, dialogues[0].emo_point
    ('gpt-4.1', 57)
    """
    return load_records(source, DIALOGUE, on_error=on_error, progress=progress)


def dialogue_documents() -> "SearchStrategy[Json]":
    """Return the strategy of dialogues of up to three replies, with consistent emotions; it needs hypothesis."""
    from hypothesis import strategies as st

    from attune_data.testing import filled, from_model

    def person(draw: "DrawFn", point: int, change: int | None) -> "Json":
        """Draw a message of the person, with the emotion after it and its change."""
        fields = {
            "role": st.just("user"),
            "content": filled,
            "emotion_point": st.just(point),
            "planning": from_model(Planning, {"change": st.just(change)}),
        }
        return draw(from_model(SageMessage, fields))

    @st.composite
    def dialogue(draw: "DrawFn") -> "Json":
        point = draw(st.integers(0, 100))
        history = [person(draw, point, None)]
        for _ in range(draw(st.integers(0, 3))):
            change = draw(st.integers(-10, 10))
            point = min(max(point + change, 0), 100)
            reply = {"role": st.just("assistant"), "content": filled, "emotion_point": st.none(), "planning": st.none()}
            history += [draw(from_model(SageMessage, reply)), person(draw, point, change)]
        fields = {
            "scenario_id": filled,
            "model": filled,
            "emo_point": st.just(point),
            "emo_state": st.just(emotion_state(point)),
            "history": st.just(history),
            "error": st.none(),
        }
        return draw(from_model(SageDialogue, fields))

    return dialogue()
