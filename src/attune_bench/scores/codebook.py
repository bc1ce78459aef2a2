"""The hash of the bundled codebook, which scores and their signatures carry."""

from functools import cache

from attune_data.codebook import codebook_folder
from attune_data.record import canonical
from attune_metrics.signature import hash_records


@cache
def codebook_hash() -> str:
    """Return the hash of the bundled codebook's files, whatever their line ends."""
    files = (file for file in codebook_folder().iterdir() if file.name.endswith(".toml"))
    return hash_records(canonical([file.name, file.read_text(encoding="utf-8")]) for file in files)
