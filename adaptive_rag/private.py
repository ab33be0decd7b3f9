"""Creates private files and folders, which only their owner can read; existing ones keep their mode.

On Windows, where modes mean little, they inherit the rights of the folder that they are created in.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def home() -> Path:
    """Return the folder for the user's own data: `ADAPTIVE_RAG_HOME`, or the system's default."""
    configured = os.environ.get("ADAPTIVE_RAG_HOME")
    if configured:
        return Path(configured).expanduser()
    from platformdirs import user_data_path

    return user_data_path("adaptive-rag", appauthor=False)


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents.

    Raises:
        FileNotFoundError: the folder was removed meanwhile.
        OSError: a folder cannot be created, or a file is in its place.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if not folder.exists():
        raise FileNotFoundError(2, "the folder was removed while it was created", str(folder))
    if not folder.is_dir():
        raise FileExistsError(17, "there is a file with the name of the folder", str(folder))


def make_file(file: Path) -> None:
    """Create an empty file if there is none, for example before SQLite opens it."""
    # ":memory:" is SQLite's name for a database without a file.
    if str(file) != ":memory:":
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, FILE_MODE))


def replace_text(file: Path, text: str) -> None:
    """Replace a file atomically: after an interruption, either the old or the new content is there."""
    # Each writer has a file of its own, so that none gives its name to what another has half written.
    descriptor, partial = tempfile.mkstemp(dir=file.parent, prefix=f"{file.name}.", suffix=".partial")
    try:
        with open(descriptor, "w", encoding="utf-8") as output:
            if file.exists():
                os.chmod(partial, file.stat().st_mode & 0o777)
            output.write(text)
            output.flush()
            os.fsync(output.fileno())
        os.replace(partial, file)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
