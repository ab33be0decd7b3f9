"""What an index holds and how it was made: the one file that says which table version is complete."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace

from adaptive_rag.errors import IndexMismatchError
from adaptive_rag.index.location import Location

MANIFEST = "manifest.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """What every chunk of an index was made with; two indexes that differ here cannot be mixed."""

    embeddings: str
    dimension: int
    chunk_size: int
    chunk_overlap: int
    sentence_vectors: bool

    def describe(self) -> str:
        """Name the settings in one line."""
        sentences = "with" if self.sentence_vectors else "without"
        return (
            f"{self.embeddings} ({self.dimension} dimensions), chunks of {self.chunk_size} characters "
            f"with {self.chunk_overlap} overlap, {sentences} sentence vectors"
        )


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One indexed source: what it was when it was read, and the key of its chunks."""

    hash: str
    doc: str
    """Key of the source's chunks in the table: changes with the content."""
    chunks: int
    path: str | None = None
    size: int | None = None
    mtime_ns: int | None = None
    """None where the file was written so shortly before reading that its time proves nothing."""
    notes: tuple[str, ...] = ()
    """What the user should know of it, such as pages without text; indexes of older versions have none."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The complete state of an index. A new one takes the old one's place in a single step."""

    settings: Settings
    table: str
    version: int | None = None
    """Version of the table that holds exactly these sources; None before the first commit."""
    chunks: int = 0
    sources: dict[str, SourceRecord] = field(default_factory=dict)
    recall: dict[str, float] | None = None
    """What the approximate vector index finds of the exact result, and over how many chunks."""
    generation: int = 0
    committed: float = 0.0
    """When the version was written, in seconds since 1970."""

    def publish(self, location: Location) -> Manifest:
        """Write the manifest and return it as written.

        Raises:
            OSError: it cannot be written; the old one stands.
        """
        written = replace(self, generation=self.generation + 1)
        content = {"format": FORMAT, "made_by": "adaptive-rag", **asdict(written)}
        location.write(MANIFEST, json.dumps(content, ensure_ascii=False).encode())
        return written


def read_manifest(location: Location) -> Manifest | None:
    """Return the manifest of an index, or None where there is none.

    Raises:
        IndexMismatchError: the file is not a manifest of ours, or of a format we do not read.
    """
    content = location.read(MANIFEST)
    if content is None:
        return None
    try:
        raw = json.loads(content)
        if raw.pop("made_by") != "adaptive-rag":
            raise KeyError("made_by")
        found = raw.pop("format")
        if found != FORMAT:
            raise IndexMismatchError(
                f"The index {location.uri} has format {found!r}; this version reads format {FORMAT}. "
                f"{rebuild_hint(location.uri)}"
            )
        settings = Settings(**raw.pop("settings"))
        sources = {
            name: SourceRecord(**{**record, "notes": tuple(record.get("notes", ()))})
            for name, record in raw.pop("sources").items()
        }
        return Manifest(settings=settings, sources=sources, **raw)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IndexMismatchError(
            f"{location.uri} is not an index of ours: its {MANIFEST} cannot be read ({error!r}). "
            "Name another folder with --index, or move this one away."
        ) from error


def check_settings(location: Location, manifest: Manifest, wanted: Settings) -> None:
    """Refuse to mix settings in one index.

    Raises:
        IndexMismatchError: they differ; the message names both and the command that mends it.
    """
    if manifest.settings != wanted:
        raise IndexMismatchError(
            f"The index {location.uri} was made with {manifest.settings.describe()}; "
            f"asked for was {wanted.describe()}. Ask with the settings it was made with, or make it anew: "
            f"{rebuild_hint(location.uri)}"
        )


def rebuild_hint(uri: str) -> str:
    """Name the command that makes an index anew."""
    return f"adaptive-rag index PATH --index {uri} --rebuild"
