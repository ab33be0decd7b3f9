"""Replies to small talk: thanks, greetings, and questions about this program and its documents."""

from __future__ import annotations

import re
from pathlib import PurePath

from adaptive_rag.query.whole_document import asks_for_all, document_asked_for
from adaptive_rag.source import ChunkSource, ListsSources
from adaptive_rag.state import Piece
from adaptive_rag.text.phrases import join_pieces, say

# Maximum number of documents that an outline lists.
SHOWN = 20
_GREETING = (
    r"(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)"
    r"|hallo|guten (?:morgen|tag|abend))(?: there| again)?"
)
_PRAISE = (
    r"(?:great|perfect|super|cool|nice|good|fine|alright|excellent|ok(?:ay)?|got it|i see|understood"
    r"|well done|that help(?:s|ed)|that was helpful|alles klar"
    r"|(?:no,? )?that(?:'?s| is) (?:all|it|great|good|fine))"
)
# "Ok great, thanks a lot, that helps"
_THANKS = (
    rf"(?:{_PRAISE}[,.!]* )*(?:no )?"
    r"(?:many thanks|thanks|thank you|thx|cheers|ta|danke(?: schön| sehr)?|vielen dank)"
    r"(?: (?:a lot|a bunch|so much|very much|again|for (?:your|the|all your) help|for (?:that|this)))?"
    rf"(?:[,.!]* {_PRAISE})*"
)
_FAREWELL = (
    rf"(?:{_THANKS}[,.!]* (?:and )?)?"
    r"(?:good ?bye|bye(?: bye)?|see you(?: later| soon)?|good night|tschüss|auf wiedersehen)"
)
_ABOUT_PROGRAM = (
    r"(?:what can (?:you|i) (?:do|ask|help (?:me )?with)|what (?:can|could) i ask(?: you)?|who are you"
    r"|what are you|how do(?:es this| i use this)(?: work)?|what do you do|help(?: me)?"
    r"|how can you help(?: me)?)"
)
_ABOUT_DOCUMENTS = (
    r"(?:(?:what|which) (?:documents|files|sources)(?: (?:are there|are indexed|are in (?:here|the index)"
    r"|do you (?:have|hold|know)|have you (?:got|read)|can i ask about))?"
    r"|what(?:'s| is) in (?:these|the|my|this|those|your) (?:documents?|files?|index|collection|folder)"
    r"|what (?:are|is) (?:these|the|my|this|your) (?:documents?|files?|collection) about"
    r"|what do (?:these|the|my|your) (?:documents|files) (?:hold|contain|cover|say)"
    r"|(?:list|show)(?: me)? (?:all )?(?:the|your|my|these)? ?(?:documents|files|sources)"
    r"|how many (?:documents|files) (?:are there|do you (?:have|know))"
    r"|what(?:'s| is) (?:in here|(?:all )?this (?:all )?about)"
    r"|(?:(?:can|could) you )?(?:please )?summari[sz]e (?:everything|(?:(?:all )?(?:these|the|my|your)|all)"
    r" (?:documents|files))"
    r"|(?:give me )?(?:a summary|an overview) of (?:everything|(?:(?:all )?(?:these|the|my|your)|all)"
    r" (?:documents|files)))"
)
_OPENING = rf"(?:(?:{_GREETING}|please|so|and),? )?"
_CLOSING = r"(?:,? (?:please|now|here))?"
# "What can I do?" may ask about the documents, for somebody in the user's situation.
_FOR_USER = re.compile(rf"{_OPENING}(?:what can i do|help me){_CLOSING}")
# "Thanks 👍", "Hello :-)"
_EMOJI = re.compile(r"[^\w\s\x00-\x7f]|[:;]-?[)(]")
# The phrases of a reply; "outline" is the list of the documents.
_KINDS = {
    "a greeting": (re.compile(_GREETING), ("hello", "help")),
    "thanks": (re.compile(_THANKS), ("welcome",)),
    "praise": (re.compile(rf"{_PRAISE}(?:[,.!]* {_PRAISE})*"), ("good",)),
    "a farewell": (re.compile(_FAREWELL), ("goodbye",)),
    "what this is": (re.compile(f"{_OPENING}{_ABOUT_PROGRAM}{_CLOSING}"), ("help", "outline")),
    "what is held": (re.compile(f"{_OPENING}{_ABOUT_DOCUMENTS}{_CLOSING}"), ("outline",)),
}


def reply_to_small_talk(
    text: str, source: ChunkSource, *, situated: bool = False
) -> tuple[list[Piece], str] | None:
    """Return the reply to small talk and its kind, or None where the text asks about the documents.

    The whole text must be small talk: "Thanks, and how long is the wall?" is a question. So is "What can I
    do?" where the user is `situated`, that is, has described their situation.
    """
    kind = kind_of_small_talk(text)
    # "What is this about?" asks about the only document
    if not kind or document_asked_for(text, source) or asks_for_all(text, source):
        return None
    if situated and _FOR_USER.fullmatch(_plain(text)):
        return None
    phrases = (outline(source) if code == "outline" else [say(code)] for code in _KINDS[kind][1])
    return join_pieces(phrases, " "), kind


def kind_of_small_talk(text: str) -> str | None:
    """Return which kind of small talk a whole text is; None for any other text."""
    plain = _plain(text)
    return next((kind for kind, (pattern, _) in _KINDS.items() if pattern.fullmatch(plain)), None)


def _plain(text: str) -> str:
    return " ".join(_EMOJI.sub(" ", text.lower().replace("’", "'")).split()).strip(" .!?,;:)(")


def outline(source: ChunkSource) -> list[Piece]:
    """List the indexed documents with their numbers of passages."""
    if not isinstance(source, ListsSources):
        return [say("not_listed")]
    counts = source.sources()
    if not counts:
        return [say("nothing_indexed")]
    lines = [say("document", name=PurePath(name).name or name, n=count) for name, count in counts.items()]
    if len(lines) > SHOWN:
        lines = [*lines[:SHOWN], say("more_documents", n=len(lines) - SHOWN)]
    total = say("outline", n=len(counts), passages=sum(counts.values()))
    items: list[list[Piece]] = [["- ", line] for line in lines]
    return join_pieces([[total], *items], "\n")
