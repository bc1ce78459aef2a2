"""Profiles of SAGE: the people whom a simulator plays, and the rules of what it needs of them."""

from typing import Annotated, ClassVar

from pydantic import Field, Strict

from attune_data.collection import record_kind
from attune_data.record import Items, SnakeCaseRecord, Text
from attune_data.repair import IssueCollector

_NEEDED = ("player", "scene", "first_talk")


class SageProfile(SnakeCaseRecord):
    """A person to be played, as SAGE's file ``simulator_profile_withfirsttalk.jsonl`` has them.

    Examples
    --------
    >>> from attune_data import load_records
    >>> from attune_data.sage.profiles import PROFILE
    >>> load_records("demo", PROFILE)[0].first_talk
    'So. They have given the plot away. My plot, more or less.'
    """

    column_names: ClassVar[dict[str, str]] = {"main_cha": "character", "cha_group": "traits"}

    id: str = Field(min_length=1, description="Id of the scenario, which the results of every model have.")
    player: Text = Field("", description="Who the person is: facts, habits, style of speech.")
    scene: Text = Field(
        "", description="What has happened, how the person reacts at each level of emotion, and the hidden topic."
    )
    main_cha: Text = Field("", description="What the person is like.")
    cha_group: Items[str] = Field((), description="Traits of the character.")
    topic: Text = Field("", description="What the conversation is about; the published profiles do not say it.")
    task: Text = Field("", description="The hidden topic: what the person wants of the model.")
    first_talk: Text = Field("", description="What the person says first.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")


def _check_profile(profile: SageProfile, findings: IssueCollector) -> None:
    """Report what a simulator lacks."""
    for name in _NEEDED:
        if not getattr(profile, name).strip():
            hint = "; simulator_profile_withfirsttalk.jsonl has it" if name == "first_talk" else ""
            message = f"a profile needs this text to be played{hint}"
            findings.add(f"$.{name}", "missing-text", "warning", getattr(profile, name), message, "kept; not played")
    if profile.scene.strip() and profile.task.strip() not in profile.scene:
        message = "expected it in the scene, from which alone the simulator learns the hidden topic"
        findings.add("$.task", "missing-text", "warning", profile.task, message, "kept; played without it")


def missing_text(profile: SageProfile) -> str:
    """Return why a profile cannot be played; an empty text where it can.

    Examples
    --------
    >>> missing_text(SageProfile(id="p1", player="Ida, 40", scene="A lost key."))
    "profile 'p1' has no first_talk to be played from"
    """
    missing = [name for name in _NEEDED if not getattr(profile, name).strip()]
    return f"profile {profile.id!r} has no {' and no '.join(missing)} to be played from" if missing else ""


PROFILE = record_kind(
    SageProfile,
    noun="profile",
    plural="profiles",
    keys=frozenset(("main_cha", "cha_group", "first_talk")),
    docs="sage.md",
    check=_check_profile,
    prefer="*_withfirsttalk.jsonl",
    demo="sage/demo_profiles.jsonl",
)
