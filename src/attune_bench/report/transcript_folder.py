"""The folder beside a page, for transcripts that are too large for it."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from attune_data.io.documents import whole_folder

__all__ = ["TranscriptFolder"]

_NAME = re.compile(r"\d{3,}-.*\.html", re.DOTALL)


@dataclass
class TranscriptFolder:
    """A folder beside a page.

    Attributes
    ----------
    name : str
        Its name.
    page : str
        The name of the page.
    files : dict of str to str
        Once the page is made, what goes into the folder, by name; empty where the page holds everything.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as beside:
    ...     folder = TranscriptFolder(name="page-transcripts", page="page.html", files={"001-c1.html": ""})
    ...     folder.write(Path(beside))
    ...     [path.name for path in Path(beside, "page-transcripts").iterdir()]
    ['001-c1.html']
    """

    name: str
    page: str
    files: dict[str, str] = field(default_factory=dict)

    def check(self, parent: Path) -> None:
        """Refuse to write where something is that is no transcript.

        Raises
        ------
        FileExistsError
            Where the name is that of a file, or of a folder with anything else than transcripts in it.
        """
        target = parent / self.name
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            raise FileExistsError(f"{target} is in the way of the transcripts; move it")
        if target.is_dir():
            others = sorted(one.name for one in target.iterdir() if not (_NAME.fullmatch(one.name) and one.is_file()))
            if others:
                raise FileExistsError(f"{target} has {others[0]}, which is no transcript; move it")

    def write(self, parent: Path) -> None:
        """Write the files into the folder, in the place of earlier transcripts; all of them or none.

        Parameters
        ----------
        parent : path
            The folder that the page is in.

        Raises
        ------
        FileExistsError
            As `check`.
        OSError
            Where the folder cannot be written.
        """
        self.check(parent)
        with whole_folder(parent / self.name, replace=True) as made:
            for name, text in self.files.items():
                (made / name).write_text(text, encoding="utf-8")
