"""Grades how well a text reads as a sentence: headings, tables of contents and cut sentences read badly."""

from __future__ import annotations

import re

# Letters of scripts without blanks between words: Thai, Japanese, Chinese
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_UNSPACED_END = re.compile(r"[。！!.…][」』”’）)]*$")
_END = re.compile(r"[.!…][\"'”’)\]»*_]*(?:\s*\[\d+\])*$|[.!]$")
_STARTS_WITH_WORD = re.compile(r"^[\"'“‘(\[|*_`]*[^\W_]")
# A line of a table of contents: "Storms ...... 12", "Chapter 3 Tides", "2.1 Warning levels"
_CONTENTS = re.compile(
    r"(?:\.\s?){4,}|(?:…|\.{2,})\s*+\d*+\s*+$|^\s*(?:chapter|section|part)\s+[\dIVXLC]+\b.{0,60}$|"
    r"^(?:\d+\s+)?\d+(?:\.\d+)+\s+[A-Z][^.!?]*$",
    re.IGNORECASE,
)

_CURRENCY = r"EUR|USD|GBP|CHF|CAD|AUD|SEK|NOK|DKK|PLN|JPY|CNY|INR"
_PRICE = (
    rf"(?:[£$€]|(?:{_CURRENCY}) )\s?\d[\d.,]*|\d[\d.,]*(?:\s?[€£$]| (?:{_CURRENCY}|euros?|pounds?|dollars?))"
)
# A short number, or a year, may belong to a heading: "The Wall 12".
_AMOUNT = rf"{_PRICE}|\d[\d.,]*\s?%|\d[\d.,]*[.,]\d\d|(?!(?:19|20)\d\d\b)\d[\d ]*\d{{3}}|no\. \S*\d\S*"
# "Region: Frankfurt", "MAX_BODY = 262144", "Total £1,068.00", "Port 7410", "Due 1 May 2026"; not "Page 7"
# or "Step 1: Open the box"
_NAMED_VALUE = re.compile(
    r"(?!(?i:page|figure|fig|table|chapter|part|section)\b)"
    r"(?!(?i:step|appendix|annex|phase|stage|day|week|lesson|module|task|unit) \w+:)"
    r"(?:[^\W\d_]+(?: date)? \d{1,2}\.? [A-Z][a-z]+ \d{4}|(?=[^\W\d_])[\w.'’&/()%-]+(?: [\w.'’&/()%-]+){0,3}?"
    rf"(?:(?::\s+| ?= ?)(?=.*\w)[^\n=]{{1,100}}(?<![:,;?])|\s(?:{_AMOUNT})\.?))"
)
# A line of a bill that a PDF does not mark as a table: "2 Window cleaning 1 £120.00 £120.00"
_PRICE_END = re.compile(rf"(?:{_PRICE})$")
# In characters. The patterns above take time by the square of the length: a word may have 20,000 letters.
_LONGEST_LINE, _LONGEST_PRICE = 200, 40


def has_value(text: str) -> bool:
    """Return whether each line of a text is a short name with its value, such as "Deposit: EUR 450"."""
    lines = re.sub("[*`]", "", text).split("\n")
    return all(len(line) <= _LONGEST_LINE and _NAMED_VALUE.fullmatch(line.strip()) for line in lines)


def grade(text: str, *, in_list: bool = False, begins: bool = False) -> float:
    """Grade how well a text reads as a sentence: 1 for a full one, 0.5 for a readable one, 0 for none.

    `in_list`: it is a list item, which may lack its full stop. `begins`: a paragraph begins with it, so that
    a small letter is no sign of a cut sentence.
    """
    words = re.findall(r"[^\W\d_]+", text)
    letters = sum(map(str.isalpha, text))
    if text.startswith("#") or text.endswith(("?", "？")) or _CONTENTS.search(text):
        return 0.0
    if 2 * len(_UNSPACED.findall(text)) > letters:
        return 0.6 if _UNSPACED_END.search(text) else 0.2
    fragment = 0.2 if has_value(text) or _PRICE_END.search(text[-_LONGEST_PRICE:]) else 0.0
    if len(words) < 2 or len(re.findall(r"\w+", text)) < 3 or letters < 0.45 * len(text):
        # "- E17, see 4.1.3.", "Seats 26." and "Until nine." are short but whole; "Agreed." is not.
        says_something = in_list or len(words) > 1 or re.search(r"\d", text)
        is_whole = says_something and text.endswith(".") and any(len(word) > 2 for word in words)
        return 0.5 if is_whole else fragment
    opening = text.lstrip("\"'“‘([|*_")
    # "49 the method of exhaustion." is a page number and the rest of a sentence; "231 people came." is one.
    has_page_number = re.match(r"\d+\s+(?:the|an?|of|in|and|or|to|is|was|by|for|with|that|which)\b", opening)
    is_cut = bool((opening[:1].islower() and not begins) or opening.startswith("Where ") or has_page_number)
    capitalised = sum(word[0].isupper() for word in words if len(word) > 2)
    if not _END.search(text):
        is_heading = len(words) < 14 and capitalised > 0.6 * sum(len(word) > 3 for word in words)
        if is_heading or re.match(r"\d+\s", opening) or text.endswith((":", ",", ";")):
            return fragment
        return 0.5 if in_list and not is_cut else 0.2
    if len(words) < 8 and capitalised == sum(len(word) > 2 for word in words) > 1:
        return 0.2  # "The School of Pythagoras.": a running head
    is_shouted = sum(word.isupper() and len(word) > 1 for word in words) > 0.6 * len(words)
    has_shouted_label = re.match(r"[A-Z]{3}[A-Z. ]*:", opening)
    if is_cut or is_shouted or has_shouted_label or not _STARTS_WITH_WORD.match(text):
        return 0.2
    if max(map(len, words)) > 25:
        return 0.5  # probably several words that lost their blanks
    return 1.0 if len(words) > 5 else 0.7 if len(words) > 3 else 0.6
