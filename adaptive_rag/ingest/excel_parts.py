"""The parts of an Excel sheet other than its cells: drawings, comments, embedded files, table definitions."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field

from adaptive_rag.ingest.drawings import find_shapes, read_drawn
from adaptive_rag.ingest.package import read_links, read_xml


@dataclass
class SheetParts:
    """The drawings, comments, embedded files and tables of a sheet."""

    shapes: list[str] = field(default_factory=list)
    """The text of each box, diagram and chart."""
    charts_without_values: int = 0
    comments: int = 0
    embedded: list[str] = field(default_factory=list)
    """The names of the archive's members that are embedded files."""
    header_areas: list[str] = field(default_factory=list)
    """The ranges of tables whose first row names their columns: "A3:F20"."""
    filtered: bool = False
    """Whether a filter hides some rows of a table."""


def read_sheet_parts(archive: zipfile.ZipFile, sheet: str) -> SheetParts:
    """Read the drawings, comments, files and tables of a sheet; missing parts are ignored."""
    parts = SheetParts()
    names = set(archive.namelist())
    for link in read_links(archive, sheet).values():
        if link.kind in ("oleObject", "package"):
            parts.embedded.append(link.target)
        if link.kind not in ("drawing", "comments", "table") or link.target not in names:
            continue
        root = read_xml(archive, link.target, recover=True)
        if root is None:
            continue
        match link.kind:
            case "drawing":
                links = read_links(archive, link.target)
                for shape in find_shapes(root):
                    kind, texts = read_drawn(archive, links, shape)
                    parts.charts_without_values += kind == "chart" and not any("\n" in text for text in texts)
                    parts.shapes += ["\n".join(texts)] if texts else []
            case "comments":
                parts.comments += sum(1 for _ in root.iter("{*}comment"))
            case "table":
                parts.header_areas += [root.get("ref", "")] if root.get("headerRowCount", "1") != "0" else []
                parts.filtered |= root.find(".//{*}filterColumn") is not None
    return parts
