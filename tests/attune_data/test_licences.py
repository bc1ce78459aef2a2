"""Under which licence records may be published, and what their canary is."""

import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from attune_data import Conversations, PublishError, Runs, load, load_runs
from attune_data.codebook import codebook_folder, read_toml
from attune_data.kinds import KINDS
from attune_data.licences import Publishing, _folded, canary, credits_of, find_licence, licences, permitted, refusal

Json = dict[str, Any]
Put = Callable[[Json, str, Any], Json]
LoadOne = Callable[[Any], Conversations]

CODEBOOK = codebook_folder() / "publishing.toml"

# The chart of Creative Commons, "What can I do with adapted material?" (wiki.creativecommons.org, License Versions and
# its FAQ: "If I derive or adapt material offered under a Creative Commons license, which CC license(s) can I use?"):
# the work's licence, and those an adaptation may be under. ND allows no adaptation to be shared.
ADAPTATIONS = {
    "cc0-1.0": "cc0-1.0 cc-by-4.0 cc-by-sa-4.0 cc-by-nc-4.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-nc-nd-4.0",
    "cc-by-4.0": "cc-by-4.0 cc-by-sa-4.0 cc-by-nc-4.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-nc-nd-4.0",
    "cc-by-nc-4.0": "cc-by-nc-4.0 cc-by-nc-sa-4.0 cc-by-nc-nd-4.0",
    "cc-by-sa-4.0": "cc-by-sa-4.0",
    "cc-by-nc-sa-4.0": "cc-by-nc-sa-4.0",
    "cc-by-nd-4.0": "",
    "cc-by-nc-nd-4.0": "",
}


@pytest.mark.parametrize("of_the_work", ADAPTATIONS)
@pytest.mark.parametrize("of_the_adaptation", ADAPTATIONS)
def test_creative_commons_chart(of_the_work: str, of_the_adaptation: str) -> None:
    known = licences()
    allowed = of_the_adaptation in ADAPTATIONS[of_the_work].split()
    assert known[of_the_work].allows(known[of_the_adaptation]) is allowed


@pytest.mark.parametrize(
    ("of_the_work", "other", "allowed"),
    [
        ("mit", "cc-by-4.0", True),  # the notice goes along
        ("mit", "cc0-1.0", False),  # which would drop it
        ("cc-by-4.0", "mit", False),  # which asks for less than attribution
        ("cc-by-sa-3.0", "cc-by-sa-4.0", True),  # section 4(b): a later version with the same elements
        ("cc-by-sa-4.0", "cc-by-sa-3.0", False),
        ("odbl", "odbl", True),
        ("odbl", "cc-by-sa-4.0", False),
        ("cc-by-nc-4.0", "apache-2.0", False),
    ],
)
def test_other_licences(of_the_work: str, other: str, allowed: bool) -> None:
    assert licences()[of_the_work].allows(licences()[other]) is allowed


def test_the_codebook_is_whole() -> None:
    data = tomllib.loads(CODEBOOK.read_text(encoding="utf-8"))
    spelt: set[str] = set()
    described = {"notice", "attribution", "non-commercial", "share-alike", "no-derivatives", "permission"}
    for name, licence in licences().items():
        assert name == name.lower()
        assert licence.title
        assert licence.url.startswith("https://")
        assert licence.demands <= described
        assert set(licence.also) <= set(licences())
        assert not licence.also or "share-alike" in licence.demands
        spellings = {_folded(text) for text in (name, licence.title, licence.url, licence.spelling or name)}
        assert not spellings & spelt
        spelt |= spellings
        # What a Creative Commons id says is what it demands.
        if name.startswith("cc-by"):
            parts = {"nc": "non-commercial", "sa": "share-alike", "nd": "no-derivatives"}
            assert licence.demands == {"notice", "attribution"} | {parts[p] for p in name.split("-")[2:-1]}
    assert data.keys() == {"canary", "benchmarks", "licences"}
    assert re.search(r"GUID [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", data["canary"])


@pytest.mark.parametrize("name", licences())
def test_a_licence_is_found_by_id_title_and_address(name: str) -> None:
    licence = licences()[name]
    spellings = (
        name,
        name.upper(),
        f" {licence.title} ",
        licence.url,
        licence.url.replace("https", "http").rstrip("/"),
    )
    assert [find_licence(spelling) for spelling in spellings] == [licence] * len(spellings)


@pytest.mark.parametrize("text", ["", "cc-by", "cc-by-nc", "free", "mitt", "other", "unknown", "4.0"])
def test_what_is_no_known_licence(text: str) -> None:
    assert find_licence(text) is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.licence", "cc-by-nc-4.0"),
        ("$.License", "CC BY-NC 4.0"),
        ("$.data_license", "https://creativecommons.org/licenses/by-nc/4.0/"),
        ("$.license", ["cc-by-4.0", "cc-by-nc-4.0"]),
        ("$.metadata.license", "CC-BY-NC-4.0"),
        ("$.info", {"license": "cc-by-nc-4.0"}),
        ("$.turns[0].annotations.sources", [{"origin": {"data-license": "cc-by-nc-4.0"}}]),
        ("$.metadata.dataLicence", ["Creative Commons Attribution-NonCommercial 4.0"]),
    ],
)
def test_a_stated_licence_is_found_wherever_it_stands(
    conversation: Json, put: Put, load_conversation: LoadOne, path: str, value: Any
) -> None:
    records = load_conversation(put(conversation, path, value))
    with pytest.raises(PublishError) as raised:
        permitted(records, "cc-by-4.0")
    message = str(raised.value)
    assert message.startswith(f'conversation_1.json: record "{records[0].id}": it is under cc-by-nc-4.0, ')
    assert "for this record licence='cc-by-nc-4.0' would be accepted" in message
    assert permitted(records, "cc-by-nc-sa-4.0")[0].id == "cc-by-nc-sa-4.0"
    assert permitted(records, "cc-by-nc-sa-4.0")[1] == ()


def test_a_run_states_its_licence_too(run: Json, load_run: Callable[[Any], Runs]) -> None:
    assert permitted(load_run(run), "mit")[0].id == "mit"
    with pytest.raises(PublishError, match=r'^run_1\.json: record ".*/default": it is under odbl, '):
        permitted(load_run({**run, "licence": "ODbL-1.0"}), "mit")
    with pytest.raises(PublishError, match="it is under odbl, "):
        permitted(load_run({**run, "metadata": {"license": "ODbL-1.0"}}), "mit")


def test_a_licence_may_have_to_be_known(run: Json, load_run: Callable[[Any], Runs]) -> None:
    of_whoever_ran = load_run({**run, "synthetic": False})
    assert permitted(of_whoever_ran, "mit")
    with pytest.raises(
        PublishError, match=r'^run_1\.json: record ".*/default": it states no licence, and none is known'
    ):
        permitted(of_whoever_ran, "mit", needs_licence=True)
    for about in ({"licence": "mit"}, {"synthetic": True}):
        assert permitted(load_run({**run, **about}), "mit", needs_licence=True)
    assert permitted(load("demo"), "mit", needs_licence=True)


def test_every_kind_of_record_but_what_users_make_is_of_one_benchmark() -> None:
    book = read_toml(CODEBOOK, Publishing)
    named = [record for benchmark in book.benchmarks.values() for record in benchmark.records]
    assert sorted([*named, "Comparison", "Run"]) == sorted(kind.model.__name__ for kind in KINDS)


@pytest.mark.slow
def test_one_record_among_many_is_enough() -> None:
    demo = load("demo")
    other = demo[7].model_copy(update={"licence": "cc-by-nc-4.0"})
    mixed = Conversations([*demo[:7], other, *demo[8:]], files=demo.files)
    with pytest.raises(PublishError, match=re.escape(f'demo.jsonl:8: record "{other.id}": it is under cc-by-nc-4.0')):
        permitted(mixed, "cc-by-4.0")
    assert permitted(mixed, "cc-by-nc-4.0")


def test_records_that_no_one_licence_fits_are_refused_one_after_the_other() -> None:
    demo = load("demo")
    stated = [
        record.model_copy(update={"licence": name})
        for record, name in zip(demo[:2], ("cc-by-4.0", "cc-by-nc-4.0"), strict=True)
    ]
    assert permitted(Conversations(stated), "cc-by-nc-4.0")
    stated[0] = stated[0].model_copy(update={"licence": "cc-by-sa-4.0"})
    for own, wanted in (("cc-by-sa-4.0", "cc-by-nc-4.0"), ("cc-by-nc-4.0", "cc-by-sa-4.0")):
        with pytest.raises(PublishError, match=f"under {own}, which .* '{wanted}'; for this record licence='{own}'"):
            permitted(Conversations(stated), wanted)


def test_no_derivatives_are_not_published_at_all() -> None:
    record = load("demo")[0].model_copy(update={"licence": "cc-by-nd-4.0"})
    for wanted in ("cc-by-nd-4.0", "cc-by-4.0"):
        with pytest.raises(PublishError, match=r"cc-by-nd-4\.0 allows nothing but the unchanged work"):
            permitted(Conversations([record]), wanted)


def stating(*stated: str) -> Any:
    """Return a conversation of the demo that states licences."""
    conversation = load("demo")[0]
    return conversation.model_copy(update={"licence": list(stated)})


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        (["cc-by-4.0"], ""),
        (["cc-by-nc-sa-4.0"], ""),
        # An adaptation of both may be under the second.
        (["cc-by-4.0", "cc-by-sa-4.0"], ""),
        (["cc-by-4.0", "cc-by-nd-4.0"], "cc-by-nd-4.0 allows nothing but the unchanged work"),
        # Each asks for itself.
        (["cc-by-nc-sa-4.0", "cc-by-sa-4.0"], "no one licence fits both cc-by-nc-sa-4.0 and cc-by-sa-4.0"),
    ],
)
def test_why_texts_may_not_be_passed_on(stated: list[str], why: str) -> None:
    assert refusal(stating(*stated)) == why


def test_texts_of_an_unknown_licence_or_of_none_are_refused(run: Json, load_run: Callable[[Any], Runs]) -> None:
    assert refusal(stating("all rights reserved")).startswith('it states the licence "all rights reserved", which')
    unknown = load_run(run)[0].model_copy(update={"synthetic": None})
    assert refusal(unknown) == ""
    assert refusal(unknown, needs_licence=True).startswith("it states no licence, and none is known of such records")
    assert refusal(load_runs("demo")[0], needs_licence=True) == ""


def test_the_credit_is_that_of_records_without_a_licence(conversation: Json, load_conversation: LoadOne) -> None:
    [own] = load_conversation(conversation)
    assert credits_of([own, own]) == [
        "AttuneBench, Creative Commons Attribution 4.0: AttuneBench: A Conversation-Based Benchmark for LLM Emotional "
        "Intelligence, arXiv:2605.21739"
    ]
    assert credits_of([own.model_copy(update={"licence": "mit"}), *load("demo")]) == []


def test_a_conversation_without_a_licence_is_of_the_benchmark(conversation: Json, load_conversation: LoadOne) -> None:
    records = load_conversation(conversation)
    _, benchmarks = permitted(records, "cc-by-4.0")
    assert [(benchmark.name, benchmark.licence.id) for benchmark in benchmarks] == [("AttuneBench", "cc-by-4.0")]
    with pytest.raises(
        PublishError, match=r"it states no licence, so .* AttuneBench, which is under cc-by-4\.0, .* own"
    ):
        permitted(records, "cc0-1.0")
    blanks: list[Any] = [None, "", " ", []]
    for blank in blanks:
        assert permitted(load_conversation({**conversation, "licence": blank}), "cc-by-4.0")[1] == benchmarks
    own = load_conversation({**conversation, "licence": "cc0-1.0"})
    assert permitted(own, "cc0-1.0") == (licences()["cc0-1.0"], ())


def test_what_was_generated_has_any_licence() -> None:
    assert permitted(load("demo"), "cc0-1.0") == (licences()["cc0-1.0"], ())
    assert permitted(load_runs("demo"), "cc0-1.0") == (licences()["cc0-1.0"], ())


@pytest.mark.parametrize("value", ["free for all", 4, {"name": "cc-by-4.0"}, ["cc-by-4.0", "own"], True])
def test_a_stated_licence_that_is_unknown_is_refused(
    conversation: Json, load_conversation: LoadOne, value: Any
) -> None:
    with pytest.raises(PublishError, match=r"it states the licence .*, which is not in the codebook; use an id of cc0"):
        permitted(load_conversation({**conversation, "licence": value}), "cc-by-4.0")


def test_a_licence_nobody_knows_names_the_nearest() -> None:
    with pytest.raises(PublishError, match=r"unknown licence \"cc-by-4\"; did you mean 'cc-by-4\.0'"):
        permitted(load("demo"), "cc-by-4")
    with pytest.raises(PublishError, match=r'unknown licence "cc-by"; did you mean \'cc-by-4\.0\''):
        permitted(load("demo"), "cc-by")
    with pytest.raises(PublishError, match=r'unknown licence "zzz"; expected one of cc0-1\.0, pddl, '):
        permitted(load("demo"), "zzz")


def test_the_canary_of_the_data_comes_before_the_fixed_one(conversation: Json, load_conversation: LoadOne) -> None:
    fixed = tomllib.loads(CODEBOOK.read_text(encoding="utf-8"))["canary"]
    assert canary(load_conversation(conversation)) == canary(load_runs("demo"))
    assert canary(load_conversation(conversation)).texts == (fixed,)
    conversation["benchmark_canary"] = "GUID 1"
    conversation["metadata"]["canary_string"] = ["GUID 2", "GUID 1", None, 3]
    found = canary(load_conversation(conversation))
    assert found.texts == ("GUID 1", "GUID 2")
    assert found.is_own
