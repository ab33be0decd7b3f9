"""The texts, charts and diagrams of DrawingML (ECMA-376, part 1), for the loaders of Office documents."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from adaptive_rag.ingest.equations import read_equation
from adaptive_rag.ingest.number_formats import show_number
from adaptive_rag.ingest.package import Link, local_name, read_linked
from adaptive_rag.ingest.superscripts import raise_digits
from adaptive_rag.text.tables import EMPTY_CELL, write_row

_PARAGRAPH = "{http://schemas.openxmlformats.org/drawingml/2006/main}p"


def find_shapes(element: Any) -> Iterator[Any]:
    """Yield the boxes and frames inside an element or None; alternatives for other programs are skipped."""
    for child in element if element is not None else ():
        name = local_name(child)
        if name in ("sp", "graphicFrame"):
            yield child
        elif name != "Fallback":
            yield from find_shapes(child)


def read_paragraphs(element: Any) -> Iterator[tuple[str, Any]]:
    """Yield the text and the properties (or None) of each paragraph that has text."""
    for paragraph in element.iter(_PARAGRAPH):
        if text := " ".join("".join(_read_characters(paragraph)).split()):
            yield text, paragraph.find("{*}pPr")


def _read_characters(element: Any) -> Iterator[str]:
    """Yield the characters of an element; alternatives for other programs ("Fallback") are skipped."""
    for part in element:
        match local_name(part):
            case "t":
                properties = element.find("{*}rPr")
                is_raised = properties is not None and properties.get("baseline", "0").startswith(
                    tuple("123456789")
                )
                yield raise_digits(part.text or " ") if is_raised else part.text or " "
            case "br":
                yield " "
            case "oMath":
                yield f" {read_equation(part)} "
            case "Fallback":
                continue
            case _:
                yield from _read_characters(part)


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
    titles = dict.fromkeys(map(_read_title, root.iter("{*}title")))
    if title := ", ".join(filter(None, titles)):
        yield title
    extended = root.find("{*}chartData") is not None
    yield from _write_tables(_read_extended_series(root) if extended else _read_series(root))


def _read_title(title: Any) -> str:
    """Return the text of a title, or the value that is stored for its formula."""
    text = " ".join(text for text, _ in read_paragraphs(title))
    return text or " ".join(_read_points(title).values())


class _Series(NamedTuple):
    """The name of a series, and its category names and values by index."""

    name: str
    categories: Mapping[int, str]
    values: Mapping[int, str]


def _write_tables(all_series: Iterable[_Series]) -> Iterator[str]:
    """Yield a table for each group of series with the same categories."""
    groups: list[tuple[dict[int, str], list[_Series]]] = []
    for series in all_series:
        if not series.categories and not series.values:
            continue
        for categories, members in groups:
            if all(categories.get(index, name) == name for index, name in series.categories.items()):
                categories.update(series.categories)
                members.append(series)
                break
        else:
            groups.append((dict(series.categories), [series]))
    for categories, members in groups:
        indexes = sorted({*categories, *(index for series in members for index in series.values)})
        rows = [["", *(series.name for series in members)]]
        for index in indexes:
            label = categories.get(index) or str(index + 1)
            rows.append([label, *(series.values.get(index, "") for series in members)])
        yield "\n".join(map(write_row, rows))


def _read_series(root: Any) -> Iterator[_Series]:
    """Yield the series of a chart; the sizes of bubbles are a series of their own."""
    date_setting = root.find("{*}date1904")
    since_1904 = date_setting is not None and date_setting.get("val", "1") in ("1", "true")
    for element in root.iter("{*}ser"):
        name = " ".join(_read_points(element.find("{*}tx")).values())
        categories = next(
            (_read_category_names(child, since_1904) for child in _children(element, "cat", "xVal")), {}
        )
        values = next((_read_points(child, since_1904) for child in _children(element, "val", "yVal")), {})
        yield _Series(name, categories, values)
        for child in _children(element, "bubbleSize"):
            yield _Series(f"{name or EMPTY_CELL} (size)", categories, _read_points(child, since_1904))


def _read_extended_series(root: Any) -> Iterator[_Series]:
    """Yield the series of a chart of a type that Office 2016 introduced, such as a tree map or a funnel."""
    data_by_id = {data.get("id"): data for data in root.iterfind("{*}chartData/{*}data")}
    for element in root.iter("{*}series"):
        reference = element.find("{*}dataId")
        data = data_by_id.get(reference.get("val")) if reference is not None else None
        name = " ".join((element.findtext("{*}tx/{*}txData/{*}v") or "").split())
        if data is not None:
            categories = next(map(_read_category_names, _children(data, "strDim")), {})
            yield _Series(name, categories, next(map(_read_points, _children(data, "numDim")), {}))


def _children(element: Any, *names: str) -> Iterator[Any]:
    return (child for child in element if local_name(child) in names)


def _read_category_names(element: Any, since_1904: bool = False) -> dict[int, str]:
    """Return the category names of a series by index; those in several levels are written "North, Leeds"."""
    levels = list(element.iter("{*}lvl"))
    if not levels:
        return _read_points(element, since_1904)
    inner, *outer = [_read_points(level) for level in levels]
    names = {}
    for index, name in inner.items():
        # a name on an outer level applies until the next one
        outer_names = (
            level_names[max(earlier)]
            for level_names in outer[::-1]
            if (earlier := [outer_index for outer_index in level_names if outer_index <= index])
        )
        names[index] = ", ".join([*outer_names, name])
    return names


def _read_points(element: Any, since_1904: bool = False) -> dict[int, str]:
    """Return the cached texts and numbers of a chart by index, formatted as the chart shows them."""
    if element is None:
        return {}
    number_format = element.findtext(".//{*}formatCode") or ""
    texts = {}
    for point in element.iter("{*}pt"):
        text = " ".join((point.findtext("{*}v") or point.text or "").split())
        with suppress(ValueError):  # the text is not a number
            if number_format:
                text = show_number(text, point.get("formatCode") or number_format, since_1904=since_1904)
        if text:
            texts[int(point.get("idx", 0))] = text
    return texts
