"""What the environment and the settings of the `hf` tools say: which Hub, whether to ask it, with which token."""

import os
import re

__all__ = ["endpoint", "is_offline", "is_token", "redacted", "shown_endpoint", "timeout", "token"]


def is_token(text: str) -> bool:
    """Tell whether a text can be a token; an error about a header that cannot be sent would show it."""
    return re.fullmatch("[!-~]+", text) is not None


def redacted(text: str) -> str:
    """Return a text from the Hub, which may repeat what was sent to it, without the token."""
    from huggingface_hub import get_token

    secret = get_token()
    return text.replace(secret, "[token]") if secret else text


def token() -> str | None:
    """Return the token to read with, unless there is none or HF_HUB_DISABLE_IMPLICIT_TOKEN forbids to send it."""
    from huggingface_hub import constants, get_token

    return None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()


def timeout() -> float:
    """Return the seconds within which the Hub must begin to answer."""
    from huggingface_hub import constants

    return float(constants.HF_HUB_ETAG_TIMEOUT)


def endpoint() -> str:
    """Return HF_ENDPOINT as it is now; the client library reads it once, when it is imported."""
    from huggingface_hub import constants

    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or constants.ENDPOINT


def shown_endpoint() -> str:
    """Return the Hub's address without a name and password in it."""
    return re.sub(r"//[^/]*@", "//", endpoint())


def is_offline() -> bool:
    """Tell whether the user forbids the network."""
    from huggingface_hub import is_offline_mode

    return is_offline_mode() or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
