"""What an Excel sheet holds besides its cells: drawings, comments, embedded files and table definitions."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from adaptive_rag.ingest.drawings import read_drawn
from adaptive_rag.ingest.package import local_name, read_links, read_xml


@dataclass
class Beside:
    """The drawings, comments, embedded files and tables of a sheet."""

    shapes: list[str] = field(default_factory=list)
    """The text of each box, diagram and chart."""
    charts: int = 0
    """The number of charts without stored values."""
    comments: int = 0
    embedded: list[str] = field(default_factory=list)
    """The archive parts that hold an embedded file."""
    headers: list[str] = field(default_factory=list)
    """The ranges of tables whose first row names their columns: "A3:F20"."""
    filtered: bool = False
    """Whether a filter hides some rows of a table."""


def read_beside(archive: zipfile.ZipFile, sheet: str) -> Beside:
    """Read the drawings, comments, files and tables of a sheet; missing parts are ignored."""
    beside = Beside()
    names = set(archive.namelist())
    for link in read_links(archive, sheet).values():
        if link.kind in ("oleObject", "package"):
            beside.embedded.append(link.target)
        if link.kind not in ("drawing", "comments", "table") or link.target not in names:
            continue
        root = read_xml(archive, link.target, recover=True)
        if root is None:
            continue
        match link.kind:
            case "drawing":
                links = read_links(archive, link.target)
                for shape in _drawn(root):
                    kind, texts = read_drawn(archive, links, shape)
                    beside.charts += kind == "chart" and not any("\n" in text for text in texts)
                    beside.shapes += ["\n".join(texts)] if texts else []
            case "comments":
                beside.comments += sum(1 for _ in root.iter("{*}comment"))
            case "table":
                beside.headers += [root.get("ref", "")] if root.get("headerRowCount", "1") != "0" else []
                beside.filtered |= root.find(".//{*}filterColumn") is not None
    return beside


def _drawn(element: Any) -> Iterator[Any]:
    """Yield the boxes and frames of a drawing; alternatives for other programs are skipped."""
    for child in element:
        name = local_name(child)
        if name in ("sp", "graphicFrame"):
            yield child
        elif name != "Fallback":
            yield from _drawn(child)
