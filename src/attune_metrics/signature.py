"""The signature of a score: one line that names every setting which can change the number, to be quoted with it.

Conventions
-----------
A signature reads ``attune:0.1|metric:emotion_f1|protocol:released|n:200|...``: settings in a fixed order, joined by
``|``, each a name and a value joined by ``:``. A setting that does not apply is left out; an empty one is written with
nothing after its colon. Values are percent-encoded UTF-8: all but ASCII letters, digits and ``_.-~``. So different
settings never share a signature, and a signature reads back as the settings that it was made of.

References
----------
.. [1] Post (2018), A Call for Clarity in Reporting BLEU Scores, WMT, 186-191.
.. [2] Berners-Lee, Fielding, Masinter (2005), RFC 3986: Uniform Resource Identifier, section 2.1.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

from attune_metrics.metric import MetricInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The settings behind a score; ``str(signature)`` is the line to quote.

    Attributes
    ----------
    attune : str
        Version of this library.
    benchmark : str, optional
        Name of the benchmark.
    metric : str
        Name in the catalog.
    protocol, mode, codebook : str, optional
        Name of the scoring protocol, of the evaluation mode, and version or hash of the codebook.
    variant : str, optional
        What was chosen of the choices that the scores depend on.
    settings : str, optional
        Short form of the settings that the predictions were made with.
    data, runs : str, optional
        `hash_records` of the records scored, and of the predictions; before it the version of the form of JSON that
        was hashed, ``v2-``. Hashes of different versions tell nothing about each other.
    scores : str, optional
        `hash_records` of the scores themselves, where the hashes of data and predictions are not known.
    labels : str, optional
        `hash_records` of people's ratings that corrected a judge.
    filter : str, optional
        The question that chose the records.
    repeats : str, optional
        How often models were asked about a unit, where that is more than once: ``3``, or ``2-3``.
    n, clusters, excluded : int, optional
        Units scored, their clusters, units left out.
    unit, draw, weight, interval : str, optional
        The resampled unit (``participant``), the draw if not multinomial (``poisson``: above 20,000 units each is drawn
        a Poisson number of times), the weight if units do not count equally (``participant``: the score is the mean of
        the participants' means), and the method of the interval (``percentile-expanded``, ``t``;
        ``percentile-expanded_logit-t`` where shares have a method of their own).
    margin : str, optional
        Smallest difference of interest, of all metrics or of each.
    look : str, optional
        Which look at growing data, ``2 of 4`` or ``any``; without it the only one.
    level : float, optional
        Confidence level, between 0 and 1.
    boot, exchanges, seed : int, optional
        Number of resamples, number of random exchanges where it differs, and the seed of both.

    Raises
    ------
    MetricInputError
        If a text is not a text, a count is not a whole number from 0, or a level is not between 0 and 1.

    Examples
    --------
    >>> signature = Signature(attune="0.1", metric="emotion_f1", filter="age > 30", n=200, level=0.95)
    >>> str(signature)
    'attune:0.1|metric:emotion_f1|filter:age%20%3E%2030|n:200|level:0.95'
    >>> Signature.parse(str(signature)) == signature
    True
    """

    attune: str
    benchmark: str | None = None
    metric: str
    protocol: str | None = None
    variant: str | None = None
    mode: str | None = None
    codebook: str | None = None
    settings: str | None = None
    data: str | None = None
    runs: str | None = None
    scores: str | None = None
    labels: str | None = None
    filter: str | None = None
    repeats: str | None = None
    n: int | None = None
    clusters: int | None = None
    excluded: int | None = None
    unit: str | None = None
    draw: str | None = None
    weight: str | None = None
    interval: str | None = None
    margin: str | None = None
    look: str | None = None
    level: float | None = None
    boot: int | None = None
    exchanges: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        for name in _NAMES:
            value = getattr(self, name)
            if (value is not None or name in _REQUIRED) and not _fits(name, value):
                raise MetricInputError(f"signature {name} {value!r:.60} is not {_expected(name)}")

    def __str__(self) -> str:
        settings = ((name, getattr(self, name)) for name in _NAMES)
        return "|".join(f"{name}:{_encode(value)}" for name, value in settings if value is not None)

    @classmethod
    def parse(cls, text: str) -> "Signature":
        """Read a signature back.

        Parameters
        ----------
        text : str
            What ``str(signature)`` gave.

        Returns
        -------
        Signature

        Raises
        ------
        MetricInputError
            If the text is not exactly what a signature is written as: an unknown or repeated setting, another order,
            a value that is not encoded or not of its kind.

        Examples
        --------
        >>> Signature.parse("attune:0.1|metric:emotion_f1|n:200").n
        200
        """
        values: dict[str, Any] = {}
        for setting in text.split("|"):
            name, colon, value = setting.partition(":")
            if not colon or name not in _NAMES:
                raise MetricInputError(
                    f"signature setting {setting!r:.60} is not name:value; names: {', '.join(_NAMES)}"
                )
            if name in values:
                raise MetricInputError(f"signature setting {name} is given twice")
            values[name] = _decode(name, value)
        for name in _REQUIRED:
            if name not in values:
                raise MetricInputError(f"signature {text!r:.60} has no {name}; is it cut off?")
        signature = cls(**values)
        if str(signature) != text:
            raise MetricInputError(f"signature {text!r:.200} is not in its one form, which is {str(signature)!r:.200}")
        return signature


_NAMES = tuple(field.name for field in fields(Signature))
_REQUIRED = ("attune", "metric")
_COUNTS = ("n", "clusters", "excluded", "boot", "exchanges", "seed")


def _fits(name: str, value: object) -> bool:
    if name in _COUNTS:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if name == "level":
        return isinstance(value, float) and 0 < value < 1
    return isinstance(value, str)


def _expected(name: str) -> str:
    if name in _COUNTS:
        return "a whole number from 0"
    return "a number between 0 and 1" if name == "level" else "a text"


# A lone surrogate is not a character but occurs in Python's texts (file names); it is encoded unchanged.
def _encode(value: str | float) -> str:
    return quote(str(value), safe="", errors="surrogatepass")


def _decode(name: str, value: str) -> str | float:
    try:
        if name in _COUNTS:
            return int(value)
        if name == "level":
            return float(value)
        return unquote(value, errors="surrogatepass")
    except ValueError:
        raise MetricInputError(f"signature {name} {value!r:.60} is not {_expected(name)}") from None


def short_signature(signature: str) -> str:
    """Return a short name of a signature: the beginning of its SHA-256.

    Parameters
    ----------
    signature : str
        What ``str(signature)`` gave.

    Returns
    -------
    str
        12 hexadecimal digits. Two of a million signatures share them with a probability of 0.2%.

    Examples
    --------
    >>> short_signature("attune:0.1|metric:emotion_f1|n:200")
    '057ef96c67d6'
    """
    return sha256(signature.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def hash_records(records: Iterable[bytes]) -> str:
    """Hash a collection of records, whatever their order.

    The first 128 bits of the SHA-256 of the sorted SHA-256 digests of the records.

    Parameters
    ----------
    records : iterable of bytes
        Canonical JSON of each record: the same record has to give the same bytes.

    Returns
    -------
    str
        32 hexadecimal digits.

    Raises
    ------
    MetricInputError
        If a record is not bytes.

    Notes
    -----
    The order of the records does not matter, how often each occurs does: order never changes a score, a repeated record
    does.

    Examples
    --------
    >>> hash_records([b"{}", b"[]"]) == hash_records([b"[]", b"{}"])
    True
    >>> hash_records([b"{}", b"{}"]) == hash_records([b"{}"])
    False
    """
    items: Iterable[object] = records
    digests = []
    for position, record in enumerate(items):
        if not isinstance(record, bytes):
            guess = "; encode it as UTF-8" if isinstance(record, str) else ""
            raise MetricInputError(f"record {position} is {type(record).__name__}, not bytes{guess}")
        digests.append(sha256(record).digest())
    return hash_digests(digests)


def hash_digests(digests: Iterable[bytes]) -> str:
    """Return what `hash_records` does, from the SHA-256 digest of each record.

    Examples
    --------
    >>> hash_digests([sha256(b"{}").digest()]) == hash_records([b"{}"])
    True
    """
    return sha256(b"".join(sorted(digests))).hexdigest()[:32]
