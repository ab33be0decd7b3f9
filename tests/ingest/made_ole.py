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


def make_xls(rows):
    """Return an older Excel workbook with one sheet, "Stock", of words and numbers."""

    def record(kind, data):
        return struct.pack("<HH", kind, len(data)) + data

    def bof(kind):
        return record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 1997, 0, 6))

    cells = b""
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            place = struct.pack("<HHH", row, column, 0)
            if isinstance(value, str):
                cells += record(0x0204, place + struct.pack("<HB", len(value), 0) + value.encode("ascii"))
            else:
                cells += record(0x0203, place + struct.pack("<d", value))
    size = struct.pack("<IIHHH", 0, len(rows), 0, max(map(len, rows)), 0)
    start = bof(5)
    sheet_at = len(start) + 4 + 8 + len("Stock") + 4
    start += record(0x0085, struct.pack("<IBBBB", sheet_at, 0, 0, len("Stock"), 0) + b"Stock")
    return start + record(0x000A, b"") + bof(0x10) + record(0x0200, size) + cells + record(0x000A, b"")
