"""Rating by a crowd with Potato: the task that Potato serves, and the answers that Potato keeps.

Potato (Pei et al. 2022, EMNLP demonstrations) is an annotation tool that knows Prolific and Mechanical Turk. The
formats are the formats of Potato 2.12: a task is a folder with ``config.yaml`` and a file of items, and the answers of
each person are in ``annotation_output/PERSON/user_state.json``.
"""

import hmac
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from secrets import token_hex
from typing import Any

from attune_bench.annotate.rate import FIELD, Given, RateJob, Scale, given_to, in_order
from attune_bench.annotate.rated import Rated, RatedPair, RatedText
from attune_bench.annotate.screens import Screen
from attune_bench.annotate.store import Person
from attune_bench.annotate.texts import Texts
from attune_data.io.documents import parse_json, read_input, whole_folder
from attune_data.issues import SourceError
from attune_metrics.metric import MetricInputError

TASK, KEY, ANSWERS = "potato", "key.json", "annotation_output"
"""Within the folder of a study: what Potato serves, what stays with the researcher; and where Potato keeps answers."""


def write_task(job: RateJob, folder: Path, *, people: int) -> None:
    """Write a study for Potato.

    The texts are shown in random order for each person. Which text of a pair stands first is random, and the same for
    everybody.

    Parameters
    ----------
    job : RateJob
        What is rated.
    folder : path
        A folder that does not exist yet: ``potato`` for the server, and ``key.json``, which says who wrote which text
        and stays with the researcher.
    people : int
        By how many people each item is rated.

    Raises
    ------
    FileExistsError
        The folder exists.
    """
    secret, texts = token_hex(16), Texts("en")
    _, *screens = job.screens(Person(secret, "en"), {}, texts)
    key = {
        "secret": secret,
        "scale": job.scale and asdict(job.scale),
        "dimension": job.dimension,
        "items": [asdict(item) | {"talk": []} for item in job.items],
    }
    with whole_folder(folder) as made:
        (made / KEY).write_bytes(json.dumps(key, ensure_ascii=False, indent=1, default=str).encode())
        (made / TASK / "data").mkdir(parents=True)
        # JSON is YAML.
        (made / TASK / "config.yaml").write_bytes(json.dumps(_config(job, screens, texts, people), indent=1).encode())
        lines = (json.dumps(_shown(screen), ensure_ascii=False) for screen in screens)
        (made / TASK / "data" / "items.jsonl").write_bytes("".join(f"{line}\n" for line in lines).encode())


def _config(job: RateJob, screens: Sequence[Screen], texts: Texts, people: int) -> dict[str, Any]:
    field = job.field(texts)
    display: list[dict[str, Any]] = [{"key": "lead", "type": "text"}] if any(one.lead for one in screens) else []
    if any(screen.talk for screen in screens):
        display.append({"key": "talk", "type": "dialogue", "label": texts("conversation")})
    scheme: dict[str, Any] = {
        "name": FIELD,
        "description": field.label,
        "label_requirement": {"required": True},
    }
    if job.scale is None:
        labels = [texts("compare_first"), texts("compare_second")]
        display.append({"key": "texts", "type": "pairwise", "display_options": {"labels": labels}})
        scheme |= {"annotation_type": "radio", "labels": [option.text for option in field.options]}
    else:
        display.append({"key": "text", "type": "text", "label": texts("response")})
        scheme |= {
            "annotation_type": "likert",
            "size": job.scale.steps,
            "min_label": field.low,
            "max_label": field.high,
        }
    return {
        "annotation_task_name": job.title("en"),
        "task_dir": ".",
        "data_files": ["data/items.jsonl"],
        # Potato puts the text of this key into the page without escaping it.
        "item_properties": {"id_key": "id", "text_key": "id"},
        "output_annotation_dir": ANSWERS,
        "user_config": {"allow_all_users": True, "users": []},
        "assignment_strategy": "random",
        "max_annotations_per_item": people,
        "instance_display": {"fields": display},
        "annotation_schemes": [scheme],
    }


def _shown(screen: Screen) -> dict[str, Any]:
    """Return an item of Potato.

    Potato writes items into a script element of its page, which ``</script>`` in a text would end: the rest of the text
    would be executed. A word joiner, which nobody sees, after each ``<`` keeps every text a text.
    """
    texts = [_inert(passage.text) for passage in screen.passages]
    return {
        "id": screen.key,
        "lead": _inert(screen.lead),
        "talk": [{"speaker": said.speaker, "text": _inert(said.text)} for said in screen.talk],
        **({"text": texts[0]} if len(texts) == 1 else {"texts": texts}),
    }


def _inert(text: str) -> str:
    return text.replace("<", "<\u2060")


def read_answers(folder: Path, answers: Path | None = None) -> tuple[RateJob, list[Given]]:
    """Read what people answered in Potato.

    Parameters
    ----------
    folder : path
        The folder that `write_task` wrote.
    answers : path, optional
        Potato's folder ``annotation_output``, where it is not in `folder`.

    Returns
    -------
    job : RateJob
        What was rated, without the messages before the texts.
    given : list of Given
        The answers, in the order of the items. People are called by a hash, as Potato's names may be addresses.

    Raises
    ------
    SourceError
        A file is missing or has another form.
    MetricInputError
        An answer is of no item of this study, or is none of its options; the text names the file and the item.
    """
    key = _document(folder / KEY)
    try:
        scale = None if key["scale"] is None else Scale(**key["scale"])
        kind: type[RatedText] | type[RatedPair] = RatedPair if scale is None else RatedText
        items: list[Rated] = [kind(**item | {"talk": ()}) for item in key["items"]]
        job, secret = RateJob(items, scale=scale, dimension=str(key["dimension"])), str(key["secret"])
    except (KeyError, TypeError) as error:
        raise SourceError(f"{folder / KEY}: {error}; is it the key that annotate potato wrote?") from None
    options = {option.text: option.value for option in job.field(Texts("en")).options}
    seed = job.seed(secret)
    known = dict(job.order(seed))
    within = folder / TASK / ANSWERS if answers is None else answers
    files = sorted(within.glob("*/user_state.json"))
    if not files:
        raise SourceError(f"{within} has no PERSON/user_state.json, in which Potato keeps answers; name the folder")
    found: list[Given] = []
    for file in files:
        state = _document(file)
        name = hmac.new(secret.encode(), str(state.get("user_id")).encode(), "sha256").hexdigest()
        for id, chosen in _chosen(state, file):  # noqa: A001 - Potato's word
            if id not in known or chosen not in options:
                what = f"item {id!r:.40} is not of this study" if id not in known else f"{chosen!r:.60} is no option"
                raise MetricInputError(f"{file}, {id:.40}: {what}; does {folder / KEY} belong to these answers?")
            found.append(given_to(known[id], options[chosen], seed, rater=f"rater-{name[:8]}"))
    return job, in_order(found, items)


def _chosen(state: dict[str, Any], file: Path) -> Iterator[tuple[str, str]]:
    """Yield each item that a person rated, and the label of the option that was chosen."""
    try:
        for item, labels in state["instance_id_to_label_to_value"].items():
            names = [label["name"] for label, value in labels if label["schema"] == FIELD and value]
            if len(names) > 1:
                raise MetricInputError(f"{file}, {item}: {len(names)} options are chosen, {', '.join(names)}")
            yield from ((item, name) for name in names)
    except (KeyError, TypeError, AttributeError) as error:
        raise SourceError(f"{file} is no state of a person as Potato 2 keeps it: {error!r}") from None


def _document(path: Path) -> dict[str, Any]:
    try:
        found = parse_json(read_input(path))
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SourceError(f"{path} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise SourceError(f"{path} is no JSON object")
    return found
