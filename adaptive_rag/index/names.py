"""Names files in the index: each keeps its first name, and no two have the same."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.manifest import Manifest
from adaptive_rag.ingest import Failure, Note, SourceFile
from adaptive_rag.ingest.archives import on_disk
from adaptive_rag.ingest.documents import printable


def name_files(
    files: Sequence[SourceFile], manifest: Manifest, index: Path | None, *, are_named: bool, are_shared: bool
) -> tuple[list[tuple[SourceFile, str]], list[Failure], list[Note]]:
    """Return the files of a run under their names in the index, with their real paths; failures; and notes.

    A file keeps the name under which it was first indexed, even if a later run starts in another folder. A
    new file whose name is that of another one gets more of its folder into it, unless the caller has named
    the files (`are_named`). Of files whose names are printed alike, the second is a failure.
    """
    named, failed, notes = list[tuple[SourceFile, str]](), list[Failure](), list[Note]()
    by_path = {record.path: source for source, record in manifest.sources.items() if record.path}
    real_paths = [(file, file.real or os.path.realpath(file.path)) for file in files]
    owners: dict[str, str] = {}
    for file, real_path in sorted(real_paths, key=lambda pair: pair[1] not in by_path):
        owners.setdefault(file.source, real_path)
    taken = {by_path[real_path] for _, real_path in real_paths if real_path in by_path}
    longer: dict[str, str] = {}
    for file, real_path in real_paths:
        if owners[file.source] != real_path:
            reason = "has a name that is shown like that of another file. Rename it"
            failed.append(Failure(file.source, reason))
            continue
        source = by_path.get(real_path, file.source)
        if real_path not in by_path and not are_named:
            if source in taken or _names_other_file(file, manifest, index):
                if are_shared:
                    raise ConfigurationError(
                        f"{source!r} is already the name of another file in this index, which has shards. "
                        "Run the command in a folder above both files."
                    )
                source = _lengthen_name(file, taken, manifest)
                longer[file.source] = source
            taken.add(source)
        named.append((replace(file, source=source), real_path))
    if longer:
        (name, new_name), *others = longer.items()
        more = f". The same holds for {len(others):,} more" if others else ""
        text = f"has more of its folder in its name, since {name} is another file{more}"
        notes.append(Note(new_name, text))
    return named, failed, notes


def _names_other_file(file: SourceFile, manifest: Manifest, index: Path | None) -> bool:
    """Return whether a file's name is that of another indexed file, named in a run from another folder."""
    record = manifest.sources.get(file.source)
    if record is None or record.path is None or not on_disk(Path(record.path)).is_file():
        return False
    here, other_path = Path.cwd(), printable(Path(record.path).as_posix())
    other_folder = other_path.removesuffix(f"/{file.source}")
    if other_folder in (other_path, printable(here.as_posix())):  # a link was set to another folder
        return False
    if index is None or not Path(os.path.realpath(index)).is_relative_to(here):
        return True
    # In a copy of a folder with its index, the files are those of the original.
    return not Path(other_folder, os.path.relpath(index, here)).exists()


def _lengthen_name(file: SourceFile, taken: Collection[str], manifest: Manifest) -> str:
    """Return a file's name with as much of its folder in front as makes it unique."""
    path = Path(os.path.abspath(file.path))
    parts = path.relative_to(path.anchor).parts
    lengths = range(len(Path(file.source).parts) + 1, len(parts) + 1)
    names = (printable("/".join(parts[-length:])) for length in lengths)
    free_names = (name for name in names if name not in taken and name not in manifest.sources)
    return next(free_names, printable(path.as_posix()))
