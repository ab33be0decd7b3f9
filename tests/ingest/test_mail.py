import base64
from email.message import EmailMessage

import pytest

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.loaders import LOADERS, Loader
from adaptive_rag.ingest.mail import load_eml, split_quotes
from tests.ingest.made_pdf import Text, make_pdf
from tests.ingest.spans import checked_chunks

BODY = """Dear Bo,

The key of the north gate hangs in the boat house.

On Tue, 12 Mar 2024 at 09:15, Bo Lind
<bo@saltmere.example> wrote:
> Where is the key of the north gate?
>
> On Mon, 11 Mar 2024, Ana Ruiz wrote:
>> Please shut the north gate tonight.
"""


def message(body: str = BODY, **headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {
        "From": "Ana Ruiz <ana@saltmere.example>",
        "To": "Bo Lind <bo@saltmere.example>",
        "Subject": "Re: The north gate – key",
        "Date": "Tue, 12 Mar 2024 10:42:00 +0100",
        "Message-ID": "<3@saltmere.example>",
        **headers,
    }.items():
        made[name.replace("_", "-")] = value
    made.set_content(body)
    return made


def attach(sent: EmailMessage, **files: tuple[str, bytes]) -> None:
    """Attach files of a kind, such as "text/csv", to a mail; "__" in a name is the dot before its suffix."""
    for name, (kind, data) in files.items():
        main, _, sub = kind.partition("/")
        sent.add_attachment(data, maintype=main, subtype=sub, filename=name.replace("__", "."))


def test_headers_new_text_and_each_quote_are_parts_of_their_own(read_file):
    sent = message(In_Reply_To="<2@saltmere.example>", References="<1@saltmere.example> <2@saltmere.example>")
    new, first, second = checked_chunks(read_file("a.eml", sent.as_bytes()))
    assert new["text"] == (
        "Subject: Re: The north gate – key\nFrom: Ana Ruiz <ana@saltmere.example>\n"
        "To: Bo Lind <bo@saltmere.example>\nDate: Tuesday, 12 March 2024, 10:42\n\n"
        "Dear Bo,\n\nThe key of the north gate hangs in the boat house."
    )
    assert first["text"].endswith("wrote:\n\nWhere is the key of the north gate?")
    assert second["text"] == "On Mon, 11 Mar 2024, Ana Ruiz wrote:\n\nPlease shut the north gate tonight."
    title = "Re: The north gate – key"
    assert [chunk["section"] for chunk in (new, first, second)] == [title, "quoted", "quoted"]
    assert new["metadata"] == {
        "title": title,
        "subject": title,
        "from": "Ana Ruiz <ana@saltmere.example>",
        "to": "Bo Lind <bo@saltmere.example>",
        "message_id": "<3@saltmere.example>",
        "in_reply_to": "<2@saltmere.example>",
        "thread": "<1@saltmere.example>",
        "date": "2024-03-12T10:42:00+01:00",
    }
    assert second["metadata"]["quoted"] is True


GERMAN = "Von: Bo\nGesendet: Montag\nAn: Ana\nBetreff: Tor"
FRENCH = "De : Bo\nEnvoyé : lundi\nÀ\xa0: Ana\nObjet : Porte"
ITALIAN = "Da: Bo\nInviato: lunedì\nA: Ana\nOggetto: Porta"


@pytest.mark.parametrize(
    ("text", "new", "quotes"),
    [
        ("> Are you coming?\nYes.\n> When?\nAt five.", "> Are you coming?\nYes.\n> When?\nAt five.", []),
        ("Yes.\n\n---- Original Message ----\nCome?", "Yes.", [("---- Original Message ----", "Come?")]),
        *((f"Unten.\n\n{above}\n\nWo?", "Unten.", [(above, "Wo?")]) for above in (GERMAN, FRENCH, ITALIAN)),
        ("Am Montag, 3. Juni schrieb Bo:\nWo?", "", [("Am Montag, 3. Juni schrieb Bo:", "Wo?")]),
        ("On Monday Bo wrote:\n> We do.\nI do not.", "On Monday Bo wrote:\n> We do.\nI do not.", []),
        (
            "No.\n\nOn Monday Bo\nwrote:\n> Now?\n\n-- \nAna",
            "No.\n\n-- \nAna",
            [("On Monday Bo\nwrote:", "Now?")],
        ),
        (f"Look.\n\n{GERMAN}\n\nYes.\n> Now?", "Look.", [(GERMAN, "Yes."), ("", "Now?")]),
        ("Nothing is quoted here.", "Nothing is quoted here.", []),
    ],
)
def test_only_what_lies_below_the_new_text_is_taken_for_a_quote(text, new, quotes):
    assert split_quotes(text) == (new, quotes)


@pytest.mark.parametrize(
    ("plain", "text"), [("The gate is shut.", "The gate is shut."), (" \n", "Le café est fermé.")]
)
def test_plain_text_comes_before_a_page_and_a_page_alone_is_read(read_file, plain, text):
    sent = message(plain)
    sent.add_alternative("<p>Le café est <b>fermé</b>.</p>", subtype="html", charset="latin-1")
    assert read_file("a.eml", sent.as_bytes()).text.endswith(text)


def test_attachments_beside_the_page_are_read_but_no_pictures_in_it(read_file):
    sent = message("See the table.")
    sent.add_alternative("<p>See the <b>table</b>.</p>", subtype="html")
    page = sent.get_payload()[1]
    page.make_mixed()  # as Apple Mail writes it
    attach(page, levels__csv=("text/csv", b"level;height\n1;3.6 m\n"), logo__png=("image/png", b"x"))
    source = read_file("a.eml", sent.as_bytes())
    assert source.text.endswith("Attachments: levels.csv\n\nSee the table.\n\nlevel: 1\nheight: 3.6 m")
    assert not source.notes


def test_attachments_are_read_by_their_own_loaders_and_else_named(read_file, tmp_path):
    sent = message("See the plan.")
    pdf = make_pdf(tmp_path / "plan.pdf", [[Text("The wall is 5 m high.")], [Text("It is old.")]])
    long = "level" * 400
    attach(
        sent,
        **{"../../plän__pdf": ("application/pdf", pdf.read_bytes())},
        levels__csv=("text/csv", b"level;height\n1;3.6 m\n"),
        gate__py=("text/x-python", b"class Gate:\n    pass\n"),
        wall__png=("image/png", b"\x89PNG"),
        bad__pdf=("application/pdf", b"not a PDF"),
        **{f"{long}__zip": ("application/zip", b"{}")},
    )
    sent.add_attachment(pdf.read_bytes(), maintype="application", subtype="pdf")
    sent.add_attachment(b"x", maintype="application", subtype="pgp-signature")
    sent.add_attachment(message("The older mail.", Cc="Cy <cy@saltmere.example>"))
    source = read_file("a.eml", sent.as_bytes())
    chunks = checked_chunks(source)
    parts = {chunk["section"]: chunk for chunk in chunks}
    named = source.text.splitlines()[4]
    assert named.startswith("Attachments: plän.pdf, levels.csv, gate.py, wall.png, bad.pdf, levellevel")
    assert named.endswith("level.zip, attachment.pdf") and len(named) < 1200
    plan, row = parts["plän.pdf"], parts["levels.csv"]
    assert (plan["page"], plan["metadata"]["page_end"], plan["metadata"]["attachment"]) == (1, 2, "plän.pdf")
    assert (row["page"], row["text"], row["metadata"]["row"]) == (None, "level: 1\nheight: 3.6 m", 1)
    assert {"gate.py > gate.py > Gate", "attachment.pdf"} < parts.keys()
    assert chunks[-1]["metadata"]["cc"] == "Cy <cy@saltmere.example>"
    noted = [note.split(" is ")[0] for note in source.notes]
    assert noted[:2] == ["the attachment wall.png", "the attachment bad.pdf"]
    assert noted[2].endswith("level.zip") and len(source.notes[2]) < 1200 and len(noted) == 3


def test_an_attachment_that_its_loader_fails_on_costs_itself_alone(tmp_path, monkeypatch):
    monkeypatch.setitem(LOADERS, "toy", Loader((".toy",), "builtins:divmod"))  # which takes numbers
    sent = message("See the plan.")
    attach(sent, a__toy=("application/toy", b"toy"))
    (tmp_path / "a.eml").write_bytes(sent.as_bytes())
    builder = TextBuilder()
    load_eml(tmp_path / "a.eml", builder)
    assert builder.text.endswith("See the plan.")
    assert builder.notes == [
        "the attachment a.toy cannot be read: its loader failed on it (TypeError). Save it anew or convert it"
    ]


def test_a_mailbox_has_its_messages_with_what_is_known_of_each(read_file):
    first = message(
        "The first mail.\n\n>From here on it rains.\nFrom 2024 on.", Reply_To="x@y.example"
    ).as_bytes()
    quoted = "\n\nOn Tuesday, Ana wrote:\n> The first mail.\n"
    second = message(f"The second mail.{quoted}", In_Reply_To="<3@saltmere.example>").as_bytes()
    # what is quoted and stands in the mailbox itself is not kept twice
    begin = b"From ana@saltmere.example Tue Mar 12 10:42:00 2024\n"
    source = read_file("a.mbox", begin + first + b"\n" + begin + second)
    one, two = checked_chunks(source)
    assert one["text"].endswith("The first mail.\n\nFrom here on it rains.\nFrom 2024 on.")
    assert two["text"].endswith("The second mail.")
    assert two["metadata"]["thread"] == "<3@saltmere.example>"


def test_a_mail_of_the_mailbox_is_left_out_where_a_reply_wraps_its_lines_anew(read_file):
    asked = "When is the new kitchen delivered? We had agreed on the seventh week of the year, or the eighth."
    wrapped = asked.replace("on the", "on\n> the")
    reply = f"In May.\n\nOn Tuesday, Ana wrote:\n> {wrapped}\n"
    begin = b"From ana@saltmere.example Tue Mar 12 10:42:00 2024\n"
    mails = [message(text).as_bytes() for text in (asked, reply, reply.replace("seventh", "fifth"))]
    _, answered, changed, quoted = checked_chunks(read_file("a.mbox", begin + (b"\n" + begin).join(mails)))
    assert answered["text"].endswith("In May.") and changed["text"].endswith("In May.")
    assert "fifth week" in quoted["text"]


@pytest.mark.parametrize(
    ("given", "last"), [(51, "1 more note was left out"), (60, "10 more notes were left out")]
)
def test_of_thousands_of_notes_and_of_long_ones_a_part_is_kept(given: int, last: str):
    builder = TextBuilder()
    builder.notes += [f"{number}{'x' * 3_000}" for number in range(given)]
    notes = builder.build("a.eml", "").notes
    assert (len(notes), max(map(len, notes)), notes[-1]) == (51, 2_000, last)


def test_a_note_that_each_mail_of_a_mailbox_would_repeat_is_given_once(read_file):
    signed = message("Yes.")
    attach(signed, smime__p7s=("application/pkcs7-signature", b"x"))
    mailbox = b"From ana@saltmere.example Tue Mar 12 10:42:00 2024\n" + signed.as_bytes() + b"\n"
    [note] = read_file("a.mbox", 3 * mailbox).notes
    assert note == "the attachment smime.p7s is of no kind that is read (3 times)"


def test_broken_encodings_and_headers_do_no_harm(read_file):
    data = (
        b"From: =?utf-8?q?Ana_Ru=C3=ADz?= <a@b>\r\nSubject: =?klingon?b?AAAA?= =?utf-8?b?!!!?= caf\xe9\r\n"
        b"Date: yesterday\r\nContent-Type: text/plain; charset=nonsense\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\n" + base64.b64encode("Die Tür".encode("cp1252"))
    )
    source = read_file("a.eml", data)
    assert source.text.startswith("Subject: ") and "From: Ana Ruíz <a@b>" in source.text
    assert source.text.endswith("\n\nDie Tür") and "date" not in source.records[0].metadata


@pytest.mark.parametrize("charset", ["utf-8", "cp1252"])
def test_headers_with_bytes_beyond_ascii_are_read(read_file, charset):
    head = 'From: Jörg <j@b>\nSubject: Café\nContent-Type: text/csv; name="Möwen.csv"\n\nA,B\n1,2\n'
    text = read_file("a.eml", head.encode(charset)).text
    assert text.startswith("Subject: Café\nFrom: Jörg <j@b>\nAttachments: Möwen.csv\n")


def test_a_damaged_header_does_not_lose_the_mailbox(read_file):
    begin = b"From a@b.c Tue Mar 12 10:42:00 2024\nFrom: a@b.c\nSubject: "
    mails = begin + b"Key\n\nIn the boat house.\n\n" + begin + b"=?utf-8?b?a?=\n\nBuy now.\n"
    text = read_file("a.mbox", mails).text
    assert "In the boat house." in text and "Buy now." in text


def test_a_mail_packed_as_base64_in_a_mail_is_read_with_its_headers(read_file):
    inner = base64.encodebytes(b"Subject: Ropes\nFrom: bo@example.org\n\nTen metres of rope.\n").decode()
    text = read_file(
        "a.eml",
        "Subject: Fwd\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
        "Content-Type: text/plain\n\nSee below.\n--b\nContent-Type: message/rfc822\n"
        f"Content-Transfer-Encoding: base64\n\n{inner}\n--b--\n",
    ).text
    assert "Subject: Ropes\nFrom: bo@example.org\n\nTen metres of rope." in text
