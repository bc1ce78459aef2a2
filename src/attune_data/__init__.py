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
    from attune_data.attunebench.codebook import Codebook, load_codebook
    from attune_data.attunebench.kinds import Conversations, Runs
    from attune_data.attunebench.loading import load, load_runs, load_tables
    from attune_data.attunebench.records import RunTurn, Turn
    from attune_data.attunebench.show import Conversation, Run
    from attune_data.attunebench.tables import RunList, RunTables, Tables
    from attune_data.codebook import CodebookError
    from attune_data.collection import Collection, Kind, record_kind
    from attune_data.description import describe, description_text
    from attune_data.eibench.kinds import Episodes, Scenarios
    from attune_data.eibench.loading import load_episodes, load_scenarios
    from attune_data.eibench.records import Episode, Scenario
    from attune_data.eibench.tables import EpisodeTables, ScenarioTables
    from attune_data.export import to_pandas
    from attune_data.issues import Issue, IssueReport, LoadError, PublishError, SourceError
    from attune_data.kinds import show
    from attune_data.loading import load_records, recognise
    from attune_data.publishing import json_schema, publish, table_schema
    from attune_data.query import all_of, none_of
    from attune_data.sage import Dialogues, SageDialogue, SageTables
    from attune_data.sage.loading import load_sage

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
    "attunebench.codebook": "Codebook load_codebook",
    "attunebench.kinds": "Conversations Runs",
    "attunebench.loading": "load load_runs load_tables",
    "attunebench.records": "RunTurn Turn",
    "attunebench.show": "Conversation Run",
    "attunebench.tables": "RunList RunTables Tables",
    "codebook": "CodebookError",
    "collection": "Collection Kind record_kind",
    "description": "describe description_text",
    "eibench.kinds": "Episodes Scenarios",
    "eibench.loading": "load_episodes load_scenarios",
    "eibench.records": "Episode Scenario",
    "eibench.tables": "EpisodeTables ScenarioTables",
    "export": "to_pandas",
    "issues": "Issue IssueReport LoadError PublishError SourceError",
    "kinds": "show",
    "loading": "load_records recognise",
    "publishing": "json_schema publish table_schema",
    "query": "all_of none_of",
    "sage": "Dialogues SageDialogue SageTables",
    "sage.loading": "load_sage",
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
