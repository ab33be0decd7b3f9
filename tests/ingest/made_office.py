"""Adds parts to the small Office files that tests read, and makes charts as the programs keep them."""

import io
from zipfile import ZipFile

import openpyxl
from docx.oxml.parser import parse_xml

from tests.ingest.grids import rows_of, values_of

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
C = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
DGM = 'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
XDR = 'xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"'
# The links of a Word document's main part.
RELS = "word/_rels/document.xml.rels"
_NAMES = " ".join((A, C, R, W, M, MC, DGM, 'xmlns:v="urn:schemas-microsoft-com:vml"'))
_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def word(xml):
    """Return an element of a Word document, without the need to declare its namespaces."""
    name, end, rest = xml.partition(">")
    closed = "/" if name.endswith("/") else ""
    return parse_xml(f"{name.removesuffix('/')} {_NAMES}{closed}{end}{rest}")


def add_table(to, text):
    """Add a table to a Word document or to a cell of one."""
    rows = rows_of(text)
    table = to.add_table(len(rows), len(rows[0]))
    for cells, row in zip(table.rows, rows, strict=True):
        for cell, value in zip(cells.cells, row, strict=True):
            cell.text = value
    return table


def make_book(text):
    """Return an Excel workbook with these rows."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in values_of(text):
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def add_parts(path, rels, parts):
    """Add parts to a document, each with the link that leads to it from the part whose links are `rels`.

    `parts` are, by the name of each from the folder of the main part on, its kind and its bytes. The link to
    the part called "charts/a.xml" has the id "charts-a.xml".
    """
    held = read_parts(path)
    held.setdefault(
        rels, b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    )
    links = b"".join(
        f'<Relationship Id="{name.replace("/", "-")}" Type="{_KIND}{kind}" Target="{name}"/>'.encode()
        for name, (kind, _) in parts.items()
    )
    held[rels] = held[rels].replace(b"</Relationships>", b"") + links + b"</Relationships>"
    folder = rels.partition("_rels/")[0]
    held |= {folder + name: data for name, (_, data) in parts.items() if data is not None}
    write_parts(path, held)


def read_parts(path):
    """Return the parts of a document by their names."""
    with ZipFile(path) as whole:
        return {name: whole.read(name) for name in whole.namelist()}


def write_parts(path, parts):
    """Write a document of these parts."""
    with ZipFile(path, "w") as whole:
        for name, data in parts.items():
            whole.writestr(name, data)


def change_parts(path, change):
    """Change each part of a document, given its name and its bytes."""
    write_parts(path, {name: change(name, data) for name, data in read_parts(path).items()})


def chart(title, series, categories, *, code="General"):
    """Return the part of a chart with these values by the names of their series."""

    def points(values):
        kept = (
            f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values) if value != ""
        )
        return "".join(kept)

    drawn = "".join(
        f"<c:ser><c:tx><c:strRef><c:strCache>{points([name])}</c:strCache></c:strRef></c:tx>"
        f"<c:cat><c:strRef><c:strCache>{points(categories)}</c:strCache></c:strRef></c:cat>"
        f"<c:val><c:numRef><c:numCache><c:formatCode>{code}</c:formatCode>{points(values)}</c:numCache>"
        "</c:numRef></c:val></c:ser>"
        for name, values in series.items()
    )
    return (
        f"<c:chartSpace {C} {A}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p>"
        f"</c:rich></c:tx></c:title><c:plotArea><c:barChart>{drawn}</c:barChart></c:plotArea></c:chart>"
        "</c:chartSpace>"
    ).encode()


def diagram(*texts):
    """Return the part of a SmartArt diagram with these points."""
    points = "".join(
        f"<dgm:pt><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>" for text in texts
    )
    return f"<dgm:dataModel {DGM} {A}><dgm:ptLst>{points}</dgm:ptLst></dgm:dataModel>".encode()


ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{place}:1.0"'
    for name, place in [("draw", "drawing")]
    + [(name, name) for name in "office style text table presentation chart manifest".split()]
)
_KINDS = {"odt": "text", "ods": "spreadsheet", "odp": "presentation", "odg": "graphics"}


def save_open_document(path, body, styles="", manifest="", **parts):
    """Save an OpenDocument file of this body and these automatic styles; "__" in a part's name is a slash."""
    kind = _KINDS[path.suffix[1:]]
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    held = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": content,
        "META-INF/manifest.xml": f"<manifest:manifest {ODF}>{manifest}</manifest:manifest>",
    }
    write_parts(path, held | {name.replace("__", "/"): part for name, part in parts.items()})
    return path
