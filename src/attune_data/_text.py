"""Text for terminals: what can be shown safely, and how wide it is."""

__all__ = ["pad", "plural", "printable", "shortened", "width"]


def printable(text: object) -> str:
    """Return text that cannot drive a terminal: control characters, line breaks, surrogates become U+FFFD."""
    return "".join(character if character.isprintable() else "\ufffd" for character in str(text))


def width(text: str) -> int:
    """Return the number of columns that text takes: wide characters take two, combining ones none."""
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Fill text with blanks to a width, after it, or before it to align it right."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def shortened(text: str, columns: int) -> str:
    """Cut text to a width, with ``...`` at its end where something was cut."""
    if width(text) <= columns:
        return text
    while width(text) > columns - 3:
        text = text[:-1]
    return f"{text}..."


def plural(count: int, singular: str, several: str | None = None) -> str:
    """Return a count with its noun, for instance ``1 run``, ``2 runs``."""
    return f"{count} {singular if count == 1 else several or f'{singular}s'}"
