"""Whatever stands in a record of EIBench or SAGE: it loads or is left out with a reason, and what loads has tables."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from drawn import richest
from slow_cases import slow_except

from attune_data import Kind, SourceError, load_records
from attune_data.kinds import DIALOGUE, EPISODE, SCENARIO
from attune_data.testing import VALUES, places

Json = dict[str, Any]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# Every JSON value that is no longer than a line, each once.
ODD = list(dict.fromkeys(text for text in VALUES if len(text) < 80 and _is_json(text)))


@pytest.mark.slow
@pytest.mark.parametrize("one_of", [64, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", slow_except([SCENARIO, EPISODE, DIALOGUE], DIALOGUE), ids=lambda kind: kind.noun)
def test_any_value_anywhere(kind: Kind[Any, Any], one_of: int, tmp_path: Path) -> None:
    document = richest(kind)
    source, again = tmp_path / "one.json", tmp_path / "again.jsonl"
    source.write_text(json.dumps(document))
    assert (len(load_records(source, kind)), load_records(source, kind).found) == (1, ())
    tried = 0
    for number, _ in enumerate(places(document)):
        for text in ODD[number % one_of :: one_of]:  # each place a share of them, together all
            changed = copy.deepcopy(document)
            container, key = list(places(changed))[number]
            container[key] = json.loads(text)
            source.write_text(json.dumps(changed))
            tried += 1
            try:
                loaded = load_records(source, kind)
            except SourceError as error:
                assert f" and no {kind.noun}; " in str(error)  # noqa: PT017
                continue
            errors = [issue for issue in loaded.found if issue.severity == "error"]
            assert len(loaded) == (not errors), (container, key, text, errors)
            for _, frame in loaded.tables._frames():
                assert frame.height <= 5
            if not loaded.found:  # Nothing was changed, so it is written as it was.
                assert json.loads(loaded[0].to_json()) == changed, (key, text)
            for one in loaded:
                loaded.to_jsonl(again)
                assert list(load_records(again, kind)) == [one], (key, text)
                assert repr(one).isprintable()
    assert tried > 1000 / one_of
