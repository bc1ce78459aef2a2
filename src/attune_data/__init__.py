"""Typed, validated records of emotional-intelligence benchmarks, and where to load them from.

``load`` gives annotated conversations of AttuneBench, ``load_runs`` what models predicted of them; ``load_scenarios``
and ``load_episodes`` the scenarios of EIBench and what models did in them; ``load_sage`` the published dialogues of
SAGE. ``load_records`` loads any of them, and tells by the content what they are. All give a `Collection` with the good
records and ``.issues``. ``load_tables`` gives frames only; ``runs.joined(conversations)`` gives frames of predictions
beside annotations. All are asked for subgroups alike: ``where(diagnosis="ADHD")``, ``filter``, ``stratify``,
``sample``, ``split``. ``describe`` counts what is in a collection, ``show`` gives one record as text, ``publish`` makes
a data set of the Hub. ``load_codebook`` tells what every code means, ``json_schema`` and ``table_schema`` what files
and tables look like.

Names are imported when first used, so that importing the package costs little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attune_data.attunebench.codebook import load_codebook
    from attune_data.attunebench.conversation import Conversation
    from attune_data.attunebench.kinds import Conversations, Runs
    from attune_data.attunebench.loading import load, load_runs, load_tables
    from attune_data.attunebench.parts import Turn
    from attune_data.attunebench.run import Run
    from attune_data.attunebench.run_list import RunList
    from attune_data.attunebench.run_parts import RunTurn
    from attune_data.attunebench.run_tables import RunTables
    from attune_data.attunebench.tables import Tables
    from attune_data.attunebench.vocabulary import Codebook
    from attune_data.codebook import CodebookError
    from attune_data.collection import Collection, record_kind
    from attune_data.description import describe, description_text
    from attune_data.display.issues import IssueReport
    from attune_data.display.transcript import show
    from attune_data.eibench.kinds import Episodes, Scenarios
    from attune_data.eibench.loading import load_episodes, load_scenarios
    from attune_data.eibench.scenario import Episode, Scenario
    from attune_data.eibench.tables import EpisodeTables, ScenarioTables
    from attune_data.export import to_pandas
    from attune_data.issues import Issue, LoadError, PublishError, SourceError
    from attune_data.kind import Kind
    from attune_data.loading import load_records, recognise
    from attune_data.publishing import publish
    from attune_data.query import all_of, none_of
    from attune_data.sage.dialogue import SageDialogue
    from attune_data.sage.kinds import Dialogues
    from attune_data.sage.loading import load_sage
    from attune_data.sage.tables import SageTables
    from attune_data.schemas import json_schema, table_schema

__all__ = [
    "Codebook",
    "CodebookError",
    "Collection",
    "Conversation",
    "Conversations",
    "Dialogues",
    "Episode",
    "EpisodeTables",
    "Episodes",
    "Issue",
    "IssueReport",
    "Kind",
    "LoadError",
    "PublishError",
    "Run",
    "RunList",
    "RunTables",
    "RunTurn",
    "Runs",
    "SageDialogue",
    "SageTables",
    "Scenario",
    "ScenarioTables",
    "Scenarios",
    "SourceError",
    "Tables",
    "Turn",
    "all_of",
    "describe",
    "description_text",
    "json_schema",
    "load",
    "load_codebook",
    "load_episodes",
    "load_records",
    "load_runs",
    "load_sage",
    "load_scenarios",
    "load_tables",
    "none_of",
    "publish",
    "recognise",
    "record_kind",
    "show",
    "table_schema",
    "to_pandas",
]

_NAMES = {
    "attunebench.conversation": "Conversation",
    "attunebench.kinds": "Conversations Runs",
    "attunebench.loading": "load load_runs load_tables",
    "attunebench.parts": "Turn",
    "attunebench.run": "Run",
    "attunebench.run_parts": "RunTurn",
    "attunebench.run_list": "RunList",
    "attunebench.run_tables": "RunTables",
    "attunebench.tables": "Tables",
    "attunebench.codebook": "load_codebook",
    "attunebench.vocabulary": "Codebook",
    "codebook": "CodebookError",
    "schemas": "json_schema table_schema",
    "collection": "Collection record_kind",
    "description": "describe description_text",
    "display.issues": "IssueReport",
    "display.transcript": "show",
    "eibench.kinds": "Episodes Scenarios",
    "eibench.loading": "load_episodes load_scenarios",
    "eibench.scenario": "Episode Scenario",
    "eibench.tables": "EpisodeTables ScenarioTables",
    "export": "to_pandas",
    "issues": "Issue LoadError PublishError SourceError",
    "kind": "Kind",
    "loading": "load_records recognise",
    "publishing": "publish",
    "query": "all_of none_of",
    "sage.dialogue": "SageDialogue",
    "sage.kinds": "Dialogues",
    "sage.loading": "load_sage",
    "sage.tables": "SageTables",
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
