"""Names of files that are safe in any folder, whatever a unit or a model is called."""

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

__all__ = ["in_repeat", "model_folder", "safe_name", "safe_part", "unit_file_name"]

_LONGEST_NAME = 200  # bytes; file systems allow 255, and the temporary name needs room too


def safe_part(text: str) -> str:
    """Return text as a part of a file name: all but letters, digits, ``_``, ``.`` and ``-`` become ``-``."""
    return re.sub(r"[^\w.-]", "-", unicodedata.normalize("NFC", text))


def safe_name(parts: Iterable[str], whole: str) -> str:
    """Return parts joined by ``_`` as the name of a file or folder, without an ending.

    A name that would be too long, or hidden, is changed; where it is cut it ends in a digest of `whole`.

    Examples
    --------
    >>> safe_name(["vendor", "large:free"], "vendor/large:free"), safe_name(["..", "a"], "../a")
    ('vendor_large-free', '-a')
    """
    stem = re.sub(r"^[._]+", "-", "_".join(map(safe_part, parts)))
    if len(stem.encode()) > _LONGEST_NAME - len(".json"):
        ending = "-" + sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        stem = stem.encode()[: _LONGEST_NAME - len(".json") - len(ending)].decode(errors="ignore") + ending
    return stem


def in_repeat(name: str, repeat: int) -> str:
    """Return the name of a file of a repeat: from the second on it is in a folder of its own.

    Examples
    --------
    >>> in_repeat("c1_vendor_large_default.json", 1), in_repeat("c1_vendor_large_default.json", 2)
    ('c1_vendor_large_default.json', 'repeat-2/c1_vendor_large_default.json')
    """
    return name if repeat == 1 else f"repeat-{repeat}/{name}"


def model_folder(model: str) -> str:
    """Return the path of a folder for a model: ``<vendor>/<model>``, or the model's name alone.

    Examples
    --------
    >>> model_folder("vendor/large:free"), model_folder("../a")
    ('vendor/large-free', '-/a')
    """
    return "/".join(safe_name([part], model) for part in model.split("/", 1))


def unit_file_name(unit_id: str, model: str, condition: str | None = None) -> str:
    """Return the name of the file that is made of one unit: ``<unit>_<vendor>_<model>_<condition>.json``.

    Parameters
    ----------
    unit_id : str
        Id of the unit.
    model : str
        The model; vendor and model are the two sides of its first ``/``.
    condition : str, optional
        The condition, for a benchmark that has several.

    Returns
    -------
    str
        Characters other than letters, digits, ``_``, ``.`` and ``-`` become ``-``. A name of more than 200 bytes is
        cut and ends in a digest.

    Examples
    --------
    >>> unit_file_name("c1", "vendor/large:free", "default")
    'c1_vendor_large-free_default.json'
    """
    conditions = [] if condition is None else [condition]
    return f"{safe_name([unit_id, *model.split('/', 1), *conditions], '/'.join([unit_id, model, *conditions]))}.json"
