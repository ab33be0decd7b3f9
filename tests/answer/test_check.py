import random
import time

import pytest

from adaptive_rag.answer.check import ShownPassages, ground, review_draft
from adaptive_rag.answer.citations import read_markers
from tests.answer.made import candidate, request, sentences_of, vectors

DOCUMENTS = [
    candidate("The Long Wall was built between 1955 and 1958. It protects 1,162 homes in the low town."),
    candidate("The ferry is not free. Tickets are sold at the harbour office."),
]


def grounded(answer, documents=DOCUMENTS):
    claims = read_markers(answer, len(documents)).claims
    shown = ShownPassages(documents, [sentences_of(document) for document in documents])
    return ground(claims, vectors([c.text for c in claims]), shown)


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        ("The Long Wall was built between 1955 and 1958 [1].", 1.0),
        ("The wall protects 2,000 homes in the low town [1].", 0.0),
        ("The Long Wall was built between 1955 and 1958 [1][2].", 1.0),
        ("The ferry is free [2].", 0.0),
        ("The ferry is not free [2].", 1.0),
        ("The Long Wall was built between 1955 and 1958.", 0.0),
        ("Tickets are sold at the harbour office [2]. Whales sing opera [2].", 0.5),
        ("Tickets are sold at the harbour office [2]. The ferry is not free.", 1.0),
        ("## Ferry\nTickets are sold at the harbour office [2].", 1.0),
        ("", 0.0),
    ],
)
def test_the_share_of_supported_sentences(answer, share):
    assert grounded(answer).share == share


PASSAGE = (
    "Thomas Piketty challenges the notion of the Kuznets curve. The shop is closed from 4 to 26 July. "
    "The pump P220 costs 108.00 euros. Anna Berg sued the city council in May. "
    "Members may borrow ten books for six weeks. Dogs are not allowed on the beach. "
    "Last, makers introduced the Ford Ranger, the Dodge Dakota and a van. "
    "Mazda trucks were sold as the Ford Courier. "
    "A tax drives a wedge between the price consumers pay and the price producers receive. "
    "Au pairs are unlikely to be classed as workers. Payment won't restart when it has ended. "
    "The train runs from Graz to Linz. Some rooms have a balcony. The bridge opened in 1971. "
    "In 2023 the library had 148,200 visits, 9 % more than in 2022. Donations | 64,000 | 88,000. "
    "Coil frozen | Let it defrost for one hour. Up to five days may be carried over. "
    "In hotels we recommend a humidity of 50 percent, in cellars 60 percent. A ticket costs 30 euros. "
    "Students pay 40 percent less. The European Union pays for the bridge. "
    "You qualify with a low income or with a large family. The house was sold in 1980."
)
PAY = (
    "The pay is 1,010 euros in the first year, 1,120 euros in the second and 1,250 euros in the third. "
    "You have 27 days a year. After five years you have three additional days. "
    "Up to five unused days a year lapse on 31 March. "
    "The bank finances 70 percent; the rest comes from reserves."
)
BEER = (
    "A keg of 30 l costs 78.00 euros. You pay 15 euros for each missing keg, and 50 kegs are missing. "
    "Isoamyl acetate rose from 18 to 26 degrees. A higher rate reduced the acid. "
    "Until two days before the tour we refund the full price. Tell your shift lead before the shift begins. "
    "I expect additional sales a year. Meier used a smaller range in May. Two batches were excluded. "
    "Quintero: The works council does not oppose the line. Haddad is against the line.\n\n"
    "Present: Leila Haddad, Gerda Stein.\n\n**Leila Haddad:** The line costs 960 euros.\n\n"
    "**Gerda Stein:** Our returnable bottles are refilled up to 50 times."
)
TERMS = (
    "The fare is free for people over 65. The museum opens at 3 pm. The toilets are on the first floor. "
    "The museum pass costs £79.90. A seat costs 30 pounds a month. The museum shop opens at 6.30 am. "
    "The new roof cost 1.2 million pounds. The old museum was closed in 1971. Last year a guide was hired."
)
FORMS = (
    "The gym is open from 6 am to 10 pm. The gym opened on 3 March 2019. The pool was closed in May 2020. "
    "The key of a locker costs EUR 450. Towels are included in the price. "
    "A locker weighs 4.1kg."
)
TABLE = (
    "Fee | Amount (euros) | Due\nFull plot | 84 | 1 March\nHalf plot | 46 | 1 March\nShed | 9 | 1 June\n\n"
    "In living rooms we recommend a humidity of 50 percent, in cellars 60 percent. "
    "The sauna closes at 20:00 on Tuesdays. "
    "More recent work by Ruth Ellery points out that the locks were too narrow for larger boats. "
    "The engineer Josiah Thorne planned the tunnel."
)
MEETING = (
    "The proposal was adopted by 52 votes to 31. A proposal to install six charging points was rejected by "
    "45 votes to 38, because the cost was not covered by a grant. The old lift passed its inspection in "
    "November without a remark. The price has since risen to 173,500 pounds, because a supplier withdrew. "
    "The office is open from 08:00 to 18:00. Form 6 must be sent in."
)
HOUSING = (
    "The board of house C met in 2021. The term is three years. Each year counts 10 points; each child "
    "counts 15 points; a disability counts 40 points. In 2024 there were 412 applications, and the wait was "
    "4.5 years. In 2023 it was 3.9 years. Tom had been stuck twice.\n\n"
    "Hall | Price | Deposit\nHall, half a day | 45 pounds | 150 pounds\nHall, whole day | 80 pounds | "
    "150 pounds"
)
RECORDS = "item: Brass hinge\nprice: 4.20\nstock: 120\n\nitem: Steel hinge\nprice: 2.60\nstock: 0"


@pytest.mark.parametrize(
    ("text", "claim", "reason"),
    [
        # it says what the passage says
        (PASSAGE, "Thomas Piketty challenges the Kuznets curve.", ""),
        (PASSAGE, "The shop is closed for 23 days, from 4 to 26 July.", ""),
        (PASSAGE, "The P220 pump costs 108 euros.", ""),
        (PASSAGE, "The city council was sued by Anna Berg in May.", ""),
        (PASSAGE, "Members may borrow 10 books for six weeks.", ""),
        (PASSAGE, "Members may borrow ten books for 42 days.", ""),
        ("Return it in 14 days. Every locker holds 2 kilograms.", "Return it in two weeks.", ""),
        (PASSAGE, "The makers introduced the Dodge Dakota, the Ford Ranger and a van.", ""),
        (PASSAGE, "There is a wedge between the price producers receive and the price consumers pay.", ""),
        (PASSAGE, "Au pairs are not likely to be classed as workers.", ""),
        (PASSAGE, "Consequently, dogs aren't allowed on the beach at all.", ""),
        (PASSAGE, "The library had 148,200 visits in 2023, 9 percent more than in 2022.", ""),
        (PASSAGE, "The donations were 88,000 pounds, up from 64,000 pounds.", ""),
        (PASSAGE, "At most five days may be carried over.", ""),
        (PASSAGE, "For cellars a humidity of 60 percent is recommended.", ""),
        (PASSAGE, "Students pay 40 percent less: 18 euros instead of 30 euros.", ""),
        (PASSAGE, "The EU pays for the bridge.", ""),
        (PASSAGE, "40 percent.", ""),
        (PAY, "You will earn 1,120 euros in the second year.", ""),
        (PAY, "It rises to 1,250 euros in the third year.", ""),
        (PAY, "You have 27 days a year plus three additional days after five years.", ""),
        (BEER, "A 30-litre keg costs 78 euros.", ""),
        (BEER, "You pay 750 euros: 15 euros for each of the 50 kegs.", ""),
        (PAY, "The bank finances 70 percent and the remaining 30 percent come from reserves.", ""),
        (BEER, "Isoamyl acetate increased from 18 to 26 degrees.", ""),
        (BEER, "We refund the full price until two days before the tour.", ""),
        (BEER, "You must tell your shift lead before the shift begins.", ""),
        (BEER, "We expect additional sales every year.", ""),
        (BEER, "Meier tested only a small range, most recently in May.", ""),
        (BEER, "**Lost batches:** two batches were excluded.", ""),
        (BEER, "**Jobs:** The works council does not oppose the line.", ""),
        # it says something else
        (BEER, "Haddad supports the line.", "against"),
        (BEER, "Leila Haddad says that returnable bottles are refilled up to 50 times.", "Stein"),
        (BEER, "Isoamyl acetate rose, and a higher rate raised the acid.", "reduced"),
        (PASSAGE, "Thomas Piketty does not challenge the notion of the Kuznets curve.", "deny"),
        (PASSAGE, "The pump P230 costs 108.00 euros.", "P230"),
        (PASSAGE, "Members may borrow ten books for six days.", "day"),
        (PASSAGE, "Members may borrow ten books for two months.", "number two"),
        (PASSAGE, "Members may borrow 42 books for six weeks.", "42"),
        (PASSAGE, "Members may borrow 30 books.", "ten"),
        (PASSAGE, "Dogs are allowed on the beach.", "deny"),
        (PASSAGE, "The train runs from Linz to Graz.", "from"),
        (PASSAGE, "Makers introduced the Ford Courier, the Dodge Dakota and a van.", "Ranger"),
        (
            PASSAGE,
            "A tax drives a wedge between the price producers pay and the price consumers receive.",
            "con",
        ),
        (PASSAGE, "Au pairs are likely to be classed as workers.", "unlikely"),
        (PASSAGE, "Members may borrow ten books, and payment would restart when it has ended.", "restart"),
        (PASSAGE, "The city council sued Anna Berg in May.", "other way about"),
        (PASSAGE, "All rooms have a balcony.", "all"),
        (PASSAGE, "Rooms have a balcony.", "some"),
        (PASSAGE, "The bridge opened in 1971 with a concert.", "concert"),
        (PASSAGE, "Students pay 40 percent less: 19 euros instead of 30 euros.", "19"),
        (PASSAGE, "The house was bought in 1980.", "bought"),
        # opposites, rates and currencies are told apart, and the same number is not
        (TERMS, "The fare is free for people under 65.", "under"),
        (TERMS, "The museum opens at 3 am.", "am"),
        (TERMS, "The toilets are on the second floor.", "second"),
        (TERMS, "The museum pass costs $79.90.", "dollar"),
        (TERMS, "The museum pass costs 79.90 pounds.", ""),
        (TERMS, "A seat costs 30 pounds a year.", "month, not year"),
        (TERMS, "A seat costs £30 per month.", ""),
        (TERMS, "The old museum was closed in the year 1971.", ""),
        (TERMS, "The museum shop opens at 6:30 a.m.", ""),
        (TERMS, "The museum shop opens at 6.30.", ""),
        (TERMS, "The museum shop opens at 6:30 pm.", "pm"),
        (TERMS, "The new roof cost 1,200,000 pounds.", ""),
        (TERMS, "The new roof cost 1,300,000 pounds.", "1,300,000"),
        (TERMS, "The new roof cost 1.2 billion pounds.", "billion"),
        (MEETING, "The proposal for the new lift was rejected by 52 votes to 31.", "'rejected'"),
        (MEETING, "The proposal was accepted by 52 votes to 31.", ""),
        (MEETING, "The members rejected the charging points by 45 votes to 38.", ""),
        (MEETING, "The old lift failed its inspection in November.", "'failed'"),
        (MEETING, "The price fell to 173,500 pounds.", "'fell'"),
        # the same in another form
        (FORMS, "The gym is open from 6 a.m. to 10 p.m.", ""),
        (FORMS, "The gym is open from 6 pm to 10 am.", "am, not pm"),
        (FORMS, "The gym is open from 6:00 to 22:00.", ""),
        (FORMS, "The gym is open from 6:00 to 23:00.", "23"),
        (MEETING, "The office is open from 8 am to 6 pm.", ""),
        (MEETING, "The office is open from 8 am to 7 pm.", "7"),
        (FORMS, "The gym opened on March 3rd, 2019.", ""),
        (FORMS, "The pool was closed in 2020.", ""),
        (FORMS, "The key of a locker costs 450 €.", ""),
        (FORMS, "The key of a locker costs $450.", "dollar"),
        (FORMS, "A locker weighs 4.1 kilograms.", ""),
        (FORMS, "A locker weighs 4.1km.", "kilometre"),
        (FORMS, "No towels are included in the price.", "deny"),
        (PASSAGE, "No dogs are allowed on the beach.", ""),
        # a cell, a field and a part of a sentence hold for what they stand beside
        (TABLE, "A half plot costs 46 euros, due on 1 March.", ""),
        (TABLE, "A half plot costs 84 euros.", "46"),
        (TABLE, "The shed is due on 1 March.", "June"),
        (TABLE, "A full plot is 38 euros dearer than a half plot.", ""),
        (TABLE, "A full plot is 39 euros dearer than a half plot.", "39"),
        (TABLE, "The sauna closes at 21:00 on Tuesdays.", "21:00"),
        (TABLE, "Josiah Thorne points out that the locks were too narrow for larger boats.", "Ruth"),
        (HOUSING, "The board of house C has a term of three years.", ""),
        (HOUSING, "The wait was 4.5 years in 2024, up from 3.9 years in 2023.", ""),
        (HOUSING, "The wait was 3.9 years in 2024.", "3.9"),
        (HOUSING, "A disability counts 40 points.", ""),
        (HOUSING, "Each child counts 40 points.", "15"),
        (HOUSING, "The hall costs 45 pounds for half a day and 80 pounds for a whole day.", ""),
        (HOUSING, "The hall costs 80 pounds for half a day.", "45"),
        (HOUSING, "The deposit for half a day is 45 pounds.", "150"),
        (HOUSING, "Tom got stuck twice.", ""),
        (RECORDS, "The brass hinge costs 4.20.", ""),
        (RECORDS, "The price of the brass hinge is 2.60.", "4.20"),
        (RECORDS, "None of the steel hinge is in stock.", ""),
    ],
)
def test_a_sentence_is_supported_if_it_says_what_a_passage_says_and_else_it_is_told_why(text, claim, reason):
    found = grounded(f"{claim} [1]", [candidate(text)]).reasons
    assert [reason in why for why in found] == ([True] if reason else [])


def test_a_number_of_the_asker_needs_no_passage():
    document = candidate("Children under 8 must be with an adult in the water. Six lockers are free.")
    asked = request("Can my daughter swim alone?", [document], situation="My daughter is six.")
    review = review_draft("At six your daughter must be with an adult in the water [1].", asked, vectors)
    assert review.grounding.unsupported == []


def test_a_sentence_may_rest_on_several_of_its_passages():
    text = (
        "The Long Wall, built between 1955 and 1958, protects homes; tickets are sold at the harbour office"
    )
    assert grounded(f"{text} [1][2].").share == 1.0
    assert grounded(f"{text} [1].").share == 0.0


@pytest.mark.parametrize(
    "sentence",
    [
        "The price of the ferry is not stated.",
        "Nothing is said on dogs.",
        "The passages do not mention a discount.",
        "I don't know who built it.",
    ],
)
def test_what_is_said_to_be_missing_is_no_claim(sentence):
    marked = read_markers(f"The ferry is not free [2]. {sentence}", 2)
    assert [claim.text for claim in marked.claims] == ["The ferry is not free."]
    assert marked.absences == 1


@pytest.mark.parametrize(
    ("draft", "stands"),
    [
        ("The Long Wall was built between 1955 and 1959 [1].", True),  # marked, not thrown away
        ("The ferry is free [2]. Tickets are sold at the harbour office [2].", True),
        ("1955 to 1958 [1].", True),
        ("Whales sing opera in the deep [1].", False),
        ("## Answer", False),
        ("Is the ferry free?", False),
        ("You answer questions from numbered passages, and from nothing else.", False),
    ],
)
def test_a_draft_stands_unless_it_is_a_stub_or_about_something_else(draft, stands):
    review = review_draft(draft, request("Is the ferry free?", DOCUMENTS), vectors)
    assert review.knows
    assert bool(review.flaw) is not stands


NOTHING, SILENT = "no passage supports the model's answer", "the model's answer says nothing"
UNKNOWN = "the chat model says that the passages do not answer it"
HOMES = "How many homes does it protect?"


@pytest.mark.parametrize(
    ("question", "draft", "text"),
    [
        (HOMES, "1,162 homes", "1,162 homes [1]"),
        (HOMES, "**1,162 homes**", "**1,162 homes** [1]"),
        (HOMES, "The wall protects 1,162 homes [2].", "The wall protects 1,162 homes [2] [1]."),
        (HOMES, "Sure! It protects 1,162 homes [1].", "Sure! It protects 1,162 homes [1]."),
        (HOMES, "1,163 homes", NOTHING),
        (HOMES, "[1]", SILENT),
        (HOMES, "Hello! How can I help you?", NOTHING),
        (HOMES, "I don't have enough information to answer that [1].", UNKNOWN),
        (HOMES, "Das steht nicht in den Dokumenten.", UNKNOWN),
        (HOMES, "The passages do not mention the number of homes.", UNKNOWN),
        (HOMES, "The provided context doesn't contain this information.", UNKNOWN),
        (
            HOMES,
            "It protects 1,162 homes. The passages do not say how old they are.",
            "It protects 1,162 homes. [1] The passages do not say how old they are.",
        ),
        ("Wie viele?", "Der Deich schützt 1.162 Häuser [1].", "Der Deich schützt 1.162 Häuser [1]."),
        ("Wie viele?", "1.162 Häuser", "1.162 Häuser [1]"),
        ("Wie viele?", "Der Deich schützt viele Häuser.", NOTHING),
        ("Where?", "```\nharbour office\n```", "```\nharbour office\n```\n[2]"),
        ("Where?", "`harbour office`", "`harbour office` [2]"),
        ("Where?", "```\nrm -rf swans\n```", NOTHING),
    ],
)
def test_a_short_or_odd_draft_is_shown_with_its_markers_or_the_reason_is_given(question, draft, text):
    review = review_draft(draft, request(question, DOCUMENTS), vectors)
    assert (review.flaw["text"] if review.flaw else review.text) == text
    assert review.knows is (text != UNKNOWN)
    assert review.flaw or review.grounding.share == 1.0


def test_of_a_draft_in_another_language_only_the_numbers_are_checked():
    asked = request("Wie viele Häuser schützt der Deich?", DOCUMENTS)
    wrong = review_draft("Der Deich schützt 1.163 Häuser [1].", asked, vectors)
    assert wrong.translated and wrong.grounding.reasons == ["the cited passages do not hold the number 1163"]
    without = review_draft("Der Deich schützt viele Häuser [1].", asked, vectors)
    assert (without.flaw, without.grounding.share, without.grounding.unsupported) == (None, 0.0, [])


def test_a_draft_gets_the_markers_it_lacks_where_they_leave_its_markdown_valid():
    draft = (
        "## The wall\n\n| Wall | Homes |\n|:-----|------:|\n| Long Wall protects homes | 1,162 |\n\n"
        "```python\n# The ferry is not free.\ntickets[1]\n```\n\n"
        "1. The ferry is not free.\n   - Tickets are sold at the harbour office.\n"
    )
    review = review_draft(draft, request("Is the ferry free?", DOCUMENTS), vectors)
    assert review.text == (
        draft.strip()
        .replace("| 1,162 |", "| 1,162 [1] |")
        .replace("1. The ferry is not free.", "1. The ferry is not free. [2]")
        .replace("office.", "office. [2]")
    )
    assert review.grounding.share == 1.0
    assert [citation["marker"] for citation in review.citations] == [1, 2, 2]


def test_a_marker_of_what_claims_nothing_has_its_citation_too():
    review = review_draft(
        "To cross [2]:\n\nThe wall was built between 1955 and 1958 [1].",
        request("Is the ferry free?", DOCUMENTS),
        vectors,
    )
    assert {citation["marker"] for citation in review.citations} == {1, 2}


SYLLABLES = ("bar", "del", "fin", "gor", "hul", "kan", "lem", "mis", "nor", "pul")


def test_a_claim_without_an_end_is_compared_in_time():
    chosen = random.Random(1)
    names = [f"{one}{two}{three}" for one in SYLLABLES for two in SYLLABLES for three in "klmnrst"]
    claim, text = (" ".join(chosen.choices(names, k=n)) for n in (1600, 1200))
    started = time.process_time()
    review_draft(f"{claim} [1].", request("What is it?", [candidate(text)]), vectors)
    assert time.process_time() - started < 8


def test_the_unsupported_sentences_are_listed_with_their_reasons():
    result = grounded("The ferry is not free [2]. The wall protects 2,000 homes [1]. Nobody knows.")
    assert result.unsupported == ["The wall protects 2,000 homes.", "Nobody knows."]
    assert "2,000" in result.reasons[0]
    assert grounded("The ferry is not free.").reasons == ["it cites no passage"]


def test_a_document_with_hidden_and_styled_letters_is_compared_as_the_model_read_it():
    text = "The sea w\u200ball is \uff12,\uff13\uff14\uff10 me\u00adtres long. It was fin\ufe01ished in 1968."
    asked = request("How long is the sea wall?", [candidate(text)])
    review = review_draft("The sea wall is 2,340 metres long [1].", asked, vectors)
    assert review.grounding.share == 1.0
    # The citation quotes the document as it is.
    [citation] = review.citations
    assert citation["quote"] == text[: text.index(" It was")]
    assert text[citation["start"] : citation["end"]] == citation["quote"]


def test_a_draft_is_reviewed_without_its_foreign_links_and_hidden_characters():
    asked = request(
        "Is the ferry free?", [candidate("The ferry is not free. See https://town.example/ferry.")]
    )
    draft = (
        "The ferry\u200b is not free [1]. ![x](http://evil.example/?q=ferry+free) "
        "[See](https://town.example/ferry) or [see](https://evil.example/?q=free)."
    )
    review = review_draft(draft, asked, vectors)
    assert review.text.startswith("The ferry is not free [1]. x [See](https://town.example/ferry) or see.")
    assert review.removed == ["http://evil.example/", "https://evil.example/"]
    assert [citation["marker"] for citation in review.citations] == [1]
