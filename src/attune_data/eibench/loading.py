"""Scenarios and episodes of EIBench: loaded from files, and drawn as documents for tests."""

from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from attune_data.eibench.kinds import EPISODE, SCENARIO, SPLITS, Episodes, Scenarios
from attune_data.eibench.records import SCENES, Calibration, Episode, Profile, Scenario, State, Targets, WorstCase
from attune_data.io.documents import Document
from attune_data.io.sources import Source
from attune_data.issues import LEFT_OUT, Issue, IssueLog, shown
from attune_data.loading import OnError, Progress, load_chosen, load_records, source_name

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from attune_data.testing import Json

Split = Literal["test", "train"]


def load_scenarios(
    source: Source, *, split: Split | None = None, on_error: OnError = "report", progress: Progress = None
) -> Scenarios:
    """Load scenarios of EIBench.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        ``"demo"``, 16 synthetic scenarios in English, four a scene; else a file, a folder, an archive, an address on
        the Hub or a Dataset, as in `attune_data.load`. Of a folder the files ``*_final.jsonl`` are read, where there
        are any. The data of EIBench are CC BY-NC 4.0; do not pass them on.
    split : {"test", "train"}, optional
        Only the scenarios of this split. What a record says counts, else the name of the folder that its file is in,
        else the form of its id; a record without any of these is an issue, and so is a source with
        the other split only. Where the source has folders of that name, only these are read.
    on_error : {"report", "raise"}
        ``"raise"`` raises one error where any record had to be left out.
    progress : callable, optional
        Called with the number of records read so far.

    Returns
    -------
    Scenarios
        In the order of the files; of two with one id the first. How many there are of each scene is in its repr.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached, has nothing to read or only records of another kind.
    LoadError
        With ``on_error="raise"``, where any record had to be left out.
    ValueError
        Where `split` or `on_error` is none of its choices.

    Examples
    --------
    >>> load_scenarios("demo")
    <Collection of 16 scenarios (4 support, 4 defense, 4 repair, 4 charm), no issues>
    """
    if split is None:
        return load_records(source, SCENARIO, on_error=on_error, progress=progress)
    if split not in SPLITS:
        raise ValueError(f"split is {split!r}; expected 'test' or 'train'")
    issues = IssueLog()
    counts: Counter[str] = Counter()

    def choose(names: list[str]) -> list[str]:
        return [name for name in names if split in PurePosixPath(name).parts[:-1]] or names

    def keep(scenario: Scenario, document: Document) -> bool:
        if scenario.split is None:
            message = f"neither the record nor its folder or id tells whether it is {split}; leave split out"
            value = shown(scenario.id)
            issues.append(Issue(document.name, "$.id", "unknown-split", "error", value, message, LEFT_OUT))
        else:
            counts[scenario.split] += 1
        return scenario.split == split

    loaded = load_chosen(
        source, SCENARIO, choose=choose, keep=keep, issues=issues, on_error=on_error, progress=progress
    )
    if not loaded and counts:
        message = f"no scenario is of the split {split}; is this the right folder?"
        value, name = shown(dict(counts)), source_name(source)
        issue = Issue(name, "$", "missing-split", "warning", value, message, "all left out")
        return Scenarios((), [*loaded.found, issue])
    return loaded


def load_episodes(source: Source, *, on_error: OnError = "report", progress: Progress = None) -> Episodes:
    """Load episodes of EIBench: the official ``results.jsonl``, or what this library recorded.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        A file, a folder, an archive, an address on the Hub or a Dataset, as in `attune_data.load`. Of a folder the
        files ``results.jsonl`` are read, where there are any.
    on_error : {"report", "raise"}
        ``"raise"`` raises one error where any record had to be left out.
    progress : callable, optional
        Called with the number of records read so far.

    Returns
    -------
    Episodes
        Failed ones too, each an issue. Of two of one scenario, model, simulator and configuration the first without
        an error counts.

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
    ...     path = Path(folder, "results.jsonl")
    ...     _ = path.write_text('{"profile_id": "demo_support_01", "model": "m", "final_anger": 40, "final_trust": 60}')
    ...     episodes = load_episodes(path)
    >>> episodes[0].model, episodes[0].final_anger
    ('m', 40)
    """
    return load_records(source, EPISODE, on_error=on_error, progress=progress)


def scenario_documents() -> "SearchStrategy[Json]":
    """Return the strategy of scenarios with anchors in order; it needs hypothesis."""
    from hypothesis import strategies as st

    from attune_data.testing import filled, from_model

    @st.composite
    def scenario(draw: "DrawFn") -> "Json":
        anchors = st.lists(st.integers(0, 100), min_size=3, max_size=3, unique=True).map(sorted)
        target_anger, start_anger, worst_anger = draw(anchors)
        worst_trust, start_trust, target_trust = draw(anchors)
        profile = from_model(Profile, {"system_prompt": filled, "opening_line": filled})
        start = {"initial_anger": st.just(start_anger), "initial_trust": st.just(start_trust)}
        target = {"target_anger": st.just(target_anger), "target_trust": st.just(target_trust)}
        worst = {"worst_anger": st.just(worst_anger), "worst_trust": st.just(worst_trust)}
        fields = {
            "scenario_id": filled,
            "split": st.none() | st.sampled_from(["test", "train"]),
            "aggressor_profile": profile,
            "defender_profile": profile,
            "initial_calibration": from_model(Calibration, start),
            "rub_goals": from_model(Targets, target),
            "worst_case": from_model(WorstCase, worst),
        }
        return draw(from_model(Scenario, fields))

    return scenario()


def episode_documents() -> "SearchStrategy[Json]":
    """Return the strategy of episodes without a failure, of up to three rounds; it needs hypothesis."""
    from hypothesis import strategies as st

    from attune_data.testing import filled, from_model, texts

    def person(draw: "DrawFn", states: dict[str, int], deltas: dict[str, int]) -> "Json":
        """Draw a message of the person, with the state after it."""
        unknown = {f"{axis}_delta": None for axis in states if f"{axis}_delta" not in deltas}
        fields = {name: st.just(value) for name, value in {**states, **deltas, **unknown}.items()}
        return {"role": "aggressor", "content": draw(filled), "meta": draw(from_model(State, fields))}

    @st.composite
    def episode(draw: "DrawFn") -> "Json":
        scene = draw(st.sampled_from(SCENES))
        states = {axis: draw(st.integers(0, 100)) for axis in ("anger", "trust")}
        initial = dict(states)
        history: list[Json] = [person(draw, states, {})]
        for _ in range(draw(st.integers(0, 3))):
            deltas = {axis: draw(st.integers(-10, 10)) for axis in states}
            states = {axis: min(max(value + deltas[axis], 0), 100) for axis, value in states.items()}
            history += [
                {"role": "defender", "content": draw(filled)},
                person(draw, states, {f"{axis}_delta": delta for axis, delta in deltas.items()}),
            ]
        ended_by = draw(st.sampled_from(["max_rounds", "simulator_stop"]))
        if ended_by == "simulator_stop":
            history[-1]["meta"]["stop_reason"] = draw(texts)
        fields = {
            "scenario_id": filled,
            "model": filled,
            "scene": st.just(scene),
            "ended_by": st.just(ended_by),
            "error": st.none(),
            "history": st.just(history),
            **{f"final_{axis}": st.just(value) for axis, value in states.items()},
            **{f"initial_{axis}": st.none() | st.just(value) for axis, value in initial.items()},
        }
        return draw(from_model(Episode, fields))

    return episode()
