"""Typed, validated records of emotional-intelligence benchmarks, and where to load them from.

``load`` gives annotated conversations, ``load_runs`` what models predicted of them; both give a `Collection` with
the good records and ``.issues``. ``load_tables`` gives frames only; ``runs.joined(conversations)`` gives frames of
predictions beside annotations. All are asked for subgroups alike: ``where(diagnosis="ADHD")``, ``filter``,
``stratify``, ``sample``, ``split``. ``load_codebook`` tells what every code means, ``json_schema`` and
``table_schema`` what files and tables look like.

``load_scenarios`` and ``load_episodes`` give the scenarios of EIBench and what models did in them, ``load_sage`` the
published dialogues of SAGE.
"""

from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.conversation import Conversation, Turn
from attune_data.attunebench.loading import load, load_runs, load_tables
from attune_data.attunebench.run import Run, RunTurn
from attune_data.attunebench.run_tables import RunTables
from attune_data.attunebench.tables import Tables
from attune_data.attunebench.vocabulary import Codebook
from attune_data.codebook import CodebookError
from attune_data.collection import Collection
from attune_data.eibench.loading import load_episodes, load_sage, load_scenarios
from attune_data.eibench.scenario import Episode, Scenario
from attune_data.eibench.tables import EpisodeTables, SageTables, ScenarioTables
from attune_data.issues import Issue, LoadError, PublishError, SourceError
from attune_data.query import all_of, none_of
from attune_data.sage.dialogue import SageDialogue
from attune_data.schemas import json_schema, table_schema

__all__ = [
    "Codebook",
    "CodebookError",
    "Collection",
    "Conversation",
    "Episode",
    "EpisodeTables",
    "Issue",
    "LoadError",
    "PublishError",
    "Run",
    "RunTables",
    "RunTurn",
    "SageDialogue",
    "SageTables",
    "Scenario",
    "ScenarioTables",
    "SourceError",
    "Tables",
    "Turn",
    "all_of",
    "json_schema",
    "load",
    "load_codebook",
    "load_episodes",
    "load_runs",
    "load_sage",
    "load_scenarios",
    "load_tables",
    "none_of",
    "table_schema",
]
