"""Who speaks in a passage, as its text marks it."""

import time

import pytest

from adaptive_rag.answer.contributions import Contributions, author_of
from adaptive_rag.answer.posts import find_posts
from adaptive_rag.answer.speakers import message_speaker, without_label
from adaptive_rag.text.sentences import sentence_spans
from tests.answer.made import candidate


def speaker_of(passage, start, sentence):
    return Contributions(passage).speaker_at(start, start + len(sentence))


VOICES = (
    "## Dr Amrita Solanki, engineer\n\nI recommend it.\n\n"
    "## Ruth Pascall\n\nI am against it.\n\n## Notes\n\nWe met."
)
SAME_LINE = "## Ann Lee, baker. I call it a theft.\n"
DEBATE = (
    "**Nadia Petrov (Living Streets):** I am for it. The air gets better.\n\n"
    "**Gordon Haye:** A third of our customers come by car.\n\nThe meeting ended at nine."
)
INTERVIEW = "Ana: I keep bees. They sting.\nBen: How many?\nAna: Two hives.\nPrice: 40 pounds."
LETTERS = (
    "Sir, - I am glad that homework is gone. It widened the gap.\nMargaret Dunne, teacher\n\n"
    "Dear editor, we did without.\n\nMy son reads again.\n\nSamira Khalil\n\nThe school is in Mill Road."
)
ADDRESSES = (
    "Dear Editor,\n\nThe buses stand idle. We save nothing by it.\n\nPrue Iveson\nSorrel Close\n\n"
    "Dear Sir or Madam\n\nNobody asked us.\n\nTansy Hill (15)\nby e-mail\n\n"
    "Sir,\n\nIt floods. I ask for a wall.\n\nKind Regards,\nMrs Hilary Bonnard\nclerk\nChurch Walk"
)
# The chunk begins within a letter.
CUT = "The traders were against it.\nDr Leo Strand, Marling\n\nSir,\nI drive the bus.\nDean Fairlie, Marling"
MAILS = (
    "From: Karin Holt <karin@fenn.example>\nTo: all\nSubject: Move?\n\nWhat do you think of it?\n\n---\n"
    "From: Ravi Menon\nTo: all\nSubject: Re: Move?\n\nI love it. There is room.\n\nMore by phone."
)
REPLY = "On 4 Mar Gareth Pugh wrote:\n> We answer all.\n\n> On 3 Mar Leonie Strand wrote:\n> Can I park?\n"
POSTS = (
    "A stove?\n\nhilltopgran (posted 3 Nov 2023, 20:40)\nOur bill went down.\n\n"
    "pete1971, 2 days ago\nWe sold ours.\n\nThe dust gets everywhere."
)
STARS = (
    "What guests wrote\n\n5 stars, Ola B., May\nQuiet rooms. We slept well.\n\n"
    '1 star, "NightOwl", June\nThe lift was out of order.\n\nNobody helped.\n\n3/5 - Ed Moss\nFair.'
)
BOLD_STARS = (
    "**Anna, 5 stars.** The coach was patient, and taught us a lot in two days on the lake. Clean boats.\n\n"
    "**Bert K., 2 stars:** Ice-cold showers.\n"
    "- **Dov, ★☆☆☆☆** A day on land."
)
FRAMED = (
    "--- Courier, 13 May, by H. Lorimer ---\nI was moved.\n\n--- Comment card ---\nOur first time.\n\n"
    "--- Letter of 18 May, from Mrs Holt ---\nSir, I call it slow."
)
ONE_LINE = (
    "Dear Editor, The new path is a joy. My children use it daily. R. Amadi\n\n"
    "Sir, It floods. Mrs T. Beck, Mill Lane"
)
SURVEY = (
    '- "Too loud to talk in there." (Design)\n- “The soup is always good.” – Ana Ruiz\n- A till opens in May.'
)
MINUTES = (
    "Item 5: Heat pumps\n\nMs Quill reports on the quotes. Mr Lindqvist: two units below his bedroom are out "
    "of the question. Mr Farrow (House E): the boiler is louder. Ms Bexley: wonders who pays. "
    "Decision 7: No pumps."
)
WRAPPED = (
    "Cllr Anne-Marie Kettle: the shelter is an eyesore and should go. Rev\nOsgood: People wait there. "
    "Mr O'Dowd wondered who pays. He has no car. Cllr Kettle: Sell it! It was agreed to ask."
)
DECIDED = "Ann Lee: I like the new food.\nTom Krüger: I do not.\nThe meeting decided to wait."
GERMAN = "Frau Meier: Der Zaun ist teuer. Herr Özdemir: Ich bin dafür. Beschluss: Der Zaun kommt."
BOARD = (
    "Ms Quill is ill. Quill: the riser is from 1969. Drosdy: 2025 is too soon. Noise: 33 decibels at night."
)
ONE_SENTENCE = (
    "Mr Holt: a fence is ugly; Ms Dray: it keeps the deer out. Mr Pym: too dear, Ms Dray: never. Done."
)
MENTION = "Mr Holt: I met Ms Dray: she is nice. We should ask her."
SPEECH = (
    "**Tom Holt:** I saw no deer. The proposal is bad. Ms Dray says they eat. It costs 900 pounds. "
    "My roses bloom.\n\nThey left."
)
TIMED = "[2025-09-29 11:12] Odile Farkas: it does not scale.\n\n[Draft] Water Tank: 5 litres."
QUOTES = "Mr Pym: “Too expensive.” The room laughed. Ms Quill: “No,” and she left."
LETTER = (
    "Anna Holt\nGarden 7\n\nDear committee,\n\nFirst: I think the fence is ugly. Second: I never saw deer. "
    "Mr Pym: they come at night. I sleep. Ms Dray: “I do not.” I smile.\n\nPS: I like the shed.\n\n"
    "Yours\nAnna Holt"
)
JOINT = "Dear board,\n\nWe are against the lift.\n\nYours\nBruno Marchetti   Livia Marchetti\n"
SPEC = (
    "Power Supply: 230 V. Water Tank: 5 litres. We deliver it. Contact Person: our office. "
    "Opening Hours: I ask."
)
REPORTS = (
    "Annual Report, May 2024\n\nWe planted trees.\n\nAnnual Report, May 2024\n\nOur plan is to plant more."
    "\n\nDecision 7\n\nWe wait."
)
DATED = (
    "Tarnholm, 3 May 2024\n\nDear Ms Holt,\n\nI pay too much.\n\nYours\nBo Lund\n\n"
    "Exley, 5 May 2024\n\nDear Mr Lund,\n\nWe are sorry.\n\nYours\nMs Ada Holt"
)
BYLINE = (
    "## The caretaker\n\n*by Leo Anstey, audit*\n\nIn my view he stays.\n\n## Dates\n\nMy party is in May."
)
BY_RULES = (
    "Dear all, I would drain it. It smells in August.\n\n----------\n"
    "From: Una Weir, clerk\n2 May 2025\n\nI was asked, so here it is.\n\nWe meet there.\n\nUna B. Weir"
)
SHORT_NAME = "Dear all,\n\nI would drain it.\n\nOdo\n\nThe pond\n\nWe met there.\n\nUna Weir"


@pytest.mark.parametrize(
    ("text", "sentence", "speaker"),
    [
        # the nearest heading names the speaker
        (VOICES, "I recommend it.", "Dr Amrita Solanki, engineer"),
        (VOICES, "I am against it.", "Ruth Pascall"),
        (VOICES, "We met.", None),
        (SAME_LINE, "## Ann Lee, baker.", None),
        (SAME_LINE, "I call it a theft.", "Ann Lee, baker."),
        # so does a label or a signature
        (DEBATE, "The air gets better.", "Nadia Petrov (Living Streets)"),
        (DEBATE, "A third of our customers come by car.", "Gordon Haye"),
        (DEBATE, "The meeting ended at nine.", None),
        (INTERVIEW, "They sting.", "Ana"),
        (INTERVIEW, "40 pounds.", None),
        (LETTERS, "It widened the gap.", "Margaret Dunne, teacher"),
        (LETTERS, "we did without.", "Samira Khalil"),
        (LETTERS, "The school is in Mill Road.", None),
        (ADDRESSES, "The buses stand idle.", "Prue Iveson"),
        (ADDRESSES, "Nobody asked us.", "Tansy Hill (15)"),
        (ADDRESSES, "I ask for a wall.", "Mrs Hilary Bonnard"),
        ("The Warning: I never said so.", "I never said so.", None),
        (CUT, "The traders were against it.", "Dr Leo Strand, Marling"),
        ("- **Late Fees:** We charge 2 pounds.\n- **Sick Pay:** We pay it.", "We charge 2 pounds.", None),
        ("Mrs Callender: The roof leaks.", "The roof leaks.", "Mrs Callender"),
        ("Dear Editor,\n\nI ask for a wall.\n\nKind Regards\nAnn Holt", "I ask for a wall.", "Ann Holt"),
        ("Otterby Bees, founded 1921. Address: Gasworks Lane.", "Address: Gasworks Lane.", None),
        # so does a header, or what follows a quote
        (MAILS, "What do you think of it?", "Karin Holt"),
        (REPLY, "Can I park?", "Leonie Strand"),
        (POSTS, "A stove?", None),
        (POSTS, "Our bill went down.", "hilltopgran"),
        ("Lunch (12:30)\nSoup.\n\nTea (16:00)\nCake.", "Cake.", None),
        ("Valid from 1 May 2026.\n\nPay came on 27 March. I hope.\n\nWe pay.", "We pay.", None),
        ("10 Plan 2030 19\n\nOdo Beck, May 2025\nI wrote this.\n\nWe pay.", "We pay.", None),
        ("## 1. Fees from 1 March\n\nWe wait.\n\nOdo Beck, May 2025\nI wrote this.", "We wait.", None),
        (STARS, "What guests wrote", None),
        (STARS, "We slept well.", "Ola B."),
        (STARS, "Nobody helped.", "NightOwl"),
        (FRAMED, "I was moved.", "Courier"),
        (FRAMED, "Our first time.", None),
        (BOLD_STARS, "Clean boats.", "Anna"),
        (BOLD_STARS, "A day on land.", "Dov"),
        ("**Jun P., 4 stars, 21 May.** The queue was long.\n\n**Kay, 1 star.** No.", "The queue", "Jun P."),
        ("# Falls, July\n\n| Kind | July |\n|---|--:|\n| Slips | 1 |\n\nWe fell.", "We fell.", None),
        ("**Wet, 5 stars.** A lake.\n\n**Never** go.", "A lake.", None),
        (ONE_LINE, "The new path is a joy.", "R. Amadi"),
        ("Sir, It floods. Nobody came.", "It floods.", None),
        ("Hi team, the stand-up moves to 9:30. Thanks, Priya", "the stand-up moves", None),
        ("Dear all, the lift is out of order. Kind regards, Mrs Holt", "the lift is out", "Mrs Holt"),
        ("Dear all, the lift is out of order. Please use the stairs", "the lift is out", None),
        ("Sir John Soane designed the bank. It opened in 1788", "It opened in 1788", None),
        (SURVEY, "Too loud to talk in there.", "Design"),
        (SURVEY, "The soup is always good.", "Ana Ruiz"),
        (SURVEY, "A till opens in May.", None),
        # no words are put into the mouth of who spoke before
        (MINUTES, "Ms Quill reports", None),
        (MINUTES, "Mr Lindqvist: two units", "Mr Lindqvist"),
        (MINUTES, "Mr Farrow (House E): the boiler", "Mr Farrow (House E)"),
        (MINUTES, "Ms Bexley: wonders", "Ms Bexley"),
        (MINUTES, "Decision 7: No pumps", None),
        (WRAPPED, "Cllr Anne-Marie Kettle: the", "Cllr Anne-Marie Kettle"),
        (WRAPPED, "Rev\nOsgood: People", "Rev Osgood"),
        (WRAPPED, "Mr O'Dowd wondered", None),
        (WRAPPED, "He has no car.", None),
        (DECIDED, "I do not.", "Tom Krüger"),
        (DECIDED, "The meeting decided to wait.", None),
        (GERMAN, "Herr Özdemir: Ich", "Herr Özdemir"),
        (GERMAN, "Beschluss: Der", None),
        (BOARD, "Quill: the riser", "Quill"),
        (BOARD, "Drosdy: 2025", None),
        (BOARD, "Noise: 33", None),
        (ONE_SENTENCE, "Mr Holt: a fence is ugly; Ms Dray: it keeps the deer out.", None),
        (ONE_SENTENCE, "Mr Pym: too dear, Ms Dray: never.", None),
        (MENTION, "Mr Holt: I met Ms Dray: she is nice.", None),
        (MENTION, "We should ask her.", None),
        (SPEECH, "The proposal is bad.", "Tom Holt"),
        (SPEECH, "Ms Dray says they eat.", None),
        (SPEECH, "It costs 900 pounds.", None),
        (TIMED, "[2025-09-29 11:12] Odile Farkas: it", "Odile Farkas"),
        (TIMED, "[Draft] Water Tank: 5", None),
        (QUOTES, "Mr Pym: “Too", "Mr Pym"),
        (QUOTES, "The room laughed.", None),
        (QUOTES, "Ms Quill: “No,” and she left.", None),
        # who wrote a text is named by its signature, and not by a label or a page header
        (LETTER, "First: I think", "Anna Holt"),
        (LETTER, "Ms Dray: “I do not.”", "Ms Dray"),
        (LETTER, "Yours\nAnna Holt", None),
        (JOINT, "We are against the lift.", "Bruno Marchetti and Livia Marchetti"),
        ("Dear board,\n\nI agree.\n\nYours\nAnn and Bo Lee\n", "I agree.", "Ann and Bo Lee"),
        (SPEC, "We deliver it.", None),
        (SPEC, "Opening Hours: I ask.", None),
        ("However: I doubt it. Also: I ask.", "However: I doubt it.", None),
        (REPORTS, "We planted trees.", None),
        (REPORTS, "We wait.", None),
        (DATED, "I pay too much.", "Bo Lund"),
        (DATED, "We are sorry.", "Ms Ada Holt"),
        (BYLINE, "In my view he stays.", "Leo Anstey, audit"),
        (BYLINE, "*by Leo Anstey, audit*", None),
        (BYLINE, "My party is in May.", None),
        # a letter is not signed by who wrote the next one
        (BY_RULES, "I would drain it.", None),
        (SHORT_NAME, "I would drain it.", None),
    ],
)
def test_a_sentence_has_the_speaker_that_its_text_marks_and_else_none(text, sentence, speaker):
    assert speaker_of(candidate(text), text.index(sentence), sentence) == speaker


@pytest.mark.parametrize(
    "text", ["# Wall\n" * 3000, "# Ann Lee, baker\n\nI am.\n\n" * 800, "# Ann Lee\n\n" + "We are. " * 2500]
)
def test_the_headings_of_a_long_chunk_are_read_in_linear_time(text):
    contributions, spans = Contributions(candidate(text)), sentence_spans(text, 0)
    started = time.perf_counter()
    for start, end in spans:
        contributions.speaker_at(start, end)
    assert len(spans) > 1500 and time.perf_counter() - started < 2


def test_a_section_that_began_before_the_chunk_names_the_speaker():
    document = candidate("I say no.", start=300) | {"section": "Debate > Ruth Pascall, farmer"}
    assert speaker_of(document, 300, "I say no.") == "Ruth Pascall, farmer"


def test_words_before_the_heading_are_not_put_in_its_mouth():
    text = "I say no.\n\nRuth Pascall, farmer\n\nI say yes."
    document = candidate(text) | {"section": "Debate > Ruth Pascall, farmer"}
    assert speaker_of(document, 0, "I say no.") is None
    assert speaker_of(document, text.index("I say yes."), "I say yes.") == "Ruth Pascall, farmer"


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ("Dear Editor,", "I say no."),  # a salutation
        ("Ruth Pascall, farmer", "It rains."),  # a plain statement
        ("ON OTHER MATTERS", "I should have said so."),
        ("Machine Learning", "It changes how we live."),  # only "we", which needs more than a name
    ],
)
def test_a_section_that_names_nobody_who_says_i_is_no_speaker(section, text):
    assert speaker_of(candidate(text) | {"section": section}, 0, text) is None


@pytest.mark.parametrize(
    ("text", "author"),
    [
        ("guest: Olu\nstars: 1\nreview: A party next door until three, and no refund was offered.", "Olu"),
        ("name: Ines\ntext: The road is loud at night, so we slept badly in the tent.", "Ines"),
        ("part: Hinge\ntext: The hinge is made of brass and holds doors of up to forty kilos.", None),
        ("guest: Olu\nstars: 1", None),
    ],
)
def test_a_row_that_somebody_wrote_names_its_author(text, author):
    assert author_of(candidate(text) | {"metadata": {"row": 1}}) == author
    assert author_of(candidate(text)) is None


def test_the_name_of_a_column_is_no_speaker():
    row = candidate("Date: 2025-04-03\nReview: I waited an hour.") | {"metadata": {"row": 1}}
    assert speaker_of(row, row["text"].index("I waited"), "I waited an hour.") is None


def test_a_sentence_is_shown_without_its_label_or_salutation():
    assert without_label("**Nadia Petrov:** I am for it.", "Nadia Petrov (chair)") == "I am for it."
    assert without_label("Rev\nOsgood: I am for it.", "Rev Osgood") == "I am for it."
    assert without_label("Bo Lund: I am for it.", "Nadia Petrov") == "Bo Lund: I am for it."
    assert without_label("Sir, - I am glad.", "Ann Lee") == "I am glad."
    assert without_label("**Anna, 5 stars.** The coach was patient.", "Anna") == "The coach was patient."
    assert without_label("**Terrible.** The coach was late.", "Anna") == "**Terrible.** The coach was late."
    assert without_label("The wall: it is old.", "Ann Lee") == "The wall: it is old."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("“I am for it.", "I am for it."),
        ('We must wait."', "We must wait."),
        ('"I am for it."', "I am for it."),
        ('“They call it "new".', 'They call it "new".'),
        ('"OK" is not a temperature.', '"OK" is not a temperature.'),
        ("They answered “no”", "They answered “no”"),
    ],
)
def test_quotation_marks_are_left_out_only_around_the_words_of_the_speaker(text, shown):
    assert without_label(text, "Ann Lee") == shown


def test_who_answers_speaks_in_a_question_with_its_answer():
    assert message_speaker("Ana: “Are you sad?” Frank: “No. It goes on.”") == "Frank"
    assert message_speaker("Leila (13:31): “marketing says yes”") == "Leila"
    assert message_speaker("The sign says “No”.") is None


def test_a_surname_from_another_passage_names_a_speaker_but_not_a_price():
    text = "Osterlee: the members have to decide again. Price: 4.20 euros."
    contributions = Contributions(candidate(text), {"Osterlee", "Price"})
    assert contributions.speaker_at(0, text.index(" Price")) == "Osterlee"
    assert contributions.speaker_at(text.index("Price"), len(text)) is None


SENT = {"from": '"Ana Ruiz" <ana@fenn.example>', "subject": "Lift"}
ANSWERED = (
    "Subject: Lift\nFrom: Ana Ruiz <ana@fenn.example>\n\nHello,\n\nI am for it.\n\n"
    "> On 2 June 2024 Bo Lund wrote:\n> I am against it.\n\nThat is silly. Mr Pym: “Too dear.”\n\n"
    "> The stairs are steep.\n\nThey are.\n\n--\nThis mail may be secret."
)


@pytest.mark.parametrize(
    ("sentence", "speaker"),
    [
        ("From: Ana Ruiz <ana@fenn.example>", None),
        ("I am for it.", "Ana Ruiz"),
        ("> I am against it.", "Bo Lund"),
        ("That is silly.", "Ana Ruiz"),
        ("Mr Pym: “Too dear.”", "Mr Pym"),
        ("> The stairs are steep.", None),
        ("They are.", "Ana Ruiz"),
        ("This mail may be secret.", None),
    ],
)
def test_a_mail_names_its_sender_and_who_wrote_the_lines_that_it_quotes(sentence, speaker):
    mail = candidate(ANSWERED, metadata=SENT)
    assert speaker_of(mail, ANSWERED.index(sentence), sentence) == speaker


INSERTED = (
    "Dear Ana, dear Zoe,\n\nI am for it.\n\n{head} Bo, I read it twice. You are not alone. Z.\n\n"
    "I wait for your word.\n\nBo Lund"
)


@pytest.mark.parametrize(
    ("head", "speaker"),
    [
        ("Zoe's answer, so that you have it:", "Zoe"),
        ("(Note by Zoe Kern:", "Zoe Kern"),
        ("Reply from Ms Kern:", "Ms Kern"),
        ("Today's note:", None),
    ],
)
def test_what_somebody_else_inserted_is_not_by_the_sender(head, speaker):
    text = INSERTED.format(head=head)
    mail = candidate(text, metadata={"from": "Bo Lund", "subject": "Lift"})
    assert speaker_of(mail, text.index("I am for it."), "I am for it.") == "Bo Lund"
    assert speaker_of(mail, text.index("You are not"), "You are not alone.") == speaker
    assert speaker_of(mail, text.index("I wait"), "I wait for your word.") == "Bo Lund"


@pytest.mark.parametrize("day", ["Thu", "Wednesday", "Sun."])
def test_the_weekday_in_a_header_is_nobody(day):
    text = f"On {day}, 30 May 2024 at 22:41, Bo Lund wrote:\n\nI am against it."
    mail = candidate(text, metadata=SENT | {"quoted": True})
    assert speaker_of(mail, text.index("I am"), "I am against it.") == "Bo Lund"


def test_only_a_mail_in_the_first_person_has_its_sender_as_speaker():
    text = "The lift comes in May."
    quoted = "On 2 June 2024 Bo Lund wrote:\n\nI am against it."
    assert speaker_of(candidate(text, metadata=SENT), 0, text) is None
    assert speaker_of(candidate(f"{text} We hope.", metadata=SENT), 0, text) == "Ana Ruiz"
    assert (
        speaker_of(candidate(quoted, metadata=SENT | {"quoted": True}), 31, "I am against it.") == "Bo Lund"
    )


def test_a_sentence_about_somebody_holds_their_view():
    text = "Ms Dray (House C) says that it is slow. Quill would like to wait. The lift is slow."
    contributions = Contributions(candidate(text), {"Quill"})
    holders = [contributions.holder_at(*span) for span in sentence_spans(text)]
    assert holders == ["Ms Dray", "Quill", None]


def test_what_a_speaker_says_about_others_is_not_their_view():
    start = SPEECH.index("Ms Dray says")
    assert Contributions(candidate(SPEECH)).holder_at(start, start + len("Ms Dray says they eat.")) is None


def test_a_review_without_a_name_has_an_author_but_no_speaker():
    review = candidate(
        "date: 2025-01-22\nstars: 2\ncomment: The noise! In the corridor it sounds like a bus all day."
    )
    review["metadata"] = {"row": 7}
    assert author_of(review) == "7"
    assert speaker_of(review, 20, "stars") is None
    assert Contributions(review).holder_at(20, 25) == "7"


@pytest.mark.parametrize(
    "header", ["From: Pia Holm, clerk\n3 May 2025", "Received 3 May 2025 from Pia Holm, clerk"]
)
def test_a_letter_from_a_file_of_several_names_its_writer(header):
    text = f"{header}\n\nDear board, I would fill it in.\n\nPia"
    letter = candidate(text, metadata={"from": "Pia Holm, clerk", "subject": "POND"})
    assert speaker_of(letter, text.index("Dear"), "Dear board, I would") == "Pia Holm, clerk"
    assert speaker_of(letter, 0, header) is None


def test_the_dated_heading_of_a_section_is_no_speaker() -> None:
    text = (
        "## Minutes\n\nI took the chair.\n\n## Follow-up 8 February\n\nI asked for a sauna. We wait for it."
    )
    assert find_posts(text, [text.index("## Follow")], is_mail=True) == []
    assert find_posts(text.replace("-up 8", "-up, 8"), [text.index("## Follow")], is_mail=True) != []
