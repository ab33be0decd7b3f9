"""Finds words, names, numbers and roles in a draft's claim that its passages have otherwise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile

from adaptive_rag.answer.claim_additions import counts_own_items
from adaptive_rag.answer.claims import NEAR, CitedSentences, Token, contains_form, number_unit, retells
from adaptive_rag.answer.word_lists import MONTHS, UNITS, WEEKDAYS, mean_the_same

# A name is misplaced where another name's sentence has this many more of the words that the claim says about
# it. One word more may be chance (the train half of `benchmarks.grounding`).
MORE_WORDS = 2
# Words that begin a time, which may move: "until the day before the tour" may come first or last.
_BEFORE_A_TIME = {"after", "before", "during", "since", "until", "within"}
# Number of words on either side of a word that are compared.
COMPARED = 20


def exchanged_words(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe a word of a claim that replaces another one in a sentence: "Ford Courier" for "Ford Ranger".

    The words around it match the sentence, and the word does not occur next to them elsewhere. A word that is
    not a name needs NEAR more matching words beside it, since a draft may put a word of its own between two
    words of the sentence. Numbers are checked by `put_elsewhere`.
    """
    words = [token for token in claim if token.is_content]
    keys = {token.key for token in words}
    for index, token in enumerate(words):
        if not token.is_statement or token.key not in evidence.keys:
            continue
        own_matches, best_matches, replaced = 0, 0, ""
        for number, place in _places_to_compare(words, index, evidence):
            sentence = evidence.content[number]
            other = sentence[place]
            occurs_in_claim = other.key in keys
            reach = 1 if occurs_in_claim and other.key != token.key else NEAR
            near = {t.key for t in sentence[max(0, place - reach) : place + reach + 1]}
            left = _common_start(_before(words, index), _before(sentence, place))
            right = _common_start(_after(words, index), _after(sentence, place))
            matches = left + right
            if other.key == token.key:
                neighbours = {t.key for t in (*_before(words, index)[:1], *_after(words, index)[:1])}
                own_matches = max(own_matches, matches, bool(neighbours & near))
                continue
            if matches <= best_matches or token.key in near:
                continue
            if not occurs_in_claim and not _is_same_kind_of_word(token, other):
                continue
            if (left and right) or (
                not occurs_in_claim and _is_at_same_end(words, index, sentence, place, matches)
            ):
                best_matches, replaced = matches, other.raw
        if replaced and ((own_matches == 0 and _is_name(token)) or best_matches - own_matches >= NEAR):
            return f"the cited passages have {replaced} where it has {token.raw}"
    return ""


def _places_to_compare(words: Sequence[Token], index: int, evidence: CitedSentences) -> list[tuple[int, int]]:
    """Return where the sentences have a word of the claim itself, or one beside the claim's neighbours."""
    neighbours = [(1, t) for t in _before(words, index)[:1]] + [(-1, t) for t in _after(words, index)[:1]]
    beside = {
        (number, place + step)
        for step, neighbour in neighbours
        for number, place in evidence.places.get(neighbour.key, ())
        if 0 <= place + step < len(evidence.content[number])
    }
    return sorted(beside.union(evidence.places.get(words[index].key, ())))


def _before(words: Sequence[Token], index: int) -> Sequence[Token]:
    """Return the words before a word, the nearest first."""
    return words[max(0, index - COMPARED) : index][::-1]


def _after(words: Sequence[Token], index: int) -> Sequence[Token]:
    return words[index + 1 : index + 1 + COMPARED]


def _is_at_same_end(
    words: Sequence[Token], index: int, sentence: Sequence[Token], place: int, matches: int
) -> bool:
    """Return whether a claim's first or last word is in the position of a sentence's word.

    At least two words beside it must match, and they must be in the same clause: "Jobs: the council agreed"
    does not match "Quintero: the council agreed".
    """
    if index not in (0, len(words) - 1) or matches < 2:
        return False
    step = 1 if index == 0 else -1
    return (
        words[index + step].clause == words[index].clause
        and sentence[place + step].clause == sentence[place].clause
    )


def _common_start(one: Sequence[Token], other: Sequence[Token]) -> int:
    """Return how many words two sequences have in common from their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a.key != b.key), min(len(one), len(other)))


def _is_same_kind_of_word(one: Token, other: Token) -> bool:
    """Return whether two different words are both names, or both other words."""
    is_other = not contains_form([other.key], one.key) and not mean_the_same(one.word, other.word)
    return other.is_statement and _is_name(one) == _is_name(other) and is_other


def _is_name(token: Token) -> bool:
    return token.is_capitalised and (not token.is_first or not token.raw[1:].islower())


def other_roles(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Describe two words whose order around a third is reversed, compared with the sentence they come from.

    "Ford sued Fiat" for "Fiat sued Ford". Not where only one of the two has "by", as in the passive voice.
    """
    if not retells(claim, sentences):
        return ""
    sentence = sentences[0]
    if (turned := _turned_direction(claim, sentence)) or _has_by(claim) != _has_by(sentence):
        return turned
    keys = [token.key for token in sentence]
    forms = {token.word for token in sentence}
    for index, pivot in enumerate(claim):
        if not pivot.is_content or pivot.is_number or pivot.key in UNITS or keys.count(pivot.key) != 1:
            continue
        place = keys.index(pivot.key)
        before, after = set(keys[:place]), set(keys[place + 1 :])
        # Only words in the same form: "recommended" for "recommend" means that the sentence was rephrased.
        clause = [
            (i, token.key)
            for i, token in enumerate(claim)
            if token.clause == pivot.clause
            and token.is_statement
            and token.word in forms
            and not _BEFORE_A_TIME & {t.word for t in claim[max(0, i - 3) : i] if t.clause == token.clause}
        ]
        left = [key for i, key in clause if i < index and key in after - before]
        right = [key for i, key in clause if i > index and key in before - after]
        if left and right:
            return f"the cited passages have {right[0]} and {left[-1]} the other way about"
    return ""


def _turned_direction(claim: Sequence[Token], sentence: Sequence[Token]) -> str:
    """Describe a word after "from" that the sentence has after "to", or the reverse."""
    directed = {way: _words_after(way, sentence) for way in ("from", "to")}
    for way, other in (("from", "to"), ("to", "from")):
        for key in _words_after(way, claim):
            if key in directed[other] and key not in directed[way]:
                return f"the cited passages have {other!r}, not {way!r}, {key}"
    return ""


def _words_after(way: str, tokens: Sequence[Token]) -> list[str]:
    """Return the keys of the first content word after each "from" or "to"."""
    following = (tokens[i + 1 : i + 4] for i, token in enumerate(tokens) if token.word == way)
    return [key for tokens in following for key in [t.key for t in tokens if t.is_content][:1]]


def _has_by(tokens: Sequence[Token]) -> bool:
    return any(token.word == "by" for token in tokens)


def put_elsewhere(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe a number or name of a claim where its passages have another one.

    An example is "Josiah Thorne points out that ..." for "Ruth Ellery points out that ..."; in a table, the
    value of another row in the same column.
    """
    kinds = [_kind(claim, index, evidence.names) for index in range(len(claim))]
    for index, (token, kind) in enumerate(zip(claim, kinds, strict=True)):
        if not kind or token.key not in evidence.stated or evidence.is_from_user(claim, index):
            continue
        if counts_own_items(claim, index):
            continue
        if kind == "name" and index and kinds[index - 1] == kind:
            continue  # the second word of a name, such as "Ellery" in "Ruth Ellery"
        if rival := _find_rival(claim, index, kinds, evidence):
            return f"the cited passages have {rival} where it has {token.raw}"
    return ""


def _find_rival(claim: Sequence[Token], index: int, kinds: Sequence[str], evidence: CitedSentences) -> str:
    """Return the token in another sentence that has more of what the claim says about a token."""
    kind, own_keys = kinds[index], {claim[index].key}
    if kind == "name":  # with its following words
        own_keys = {
            t.key
            for t, _ in takewhile(
                lambda pair: pair[1] == kind, zip(claim[index:], kinds[index:], strict=True)
            )
        }
    own_statements = [statement for statement in evidence.statements if own_keys & statement.keys]
    context = {t.key for t in claim if (t.is_statement or t.is_number) and t.key not in own_keys}
    covers = [context & statement.keys for statement in own_statements]
    all_covered = set().union(*covers)
    # Statements with another such name or number of the claim are about that one, and are skipped.
    others = {t.key for t, k in zip(claim, kinds, strict=True) if k == kind}
    claim_keys = {token.key for token in claim}
    no_rivals = set[str]().union(*(s.keys for s in own_statements)) if kind == "name" else set[str]()
    columns = {statement.column for statement in own_statements if statement.is_cell}
    for statement in evidence.statements:
        # "45 pounds for half a day, 80 for a whole day" says nothing about the deposit for half a day.
        is_named = statement.column in columns or context & statement.column
        if statement.is_cell and columns and not is_named:
            continue
        cover = context & statement.keys
        needed = MORE_WORDS if kind == "name" and not statement.is_cell else 1
        if (own_keys | others) & statement.keys or len(cover - all_covered) < needed + 2 * len(
            max(covers, key=len) - cover
        ):
            continue
        for place, rival in enumerate(statement.tokens):
            if (
                rival.key not in claim_keys
                # All are named by "Present: Ann Lee, Bo Cox", but each speaks for themselves.
                and (rival.key not in no_rivals or rival.key in statement.speaker)
                and _is_same_kind(kind, _kind(statement.tokens, place, evidence.names))
            ):
                return rival.raw
    return ""


def _kind(tokens: Sequence[Token], index: int, names: Collection[str]) -> str:
    """Return a unit, or "name", "month name", "weekday", "time", "calendar year", "date", "number" or ""."""
    token = tokens[index]
    if not token.is_number:
        if token.is_capitalised and token.word in MONTHS:
            return "month name"
        if token.is_capitalised and token.word.rstrip("s") in WEEKDAYS:
            return "weekday"
        begins_text = token.is_first and token.raw[1:].islower() and token.key not in names
        return "name" if token.is_capitalised and not begins_text and token.is_statement else ""
    if ":" in token.key:
        return "time"
    if len(token.raw) == 4 and token.raw.isdigit() and "1700" <= token.raw < "2100":
        return "calendar year"
    if any(t.is_month for t in (*tokens[max(0, index - 1) : index], *tokens[index + 1 : index + 2])):
        return "date"
    return number_unit(tokens, index) or "number"


def _is_same_kind(one: str, other: str) -> bool:
    """Return whether two kinds match; a number without a unit matches any unit, as in a table."""
    if {one, other} & {"name", "date", "time", "calendar year", "month name", "weekday"}:
        return one == other
    return bool(one and other) and (one == other or "number" in (one, other))
