import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from tests.ingest.made_ole import make_ole


def text(number, value):
    return {f"__substg1.0_{number}001F": value.encode("utf-16-le")}


def test_a_mail_of_outlook_is_read_with_its_attachments_and_the_mail_within(tmp_path):
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
    (tmp_path / "a.msg").write_bytes(make_ole(tree))
    source = extract_text(tmp_path / "a.msg")
    assert source.metadata["title"] == "Ropes"
    assert "Subject: Ropes\nFrom: Ana Ruiz <ana@example.org>\nTo: Bo\nAttachments: list.txt" in source.text
    assert "Please buy the blue rope." in source.text
    assert "Twelve hooks." in source.text
    assert "Subject: Older\n\nThe rope is ten metres long." in source.text


def test_what_is_no_mail_of_outlook_is_named(tmp_path):
    (tmp_path / "a.msg").write_bytes(b"From: ana@example.org\n\nhello")
    with pytest.raises(IndexingError, match="is no mail of Outlook"):
        extract_text(tmp_path / "a.msg")


def test_a_text_in_compressed_rtf_alone_is_named(tmp_path):
    tree = {**text("0037", "Ropes"), "__substg1.0_10090102": b"LZFu" * 1100}
    (tmp_path / "a.msg").write_bytes(make_ole(tree))
    [note] = extract_text(tmp_path / "a.msg").notes
    assert "compressed RTF" in note
