"""Which kinds of record and which files of the codebook have a schema."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from attune_data.attunebench.conversation import Conversation
from attune_data.attunebench.diagnoses import Diagnoses
from attune_data.attunebench.instruments import Instruments
from attune_data.attunebench.meanings import conversation_columns, run_columns
from attune_data.attunebench.run import Run
from attune_data.attunebench.run_tables import run_table_schemas
from attune_data.attunebench.tables import table_schemas
from attune_data.attunebench.vocabulary import Codebook, Subset
from attune_data.eibench.meanings import episode_columns, scenario_columns
from attune_data.eibench.scenario import Episode, Scenario
from attune_data.eibench.scenes import Scenes
from attune_data.eibench.tables import EpisodeTables, SageTables, ScenarioTables, scenario_table_schemas
from attune_data.entries import Named
from attune_data.licences import Publishing
from attune_data.meanings import Column
from attune_data.record import Record
from attune_data.sage.dialogue import SageDialogue
from attune_data.sage.meanings import dialogue_columns

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CODEBOOK_FILES", "RECORDS", "RecordKind"]


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of record: its model, and the dtypes and meanings of the columns of its tables."""

    model: type[Record]
    dtypes: "Callable[[], Mapping[str, Mapping[str, pl.DataType]]]"
    columns: Callable[[], Mapping[str, Mapping[str, Column]]]


RECORDS: Mapping[str, RecordKind] = {
    "conversation": RecordKind(Conversation, table_schemas, conversation_columns),
    "run": RecordKind(Run, run_table_schemas, run_columns),
    "scenario": RecordKind(Scenario, lambda: scenario_table_schemas()[ScenarioTables], scenario_columns),
    "episode": RecordKind(Episode, lambda: scenario_table_schemas()[EpisodeTables], episode_columns),
    "dialogue": RecordKind(SageDialogue, lambda: scenario_table_schemas()[SageTables], dialogue_columns),
}
"""The kinds of record by name."""

CODEBOOK_FILES: Mapping[str, Any] = {
    "codebook": Codebook,
    "subsets": Annotated[
        Named[Subset],
        Field(
            title="Subsets",
            description="The numbers of the files of each subset, by its name: 7 means conversation_7.json.",
        ),
    ],
    "instruments": Instruments,
    "diagnoses": Diagnoses,
    "scenes": Scenes,
    "publishing": Publishing,
}
"""What each file of the codebook is read as, by the name of its schema."""
