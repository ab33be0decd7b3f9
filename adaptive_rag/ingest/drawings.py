"""The texts, charts and diagrams of DrawingML (ECMA-376, part 1), for the loaders of Office documents."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from adaptive_rag.ingest.equations import read_equation
from adaptive_rag.ingest.number_formats import show_number
from adaptive_rag.ingest.package import Link, local_name, read_linked
from adaptive_rag.ingest.superscripts import raise_digits
from adaptive_rag.text.tables import EMPTY_CELL, write_row

_P = (
    "{http://schemas.openxmlformats.org/drawingml/2006/main}p",
    "{http://purl.oclc.org/ooxml/drawingml/main}p",
)


def read_paragraphs(element: Any) -> Iterator[tuple[str, Any]]:
    """Yield the text and the properties (or None) of each paragraph that has text."""
    for paragraph in element.iter(*_P):
        if text := " ".join("".join(_characters(paragraph)).split()):
            yield text, paragraph.find("{*}pPr")


def _characters(element: Any) -> Iterator[str]:
    """Yield the characters of an element; alternatives for other programs ("Fallback") are skipped."""
    for part in element:
        match local_name(part):
            case "t":
                look = element.find("{*}rPr")
                raised = look is not None and look.get("baseline", "0").startswith(tuple("123456789"))
                yield raise_digits(part.text or " ") if raised else part.text or " "
            case "br":
                yield " "
            case "oMath":
                yield f" {read_equation(part)} "
            case "Fallback":
                continue
            case _:
                yield from _characters(part)


def read_drawn(archive: zipfile.ZipFile, links: Mapping[str, Link], shape: Any) -> tuple[str, list[str]]:
    """Return a shape's kind, "chart", "diagram" or "text", and its texts; none if a part is missing."""
    if (chart := shape.find(".//{*}chart")) is not None:
        root = read_linked(archive, links, chart)
        return "chart", list(read_chart(root)) if root is not None else []
    if (diagram := shape.find(".//{*}relIds")) is not None:
        root = read_linked(archive, links, diagram, "dm")
        return "diagram", list(read_diagram(root)) if root is not None else []
    return "text", [text for text, _ in read_paragraphs(shape)]


def read_diagram(data: Any) -> Iterator[str]:
    """Yield the text of each point of a SmartArt diagram."""
    for point in data.iter("{*}pt"):
        for text, _ in read_paragraphs(point):
            yield text


def read_chart(root: Any) -> Iterator[str]:
    """Yield the text of a chart as last drawn: its title and axis titles, then its numbers.

    Series over the same categories form one table; other series have a table each.
    """
    titles = (" ".join(text for text, _ in read_paragraphs(title)) for title in root.iter("{*}title"))
    cached = (" ".join(_points(title).values()) for title in root.iter("{*}title"))
    if title := ", ".join(
        dict.fromkeys(filter(None, (one or other for one, other in zip(titles, cached, strict=True))))
    ):
        yield title
    if root.find("{*}chartData") is not None:
        yield from _tables(list(_read_extended(root)))
        return
    calendar = root.find("{*}date1904")
    since_1904 = calendar is not None and calendar.get("val", "1") in ("1", "true")
    series = []
    for one in root.iter("{*}ser"):
        name = " ".join(_points(one.find("{*}tx")).values())
        names = next((_names(each, since_1904) for each in _children(one, "cat", "xVal")), {})
        values = next((_points(each, since_1904) for each in _children(one, "val", "yVal")), {})
        series.append((name, names, values))
        series += [
            (f"{name or EMPTY_CELL} (size)", names, _points(size, since_1904))
            for size in _children(one, "bubbleSize")
        ]
    yield from _tables(series)


_Series = tuple[str, Mapping[int, str], Mapping[int, str]]


def _tables(series: Sequence[_Series]) -> Iterator[str]:
    """Write series as tables; a series is its name, the names of its categories, and its values."""
    groups: list[tuple[dict[int, str], list[_Series]]] = []
    for each in series:
        if not each[1] and not each[2]:
            continue
        for names, members in groups:
            if all(names.get(at, name) == name for at, name in each[1].items()):
                names.update(each[1])
                members.append(each)
                break
        else:
            groups.append((dict(each[1]), [each]))
    for names, members in groups:
        places = sorted({*names, *(at for _, _, values in members for at in values)})
        rows = [["", *(name for name, _, _ in members)]]
        rows += [
            [names.get(at) or str(at + 1), *(values.get(at, "") for _, _, values in members)] for at in places
        ]
        yield "\n".join(map(write_row, rows))


def _read_extended(root: Any) -> Iterator[_Series]:
    """Yield the series of a chart type introduced in Office 2016: a tree map, a funnel, a waterfall."""
    data = {each.get("id"): each for each in root.iterfind("{*}chartData/{*}data")}
    for one in root.iter("{*}series"):
        held = one.find("{*}dataId")
        kept = data.get(held.get("val")) if held is not None else None
        name = " ".join((one.findtext("{*}tx/{*}txData/{*}v") or "").split())
        if kept is not None:
            names = next(map(_names, _children(kept, "strDim")), {})
            yield name, names, next(map(_points, _children(kept, "numDim")), {})


def _children(element: Any, *names: str) -> Iterator[Any]:
    return (each for each in element if local_name(each) in names)


def _names(element: Any, since_1904: bool = False) -> dict[int, str]:
    """Return the category names of a series; categories in several levels are "North, Leeds"."""
    levels = list(element.iter("{*}lvl"))
    if not levels:
        return _points(element, since_1904)
    inner, *outer = [_points(level) for level in levels]
    names = {}
    for at, name in inner.items():
        # a name on an outer level applies until the next one
        above = (
            known[max(before)]
            for known in outer[::-1]
            if (before := [place for place in known if place <= at])
        )
        names[at] = ", ".join([*above, name])
    return names


def _points(element: Any, since_1904: bool = False) -> dict[int, str]:
    """Return the cached texts and numbers of a chart by index, formatted as the chart shows them."""
    if element is None:
        return {}
    code = element.findtext(".//{*}formatCode") or ""
    texts = {}
    for point in element.iter("{*}pt"):
        text = " ".join((point.findtext("{*}v") or point.text or "").split())
        with suppress(ValueError):  # the text is not a number
            text = show_number(text, point.get("formatCode") or code, since_1904=since_1904) if code else text
        if text:
            texts[int(point.get("idx", 0))] = text
    return texts
