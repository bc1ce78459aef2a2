"""Documents of every kind to test a reader with: valid, in older spellings, broken; and generated collections.

The strategies need hypothesis: ``pip install 'attune-bench[testing]'``. They are built on the record models and on what
loading fixes, so that they know every field and every older spelling that the library knows.
"""

import json
import random
from typing import TYPE_CHECKING, Any, TypeVar

from attune_data.extras import require
from attune_data.fixes import respelled
from attune_data.kind import Kind
from attune_data.record import Record
from attune_data.references import resolve
from attune_data.testing.mutations import mutated

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["broken", "documents", "mutated", "old_spellings", "records", "synthetic"]

R = TypeVar("R", bound=Record)
C = TypeVar("C")


def documents(kind: Kind[Any, Any]) -> "SearchStrategy[dict[str, Any]]":
    """Return a strategy of JSON objects of a kind, in current spelling, that load without an issue.

    Parameters
    ----------
    kind : Kind
        One of `attune_data.kinds.KINDS`, or one of your own. Where it does not say how its documents are drawn, they
        are those of its demonstration data, with whatever else its model and rules accept; without such data, what its
        model accepts.

    Raises
    ------
    ImportError
        Without hypothesis, which the extra ``testing`` installs.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from attune_data.kinds import EPISODE
    >>> @settings(max_examples=5)
    ... @given(documents(EPISODE))
    ... def test_anger_is_in_its_range(document):
    ...     assert 0 <= document["final_anger"] <= 100
    >>> test_anger_is_in_its_range()
    """
    require("hypothesis", "testing")
    if kind.documents is not None:
        drawn: SearchStrategy[dict[str, Any]] = resolve(kind.documents)()
        return drawn

    from attune_data.testing.models import accepted, from_model

    return from_model(kind.model) if kind.demo is None else accepted(kind)


def records(kind: Kind[R, Any]) -> "SearchStrategy[R]":
    """Return a strategy of records of a kind that load without an issue; `documents` says more.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from attune_data.kinds import SCENARIO
    >>> @settings(max_examples=5)
    ... @given(records(SCENARIO))
    ... def test_a_scenario_has_a_scene(scenario):
    ...     assert scenario.scene in ("support", "defense", "repair", "charm")
    >>> test_a_scenario_has_a_scene()
    """
    return documents(kind).map(lambda document: _record(kind, document))


def _record(kind: Kind[R, Any], document: dict[str, Any]) -> R:
    return kind.model.model_validate_json(json.dumps(document), by_alias=True, by_name=False)


def old_spellings(kind: Kind[R, Any]) -> "SearchStrategy[tuple[dict[str, Any], R]]":
    """Return a strategy of JSON objects as older files spell them, each with the record that it means.

    Loading such an object gives a record that is written like that one, and an issue for every older spelling. By
    chance all of an object may be in current spelling.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from attune_data.kinds import SCENARIO
    >>> @settings(max_examples=5)
    ... @given(old_spellings(SCENARIO))
    ... def test_an_old_spelling_has_the_scene(pair):
    ...     document, scenario = pair
    ...     assert document.get("row", document)["scene_tag"].lower() == scenario.scene
    >>> test_an_old_spelling_has_the_scene()
    """
    drawn = documents(kind)

    from hypothesis import strategies as st

    @st.composite
    def spellings(draw: "DrawFn") -> tuple[dict[str, Any], R]:
        document = draw(drawn)
        # One number for all choices: a document has hundreds of places.
        rng = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311  # test data, nothing to guess
        spelt = respelled(kind.fix, document, lambda options: options[0] if rng.random() < 0.7 else rng.choice(options))
        return spelt, _record(kind, document)

    return spellings()


def broken(kind: Kind[Any, Any]) -> "SearchStrategy[bytes]":
    """Return a strategy of bytes in the place of a document of a kind, with something wrong with them.

    Values are of another type or size, keys are lost, repeated or renamed, bytes are damaged, the end is cut off, the
    encoding is another; `mutated` does it. About half load all the same, most of them with issues.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from attune_data.kinds import DIALOGUE
    >>> @settings(max_examples=5)
    ... @given(broken(DIALOGUE))
    ... def test_what_is_written_in_its_place_are_bytes(data):
    ...     assert isinstance(data, bytes)
    >>> test_what_is_written_in_its_place_are_bytes()
    """
    drawn, spelt = documents(kind), old_spellings(kind)

    from hypothesis import strategies as st

    sources = drawn | spelt.map(lambda pair: pair[0])
    seeds = st.integers(0, 2**32)
    return st.builds(
        lambda document, seed: mutated(document, random.Random(seed)),  # noqa: S311  # test data, nothing to guess
        sources.map(json.dumps).map(json.loads),
        seeds,
    )


def synthetic(kind: Kind[R, C], *arguments: Any, **options: Any) -> C:
    """Return a collection of generated records of a kind, with known effects planted in them.

    Parameters
    ----------
    kind : Kind
        A kind with a generator: conversations and runs.
    *arguments, **options
        Those of the generator: of conversations ``(n, *, participants, seed, effects, turns)``, of runs
        ``(conversations, models, seed, *, mode)``; see `attune_data.attunebench.synthetic.generator`.

    Raises
    ------
    ValueError
        Where the kind has no generator.

    Examples
    --------
    >>> from attune_data.kinds import CONVERSATION
    >>> synthetic(CONVERSATION, 12, participants=6, seed=1)
    <Collection of 12 conversations, 6 participants, no issues>
    """
    if kind.synthetic is None:
        raise ValueError(f"the library generates no {kind.plural}; records(kind) draws single ones")
    return kind.collection(resolve(kind.synthetic)(*arguments, **options))
