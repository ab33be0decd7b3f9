"""Files and folders that hold people's content: made for their owner alone; what exists keeps its mode.

On Windows, where modes mean little, they have the rights of the folder that they are made in.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def home() -> Path:
    """Return the folder of what belongs to the user rather than to an index."""
    own = os.environ.get("ADAPTIVE_RAG_HOME")
    if own:
        return Path(own).expanduser()
    from platformdirs import user_data_path

    return user_data_path("adaptive-rag", appauthor=False)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing.

    Raises:
        FileNotFoundError: it was removed meanwhile.
        OSError: one cannot be made, or a file stands in its place.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if not folder.exists():
        raise FileNotFoundError(2, "the folder was removed as it was made", str(folder))
    if not folder.is_dir():
        raise FileExistsError(17, "a file stands in the place of the folder", str(folder))


def make_file(file: Path) -> None:
    """Make an empty file where there is none, such as one that SQLite opens then.

    Raises:
        OSError: it cannot be made.
    """
    # SQLite's word for no file at all.
    if str(file) != ":memory:":
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, FILE_MODE))


def replace_text(file: Path, text: str) -> None:
    """Replace a file at once, so that an interruption leaves the old one or the new one.

    Raises:
        OSError: it cannot be written; the old one stands.
    """
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    make_file(partial)
    if file.exists():
        partial.chmod(file.stat().st_mode & 0o777)
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, file)
