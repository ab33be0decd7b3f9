"""Makes the small OLE files that tests read: mails of Outlook, older workbooks."""

import struct

_SECTOR, _END, _FREE, _FAT = 512, 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def make_ole(tree):
    """Return an OLE file of streams (bytes) and storages (dicts of them) by name.

    Every stream is filled up with zeros to 4,096 bytes, below which it would lie in a stream of its own.
    """
    entries = [["Root Entry", 5, tree, _FREE, _FREE, _END, 0]]
    at = 0
    while at < len(entries):
        held = entries[at][2]
        names = list(held) if isinstance(held, dict) else []
        for number, name in enumerate(names):
            kind = 1 if isinstance(held[name], dict) else 2
            if number == 0:
                entries[at][4] = len(entries)
            after = len(entries) + 1 if number + 1 < len(names) else _FREE
            entries.append([name, kind, held[name], after, _FREE, _END, 0])
        at += 1
    body, chain = b"", []

    def add(data):
        nonlocal body
        start, count = len(chain), -(-len(data) // _SECTOR)
        body += data.ljust(count * _SECTOR, b"\0")
        chain.extend([*range(start + 1, start + count), _END])
        return start

    for entry in entries:
        if isinstance(entry[2], bytes):
            data = entry[2].ljust(4096, b"\0")
            entry[5], entry[6] = add(data), len(data)
    directory = b""
    for name, kind, _, after, child, start, size in entries:
        raw = (name + "\0").encode("utf-16-le")
        directory += raw.ljust(64, b"\0") + struct.pack("<HBBIII", len(raw), kind, 1, _FREE, after, child)
        directory += bytes(36) + struct.pack("<IQ", start, size)
    first = add(directory)
    fat = len(chain)
    chain.append(_FAT)
    assert fat < 128
    table = struct.pack("<128I", *chain, *[_FREE] * (128 - len(chain)))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6)
    head += bytes(6) + struct.pack("<9I", 0, 1, first, 0, 4096, _END, 0, _END, 0)
    return head + struct.pack("<109I", fat, *[_FREE] * 108) + body + table


def make_xls(rows, *, formats=(), hidden_column=None):
    """Return an older Excel workbook with one sheet, "Stock", of words and numbers.

    `formats` are those of the numbers of each column.
    """

    def record(kind, data):
        return struct.pack("<HH", kind, len(data)) + data

    def bof(kind):
        return record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 1997, 0, 6))

    cells = b""
    if hidden_column is not None:
        cells += record(0x007D, struct.pack("<6H", hidden_column, hidden_column, 2560, 0, 1, 0))
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            style = column + 1 if formats and not isinstance(value, str) else 0
            place = struct.pack("<HHH", row, column, style)
            if isinstance(value, str):
                cells += record(0x0204, place + struct.pack("<HB", len(value), 0) + value.encode("ascii"))
            else:
                cells += record(0x0203, place + struct.pack("<d", value))
    size = struct.pack("<IIHHH", 0, len(rows), 0, max(map(len, rows)), 0)
    styles = record(0x0031, struct.pack("<5H6B", 200, 0, 0x7FFF, 400, 0, 0, 0, 0, 0, 5, 0) + b"Arial")
    for number, code in enumerate(formats):
        styles += record(0x041E, struct.pack("<HHB", 164 + number, len(code), 0) + code.encode("ascii"))
    for number in [0, *(164 + number for number in range(len(formats)))]:
        styles += record(0x00E0, struct.pack("<HHH", 0, number, 1) + bytes(14))
    start = bof(5) + styles
    sheet_at = len(start) + 4 + 8 + len("Stock") + 4
    start += record(0x0085, struct.pack("<IBBBB", sheet_at, 0, 0, len("Stock"), 0) + b"Stock")
    return start + record(0x000A, b"") + bof(0x10) + record(0x0200, size) + cells + record(0x000A, b"")


def make_doc(body, *, notes="", note_at=0, styles=None, hidden=(), flags=0):
    """Return an older Word document.

    Args:
        body: its text, where "\\r" ends a paragraph and "\\x07" a cell or a row.
        notes: the text of its one footnote.
        note_at: the place of that footnote's mark.
        styles: by the number of a paragraph or cell, its style and its properties.
        hidden: where hidden letters begin and end.
        flags: of the document, such as 0x0100 for one with a password.
    """
    body, notes = (
        "".join(map(chr, struct.unpack(f"<{len(raw) // 2}H", raw)))
        for raw in (part.encode("utf-16-le") for part in (body, notes))
    )
    text, start = (body + notes).encode("utf-16-le", "surrogatepass"), 1024
    fkp_at = -(-(start + len(text)) // _SECTOR)

    def place(letter):
        return start + 2 * letter

    def page(places, entries, width):
        held, at = bytearray(_SECTOR), _SECTOR - 2
        struct.pack_into(f"<{len(places)}I", held, 0, *places)
        for number, entry in enumerate(entries):
            if entry:
                at = (at - len(entry)) // 2 * 2
                held[at : at + len(entry)] = entry
                held[4 * len(places) + number * width] = at // 2
        held[-1] = len(entries)
        return bytes(held)

    ends = [0, *(at + 1 for at, letter in enumerate(body + notes) if letter in "\r\x07")]
    paragraphs = []
    for number in range(len(ends) - 1):
        style, properties = (styles or {}).get(number, (0, b""))
        own = struct.pack("<H", style) + properties
        own += b"\0" * (1 - len(own) % 2)
        paragraphs.append(bytes([(len(own) + 1) // 2]) + own)
    begin, end = hidden or (0, 0)
    runs = [b"", b"\x03" + struct.pack("<HB", 0x083C, 1), b""]
    pages = page([*map(place, ends)], paragraphs, 13)
    pages += page([place(0), place(begin), place(end), place(len(body + notes))], runs, 1)
    clx = struct.pack("<BIIIHIH", 2, 16, 0, len(body + notes), 0, start, 0)
    table, where = b"", {}
    parts = {
        0x1A2: clx,
        0x102: struct.pack("<III", start, start + len(text), fkp_at),
        0xFA: struct.pack("<III", start, start + len(text), fkp_at + 1),
        0xAA: struct.pack("<IIH", note_at, len(body), 1) if notes else b"",
        0xB2: struct.pack("<III", 0, len(notes), len(notes)) if notes else b"",
    }
    for number, part in parts.items():
        where[number] = (len(table), len(part))
        table += part
    head = bytearray(start)
    struct.pack_into("<HH", head, 0, 0xA5EC, 0xC1)
    struct.pack_into("<H", head, 0x0A, flags)
    struct.pack_into("<II", head, 0x4C, len(body), len(notes))
    for number, (at, size) in where.items():
        struct.pack_into("<II", head, number, at, size)
    data = (bytes(head) + text).ljust(fkp_at * _SECTOR, b"\0") + pages
    return make_ole({"WordDocument": data, "0Table": table})


def ppt_record(kind, body, instance=0, *, container=False):
    """Return a record of a presentation."""
    return struct.pack("<HHI", instance << 4 | (0xF if container else 0), kind, len(body)) + body


def ppt_text(kind, text):
    """Return the records of a text: its kind (0 title, 1 body, 2 notes, 4 other) and its words."""
    head = ppt_record(0x0F9F, struct.pack("<I", kind))
    if text.isascii():
        return head + ppt_record(0x0FA8, text.encode())
    return head + ppt_record(0x0FA0, text.encode("utf-16-le"))


def ppt_shape(text, placeholder=None):
    """Return a shape with the records of a text."""
    held = ppt_record(0xF00D, text, container=True)
    if placeholder is not None:
        own = ppt_record(0x0BC3, struct.pack("<iBBH", 0, placeholder, 0, 0))
        held = ppt_record(0xF011, own, container=True) + held
    return ppt_record(0xF004, held, container=True)


def make_ppt(slides, *, token=0xE391C05F):
    """Return an older presentation of slides, each its listed texts, shapes, notes, if it is hidden."""
    parts, lists, notes = [], b"", b""
    for number, (listed, shapes, note, hidden) in enumerate(slides):
        show = ppt_record(0x03F9, struct.pack("<iIBBH", 0, 0, 0, 0, 4 if hidden else 0) + bytes(2))
        drawing = ppt_record(0xF003, shapes, container=True)
        parts.append(ppt_record(0x03EE, show + drawing, container=True))
        lists += ppt_record(0x03F3, struct.pack("<IIiII", len(parts) + 1, 0, 0, 256 + number, 0)) + listed
        if note:
            own = ppt_record(0x03F1, struct.pack("<II", 256 + number, 0))
            parts.append(ppt_record(0x03F0, own + ppt_shape(ppt_text(2, note)), container=True))
            notes += ppt_record(0x03F3, struct.pack("<IIiII", len(parts) + 1, 0, 0, 512 + number, 0))
    held = ppt_record(0x0FF0, lists, 0, container=True) + ppt_record(0x0FF0, notes, 2, container=True)
    parts.insert(0, ppt_record(0x03E8, held, container=True))
    places = [sum(map(len, parts[:number])) for number in range(len(parts))]
    data = b"".join(parts)
    run = struct.pack(f"<I{len(places)}I", len(places) << 20 | 1, *places)
    edit = struct.pack("<IIIIIIHH", 0, 0, 0, len(data), 1, 0, 0, 0)
    directory = ppt_record(0x1772, run)
    user = bytes(8) + struct.pack("<III", 20, token, len(data) + len(directory))
    data += directory + ppt_record(0x0FF5, edit)
    return make_ole({"PowerPoint Document": data, "Current User": user})
