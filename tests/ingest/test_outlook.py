import struct

import pytest
from compressed_rtf import compress

from tests.ingest.made_ole import make_ole


def text(number, value):
    return {f"__substg1.0_{number}001F": value.encode("utf-16-le")}


def test_a_mail_of_outlook_is_read_with_its_attachments_and_the_mail_within(read_file):
    inner = {**text("0037", "Older"), **text("1000", "The rope is ten metres long.")}
    tree = {
        **text("0037", "Ropes"),
        **text("0C1A", "Ana Ruiz"),
        **text("0C1F", "ana@example.org"),
        **text("0E04", "Bo"),
        **text("1000", "Please buy the blue rope."),
        "__attach_version1.0_#00000000": {
            **text("3707", "list.txt"),
            "__substg1.0_37010102": b"Twelve hooks.\n".ljust(4096),
        },
        "__attach_version1.0_#00000001": {"__substg1.0_3701000D": inner},
    }
    source = read_file("a.msg", make_ole(tree))
    assert source.metadata["title"] == "Ropes"
    assert "Subject: Ropes\nFrom: Ana Ruiz <ana@example.org>\nTo: Bo\nAttachments: list.txt" in source.text
    assert "Please buy the blue rope." in source.text
    assert "Twelve hooks." in source.text
    assert "Subject: Older\n\nThe rope is ten metres long." in source.text


def numbers(head, **known):
    """Return the stream of properties that are numbers, after a head of so many bytes."""
    entries = (struct.pack("<HHIQ", 3, int(tag[1:], 16), 0, value) for tag, value in known.items())
    return {"__properties_version1.0": bytes(head) + b"".join(entries)}


def test_a_text_in_compressed_rtf_alone_is_read(read_file):
    packed = compress(rb"{\rtf1\ansi Please buy the {\b blue} rope.\par}")
    tree = {**text("0037", "Ropes"), "__substg1.0_10090102": packed}
    assert "Please buy the blue rope." in read_file("a.msg", make_ole(tree)).text


def test_a_text_in_compressed_rtf_that_is_damaged_is_named(read_file):
    tree = {**text("0037", "Ropes"), "__substg1.0_10090102": b"LZFu" * 1100}
    [note] = read_file("a.msg", make_ole(tree)).notes
    assert "compressed RTF that is damaged: save it as" in note


@pytest.mark.parametrize(
    ("tag", "page", "encoding"),
    [("x3FFD", 1251, "cp1251"), ("x3FDE", 28592, "iso8859-2"), ("x3FFD", 20866, "koi8_r")],
)
def test_text_of_eight_bits_is_in_the_code_page_that_the_mail_names(read_file, tag, page, encoding):
    said = "Купи верёвку." if page in (1251, 20866) else "Kup linę, żółtą."
    tree = {
        **numbers(32, **{tag: page}),
        "__substg1.0_0037001E": b"Ropes",
        "__substg1.0_1000001E": said.encode(encoding),
    }
    assert said in read_file("a.msg", make_ole(tree)).text


def test_recipients_have_their_addresses_and_a_mail_without_headers_its_day(read_file):
    sent = struct.pack("<HHIQ", 0x40, 0x0039, 0, 133_547_616_000_000_000)
    people = [("Bo", "bo@example.org", 1), ("Cy", "cy@example.org", 2), ("Di", "di@example.org", 3)]
    tree = {
        **text("0037", "Ropes"),
        **text("0E04", "Bo"),
        **text("1000", "Buy it."),
        "__properties_version1.0": bytes(32) + sent,
    }
    for number, (name, address, kind) in enumerate(people):
        own = {**text("3001", name), **text("39FE", address), **numbers(8, x0C15=kind)}
        tree[f"__recip_version1.0_#0000000{number}"] = own
    source = read_file("a.msg", make_ole(tree))
    assert "To: Bo <bo@example.org>\nCc: Cy <cy@example.org>\nDate: Wednesday, 13 March 2024" in source.text
    assert "di@example.org" not in source.text


def test_a_page_is_in_the_letters_that_it_names_where_the_mail_names_no_code_page_that_is_known(read_file):
    said = "Купи верёвку."
    page = f'<html><head><meta charset="koi8-r"></head><body><p>{said}</p></body></html>'
    tree = {
        **numbers(32, x3FDE=50001),
        **text("0037", "Ropes"),
        "__substg1.0_10130102": page.encode("koi8-r"),
    }
    assert said in read_file("a.msg", make_ole(tree)).text


def test_the_code_page_of_a_mail_within_holds_for_that_mail_alone(read_file):
    inner = {**numbers(24, x3FFD=1253), **text("0037", "Older"), **text("1000", "Ten metres.")}
    tree = {
        **numbers(32, x3FFD=1251),
        **text("0037", "Ropes"),
        **text("1000", "Buy it."),
        "__attach_version1.0_#00000000": {"__substg1.0_3701000D": inner},
        "__attach_version1.0_#00000001": {
            "__substg1.0_3707001E": "список.txt".encode("cp1251"),
            "__substg1.0_37010102": b"Twelve hooks.\n".ljust(4096),
        },
    }
    assert "список.txt" in read_file("a.msg", make_ole(tree)).text


@pytest.mark.parametrize("header", ["From: Ana <", "Message-ID: <>"])
def test_a_header_that_cannot_be_parsed_does_no_harm(read_file, header):
    tree = {**text("0037", "Ropes"), **text("1000", "Buy the blue rope."), **text("007D", f"{header}\r\n")}
    assert "Buy the blue rope." in read_file("a.msg", make_ole(tree)).text
