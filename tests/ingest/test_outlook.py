import struct

import pytest
from compressed_rtf import compress

from tests.ingest.made_ole import make_ole


def text(**known):
    """Return the streams of properties that are text."""
    return {f"__substg1.0_{tag[1:]}001F": value.encode("utf-16-le") for tag, value in known.items()}


SUBJECT, BODY = text(x0037="Ropes"), text(x1000="Please buy the blue rope.")


def test_a_mail_of_outlook_is_read_with_its_attachments_and_the_mail_within(read):
    inner = {**numbers(24, x3FFD=1253), **text(x0037="Older", x1000="The rope is ten metres long.")}
    hooks = {"__substg1.0_37010102": b"Twelve hooks.\n".ljust(4096)}
    source = read(
        {
            # the code page of this mail, which is not that of the mail within
            **numbers(32, x3FFD=1251),
            **text(x0C1A="Ana Ruiz", x0C1F="ana@example.org", x0E04="Bo"),
            **BODY,
            "__attach_version1.0_#00000000": {"__substg1.0_3701000D": inner},
            "__attach_version1.0_#00000001": {"__substg1.0_3707001E": "список.txt".encode("cp1251"), **hooks},
        }
    )
    assert source.metadata["title"] == "Ropes"
    assert "Subject: Ropes\nFrom: Ana Ruiz <ana@example.org>\nTo: Bo\nAttachments: список.txt" in source.text
    assert "Please buy the blue rope." in source.text
    assert "Twelve hooks." in source.text
    assert "Subject: Older\n\nThe rope is ten metres long." in source.text


def numbers(head, **known):
    """Return the stream of properties that are numbers, after a head of so many bytes."""
    entries = (struct.pack("<HHIQ", 3, int(tag[1:], 16), 0, value) for tag, value in known.items())
    return {"__properties_version1.0": bytes(head) + b"".join(entries)}


@pytest.fixture
def read(read_file):
    return lambda tree: read_file("a.msg", make_ole({**SUBJECT, **tree}))


def test_a_text_in_compressed_rtf_alone_is_read_and_a_damaged_one_named(read):
    packed = compress(rb"{\rtf1\ansi Please buy the {\b blue} rope.\par}")
    assert "Please buy the blue rope." in read({"__substg1.0_10090102": packed}).text
    [note] = read({"__substg1.0_10090102": b"LZFu" * 1100}).notes
    assert "compressed RTF that is damaged: save it as" in note


@pytest.mark.parametrize(
    ("sender", "line"),
    [
        ({"x0C1A": "Ana", "x0C1F": "/O=EXAMPLE/CN=ANA", "x5D01": "ana@example.org"}, "Ana <ana@example.org>"),
        ({"x0C1A": "ana@example.org", "x0C1F": "ana@example.org"}, "ana@example.org"),
    ],
)
def test_a_sender_has_the_address_for_mail_once(read, sender, line):
    assert f"From: {line}\n" in read({**text(**sender), **BODY}).text


def test_recipients_have_their_addresses_and_a_mail_without_headers_its_day(read):
    sent = struct.pack("<HHIQ", 0x40, 0x0039, 0, 133_547_616_000_000_000)
    tree = {**text(x0E04="Bo"), **BODY, "__properties_version1.0": bytes(32) + sent}
    for kind, name in enumerate(("Bo", "Cy", "Di"), start=1):
        own = {**text(x3001=name, x39FE=f"{name.lower()}@example.org"), **numbers(8, x0C15=kind)}
        tree[f"__recip_version1.0_#0000000{kind - 1}"] = own
    found = read(tree).text
    assert "To: Bo <bo@example.org>\nCc: Cy <cy@example.org>\nDate: Wednesday, 13 March 2024" in found
    assert "di@example.org" not in found


@pytest.mark.parametrize(
    ("tag", "page", "encoding", "said"),
    [
        ("x3FFD", 1251, "cp1251", "Купи верёвку."),
        ("x3FDE", 28592, "iso8859-2", "Kup linę, żółtą."),
        ("x3FFD", 20866, "koi8_r", "Купи верёвку."),
        ("x3FDE", 50001, "koi8-r", "Купи верёвку."),  # no code page that is known, and so that of the page
    ],
)
def test_text_of_eight_bits_is_in_the_code_page_that_the_mail_or_its_page_names(
    read, tag, page, encoding, said
):
    html = f'<html><head><meta charset="{encoding}"></head><body><p>{said}</p></body></html>'
    stream, shown = ("10130102", html) if page == 50001 else ("1000001E", said)
    tree = {**numbers(32, **{tag: page}), f"__substg1.0_{stream}": shown.encode(encoding)}
    assert said in read(tree).text


@pytest.mark.parametrize("header", ["From: Ana <", "Message-ID: <>"])
def test_a_header_that_cannot_be_parsed_does_no_harm(read, header):
    assert "Please buy the blue rope." in read({**BODY, **text(x007D=f"{header}\r\n")}).text
