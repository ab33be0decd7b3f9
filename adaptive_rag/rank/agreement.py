"""How far passages agree with what a question proposes, told from words and vectors without a chat model.

A sentence praises or blames; what the question proposes says which of the two speaks for it. "Cars kill"
speaks for "Should cars be banned?" and against "Should cars be allowed?".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from adaptive_rag.query.viewpoints import matter
from adaptive_rag.rank.stances import CUES, LABELS, Side, any_of, asked_side
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Decision
from adaptive_rag.text.vectors import Scores, Vectors, cosines
from adaptive_rag.text.words import terms

# Made by training/sentiment.py; belongs to the embedded model, of which all sentence vectors are.
SENTIMENT = Path(__file__).with_name("sentiment.npy")
# All constants here were chosen on half of the questions of opinion_perspectrum; the figures of the other
# half stand in docs/retrieval-experiments.md.
# What the words of praise and blame add to the cosine, at most.
CUES_WEIGHT = 0.03
# What a sentence on a ban leans to when it neither praises nor blames it; training/sentiment.py measures it.
BAN_LEAN = -0.12
# Agreement below which a passage takes no side that can be told, and from which on a single sentence of the
# other side makes it a passage of both.
UNSURE, CLEAR = 0.05, 0.08
# Passages of a side that are needed before the other one is called missing, how strongly they must agree in
# the mean, and what share of all agreement may speak for the other side.
ENOUGH, ONE_SIDED, OTHERS_SHARE = 3, 0.14, 0.1

# Who praises a ban blames what is banned.
_BAN_WORDS = any_of(
    r"ban(?:s|ned|ning)?|abolish\w*|abolition|prohibit\w*|outlaw\w*|criminali[sz]\w*|restrict\w*|censor\w*|"
    r"disband\w*"
)
# Words of a proposal that would end or lessen its subject: "Should the ferry be scrapped?", but not "before
# leaving school".
_ENDING_WORDS = any_of(
    r"(?<!before )(?<!after )(?<!without )(?<!by )(?<!when )(?<!while )"
    r"(?:ban(?:ned|ning)?|abolish\w*|abolition|prohibit\w*|outlaw\w*|forbid\w*|criminali[sz]\w*|illegal|"
    r"restrict\w*|limit(?:s|ed|ing)?|curb\w*|censor\w*|disband\w*|dissolv\w*|dismantl\w*|scrap(?:ped|ping)?|"
    r"abandon\w*|eliminat\w*|eradicat\w*|repeal\w*|revok\w*|clos(?:e|ed|ing|ure)|shut(?:ting)?|"
    r"end(?:ed|ing)?|stop(?:ped|ping)?|halt(?:ed|ing)?|cease|withdraw\w*|leav(?:e|ing)|quit(?:ting)?|"
    r"boycott\w*|block(?:ed|ing)?|phas\w+ out|get(?:ting)? rid of|do(?:ing)? away with|capped|reject\w*|"
    r"oppos\w*)"
)
# Words of a question that blames its subject: "Is it unfair?"
_BLAME_WORDS = any_of(
    r"unjust\w*|unfair\w*|wrong|bad|worse|worst|outdated|obsolete|unnecessary|useless|pointless|"
    r"harm(?:s|ful|ing)?|hurt(?:s|ing)?|danger(?:s|ous)?|unsafe|unhealthy|threats?|threaten\w*|biased|racist|"
    r"sexist|cruel|immoral|unethical|selfish|evil|corrupt|fail(?:s|ed|ure|ing)?|kill(?:s|ing|ed)?|"
    r"ruin(?:s|ed|ing)?|destroy\w*|damag\w*|over(?:priced|rated|used)|"
    r"too (?:much|many|high|low|far|expensive|powerful|soft|lenient|long|late|easy|big)|mistake|waste|crisis|"
    r"addict\w*|myth|dead|broken|lost|undemocratic|unconstitutional|(?:are|is|be) (?:you )?against"
)
# What somebody says, or is said of somebody: "I am for it", "Cllr Birk opposed it", "It is a mistake to".
_APPROVES = re.compile(
    r"\b(?:(?:I|we|he|she|they)(?:['’]m| am|['’]re| are|['’]s| is| was| were)(?: \w+)? (?:for|in favou?r of)|"
    r"(?:am|are|is|['’]m|['’]re|was|were|be) (?:so |very )?(?:glad|happy|pleased|delighted)(?: that)?|"
    r"(?<!not )(?<!n['’]t )(?:supports?|supported|welcom(?:e[sd]?|ing)|recommend(?:s|ed)?|favou?r(?:s|ed)?|"
    r"approv(?:e[sd]?) of|agree(?:s|d)? with|praise[sd]?|advocate[sd]?|endorse[sd]?|"
    r"vot(?:e[sd]?|ing) for|(?:it is|it was|was|is) (?:right|wise|time|a good (?:idea|thing)) (?:to|"
    r"that)|in favou?r of))\b(?P<of>[^.;:!?]*)",
    re.IGNORECASE,
)
_DISAPPROVES = re.compile(
    r"\b(?:(?:am|are|is|was|were|['’]m|['’]re|['’]s|vot\w+|decided|argu\w+|spoke)(?: \w+)? (?:against|"
    r"opposed to|not for)|"
    r"(?<!as )oppos(?:e[sd]?|ing)|reject(?:s|ed)?|object(?:s|ed)? to|(?<!not )(?<!n['’]t )regret(?:s|"
    r"ted)?|(?:am|are|is|was) sorry(?: that)?|"
    r"worr(?:y|ies|ied) that|fear(?:s|ed)? that|disagree[sd]? with|disapprov\w+ of|condemn(?:s|ed)?|"
    r"critici[sz]e[sd]?|(?:not|n['’]t) (?:support|welcome|recommend|favou?r|approve of|agree with)|"
    r"doubt(?:s|ed)? (?:that|whether)|it (?:is|was|would be) (?:an? (?:\w+ )?mistake|wrong|foolish|"
    r"a bad idea) to)\b(?P<of>[^.;:!?]*)",
    re.IGNORECASE,
)
# Who is named as of a side: "Critics say that ...", "Those in favour name ..."; but "critics of the ban say".
_PEOPLE_SAY = (
    r" (?:\w+ly |also |often )?(?:say|said|argued?|named?|think|thought|claim(?:ed)?|fear(?:ed)?|"
    r"point(?:ed)?|"
    r"believed?|hold|held|warn(?:ed)?|see|saw|object(?:ed)?)\b"
)
_PEOPLE: dict[Side, re.Pattern[str]] = {
    "for": re.compile(
        r"\b(?:those in favou?r|supporters|proponents|advocates|defenders)" + _PEOPLE_SAY, re.I
    ),
    "against": re.compile(
        r"\b(?:those against|opponents|critics|s[ck]eptics|detractors)" + _PEOPLE_SAY, re.I
    ),
}
_VERDICT = (
    r"(?: (?:an?|the|both|only|also|so|very|just|really|quite|simply))*(?: (?!less)\w+)?? "
    r"(?:(?P<good>good|best|great|right|sensible|wise|fair|wonderful|excellent|blessing|success|"
    r"necessary|essential|"
    r"overdue|justified|beneficial|worth\w*|positive)|(?:bad|worst|terrible|wrong|foolish|unwise|unfair|"
    r"awful|"
    r"mistake|disaster|curse|failure|unnecessary|burden|nonsense|unjust|unjustified|harmful|dangerous|"
    r"pointless|"
    r"useless|waste|unacceptable|immoral|unethical))\b(?! to\b)"
)
# "12 were against homework, 4 liked it", "some say that it is too small, while others like it".
_BOTH = re.compile(
    r"\b(?:\d+|some|many|most)\b[^.;:]{0,40}\b(?:for|in favour|against|liked|opposed|supported|said|say|"
    r"think|thought|fear\w*|feel|felt|want\w*|believe\w*|argue\w*)\b.*"
    r"(?:\bothers?\b|\b\d+ (?:were |was |voted )?(?:for|in favour|against|liked|opposed|supported)\b)|"
    r"\bsa(?:ys?|id) (?:no|yes)\b.*\bsa(?:ys?|id) (?:no|yes)\b",
    re.IGNORECASE | re.DOTALL,
)
# "Closing the street is the best thing that ...": what the question is about, and what is said to be of it.
_JUDGED = re.compile(
    r"(?:^|\bthat |\bthink |\bbelieve )(?P<of>(?:(?!even|if|before|current)[\w'’-]+ ){1,8}?)"
    r"(?:is|are|was|were|would be|will be|has been)(?P<not> not| never)?" + _VERDICT,
    re.IGNORECASE,
)
# "For the buses it would be a blessing", "It is a bad idea"; but "it is dangerous" may be said of anything.
_WOULD_BE = re.compile(
    r"\b(?:(?:it|this|that)(?: would| will|['’]d|['’]ll) be|it(?: is|['’]s)(?=[\w ]+ idea\b))(?P<not> not)?"
    + _VERDICT,
    re.IGNORECASE,
)
_OUGHT = re.compile(
    r"\b(?:should|must|ought to)(?P<not> not| never|n['’]t)?\b(?P<of>[^.;:!?]*)", re.IGNORECASE
)
# "Omar was in favour, because ...", "Rob objected that ...": the matter goes without saying.
_STANDS = re.compile(
    r"\b(?:(?:am|is|was|were|are|['’]m) (?:\w+ )?(?:(?P<pro>in favou?r)|against)|objected|objects)"
    r"(?=[,.;]| that| because| if| since|$)"
)
# "I'm asked whether the wall should be raised", "this is not how we should".
_ASKS_WHETHER = re.compile(r"\b(?:whether|if|how|why|what|who)\b[^.;:,]*$", re.IGNORECASE)
# Who is for or against "it" speaks for themselves: "The traders there were against it, too" is of elsewhere.
_OWN = re.compile(r"\b(?:I|we)\b[^.;:,]{0,25}$|^(?:I|we)\b|^[\"“]?(?:am|are)\b", re.IGNORECASE)
# A plan to end something, as a sentence names it.
_PLAN = any_of("(?:the|this|such a) (?:plan|proposal|scheme)")
# What stands for the proposal itself: "I am against it", "I support the plan".
_THE_MATTER = re.compile(
    r"^(?:to |that )?(?:it|this|that|them|(?:the|this|that|such an?|any) (?:\w+ )?(?:proposals?|plans?|"
    r"ideas?|motions?|"
    r"measures?|scheme|project|trial|change))\b",
    re.IGNORECASE,
)
# Words by which a sentence says that a thing is at an end already: "I am glad that homework is gone."
_GONE = any_of("gone|no longer|no more|given up")
# The letter or number of an option: "option A", "Line 7".
_OPTION = re.compile(r"(?<=[a-z] )(?:[A-HJ-Z]|\d{1,2})\b")
# How a question asks for views, in the first letters of its words.
_ASKING = frozenset(
    {
        "thin",
        "peop",
        "view",
        "opin",
        "argu",
        "reas",
        "good",
        "like",
        "disl",
        "reac",
        "reme",
        "favo",
        "agai",
        "pros",
    }
)
_ASKING_WORDS = any_of("complain(?:ed|ts?)?")
# Letters that two forms of a word share at least: "closed" and "closure".
STEM = 4
# Words after a declaration that are read for what it is about, and after "should" for what is to be done.
ABOUT, DONE = 8, 2

# "Is it good or bad?" proposes the first.
_EITHER_WAY = re.compile(
    r"\b(\w+) or (?:an? )?(?:bad|worse|wrong|harmful|unfair|unsafe|dangerous|curse|mistake)\b", re.I
)
_WORD = re.compile(r"\w+")
_DENIAL = re.compile(r"(?<!or )\b(?:not|never|no)\b(?! only)|n['’]t\b", re.IGNORECASE)
_DUTY = any_of("should|must|ought")
_OPEN_QUESTION = re.compile(r"\W*(?:what|which|who|why|how|where|when)\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def proposal_sign(question: str) -> int:
    """Return 1 where praise speaks for what the question proposes, -1 where blame does.

    To end a thing, to deny and to blame each turn the sign: "Should smoking not be illegal?" is 1 again.
    Blame counts only where nobody "should" do anything, and not in "What are the dangers?".
    """
    asked = _EITHER_WAY.sub(r"\1", matter(question))
    blames = bool(_BLAME_WORDS.search(asked)) and not (
        _DUTY.search(asked) or _OPEN_QUESTION.match(asked) or asked_side(asked)
    )
    turned = bool(_ENDING_WORDS.search(asked) or blames) != bool(_DENIAL.search(asked))
    return -1 if turned else 1


def declared_side(question: str, sentence: str) -> Side | None:
    """Return the side of the question that a sentence says somebody takes; None if it says none.

    "I am against it" and "I oppose the closure" both speak against "Should the road be closed?", "It is a
    mistake to abolish homework" speaks for "Is homework good?".
    """
    asked = _asked_stems(question)
    for pattern, sign in ((_DISAPPROVES, -1), (_APPROVES, 1)):
        for found in pattern.finditer(sentence):
            of = " ".join(found["of"].split()[:ABOUT])
            if _THE_MATTER.match(of) and _OWN.search(sentence[: found.start()] + found[0][:4]):
                return _side(sign)
            if asked & _stems(of) and not _names_another(question, of):
                return _side(sign * _sign_of(of) * proposal_sign(question))
    for found in _OUGHT.finditer(sentence):
        if _ASKS_WHETHER.search(sentence, 0, found.start()):
            continue
        of = " ".join(found["of"].split()[:ABOUT])
        if asked & _stems(" ".join(of.split()[:DONE])):
            return _side((-1 if found["not"] else 1) * _sign_of(of) * proposal_sign(question))
    for found in _JUDGED.finditer(sentence):
        if asked & _stems(found["of"]):
            sign = 1 if bool(found["good"]) != bool(found["not"]) else -1
            return _side(sign * _sign_of(found["of"]) * proposal_sign(question))
    if found_it := _WOULD_BE.search(sentence):
        return _side(1 if bool(found_it["good"]) != bool(found_it["not"]) else -1)
    if found_stand := _STANDS.search(sentence):
        return "for" if found_stand["pro"] else "against"
    return reported_side(sentence)


def weighs_both(sentence: str) -> bool:
    """Tell whether a sentence reports both sides: "Some fear rats, others like hens"."""
    return bool(_BOTH.search(sentence)) or all(people.search(sentence) for people in _PEOPLE.values())


def names_matter(question: str, text: str) -> bool:
    """Tell whether a text has a word of what the question is about, in whatever form."""
    return bool(_asked_stems(question) & _stems(text))


def names_all(question: str, text: str) -> bool:
    """Tell whether a text has all words of what the question is about, in whatever form."""
    asked = {term[:STEM] for term in terms(_ASKING_WORDS.sub("", matter(question)))} - _ASKING
    return bool(asked) and asked <= {term[:STEM] for term in terms(text)}


def agreements(
    question: str, candidates: Sequence[Candidate], sentences: Sequence[Sentences]
) -> list[Scores]:
    """Return how far each candidate's sentences speak for the proposal (above 0) or against it (below 0).

    One array of shape (sentences,) for each candidate.
    """
    sign = proposal_sign(question)
    asked = matter(question)
    ending = {word.lower()[:STEM] for word in _ENDING_WORDS.findall(asked)} if sign < 0 else set()
    return [
        sign * leans(candidate, held, ending) for candidate, held in zip(candidates, sentences, strict=True)
    ]


def leans(candidate: Candidate, sentences: Sentences, ending: Collection[str] = ()) -> Scores:
    """Return how far each sentence leans towards praise (above 0) or blame (below 0); shape (sentences,).

    It is the cosine with the direction from blame to praise, and a little for its words of either kind. Where
    a ban is spoken of, that is taken off what any ban leans to: "Banning cars saves lives" blames cars.
    So it is for a plan to end something: `ending` are the first letters of the question's words for it.
    """
    if not len(sentences.spans):
        return np.zeros(0)
    texts = [candidate["text"][start:end] for start, end in sentences.spans - candidate["start"]]
    tones = [[_tone_of(word) for word in _WORD.findall(text)] for text in texts]
    of_bans = np.array([any(ban for _, ban in found) for found in tones])
    if ending:
        of_bans |= [
            bool(_PLAN.search(text)) or any(word[:STEM].lower() in ending for word in _WORD.findall(text))
            for text in texts
        ]
    words = np.array([sum(tone for tone, _ in found) for found in tones])
    leaning = cosines(sentences.vectors, _sentiment()[None])[:, 0] + CUES_WEIGHT * np.tanh(words)
    return np.asarray(np.where(of_bans, BAN_LEAN - leaning, leaning), dtype=np.float64)


# Asked word by word and remembered: to search every sentence for all words took five times as long.
@lru_cache(maxsize=50_000)
def _tone_of(word: str) -> tuple[int, bool]:
    """Return whether a word praises (1) or blames (-1), and whether it speaks of a ban."""
    tone = bool(CUES["for"].fullmatch(word)) - bool(CUES["against"].fullmatch(word))
    return tone, bool(_BAN_WORDS.fullmatch(word))


def centred(held: Sequence[Scores]) -> list[Scores]:
    """Return agreements counted from the middle between the sides.

    It lies halfway between neutral and the candidates' mean: on some matters all that is written sounds grim.
    """
    middle = float(np.mean(_means(held))) / 2 if held else 0.0
    return [agreement - middle for agreement in held]


def sides_of(held: Scores) -> list[Side]:
    """Return the sides that a passage takes, its own first, by the centred agreements of its sentences.

    None where it cannot be told. A second side needs a sentence that takes it clearly, since within every
    text the tone goes up and down.
    """
    if not held.size:
        return []
    mean = float(held.mean())
    sides: tuple[Side, Side] = ("for", "against") if mean >= 0 else ("against", "for")
    reach = {"for": float(held.max()), "against": float(-held.min())}
    own = abs(mean) >= UNSURE
    return [side for side in sides if (own and side == sides[0]) or reach[side] >= CLEAR]


def hear_other_side(held: Sequence[Scores], k: int) -> list[int]:
    """Return the indices of the first k passages, by their agreements.

    Where two or more of them clearly take a side, all the same one, and the next passage clearly takes the
    other, it has the last place.
    """
    first = list(range(min(k, len(held))))
    if k < 2 or len(held) <= k:
        return first
    means = _means(centred(held))
    clear = np.sign(means[:k])[np.abs(means[:k]) >= CLEAR]
    alone = len(clear) > 1 and abs(clear.sum()) == len(clear)
    return [*first[:-1], k] if alone and -clear[0] * means[k] >= CLEAR else first


def missing_side(held: Sequence[Scores]) -> Side | None:
    """Return the side that none of the passages takes, by their agreements; None where both may be there.

    It is named only where the passages agree strongly: to call a side missing that is there misleads more
    than to say nothing.
    """
    means = _means([agreement for agreement in held if agreement.size])
    if len(means) < ENOUGH or abs(means.mean()) < ONE_SIDED:
        return None
    towards = means * np.sign(means.mean())
    others = float(np.maximum(-towards, 0).sum() / np.abs(towards).sum())
    if others > OTHERS_SHARE:
        return None
    return "against" if means.mean() > 0 else "for"


def label_sides(candidates: Sequence[Candidate], held: Sequence[Scores]) -> list[Candidate]:
    """Return the candidates, each labelled with the sides that it takes, by their agreements.

    Where one side is missing, none is labelled with it.
    """
    missing = missing_side(held)
    return [
        {**candidate, "labels": [LABELS[side] for side in sides_of(agreement) if side != missing]}
        for candidate, agreement in zip(candidates, centred(held), strict=True)
    ]


def decide_sides(held: Sequence[Scores]) -> Decision:
    """Return which sides the passages take and which one is missing, for the trace and for the answer."""
    missing = missing_side(held)
    taken = {side for agreement in centred(held) for side in sides_of(agreement)} - {missing}
    why = f"of {len(held)} passages, none speaks {missing}" if missing else "no side is surely missing"
    return Decision(what="sides", chosen={"found": sorted(taken), "missing": missing}, why=why)


def _names_another(question: str, of: str) -> bool:
    """Tell whether a text is about another of several options: "I am for option A" where B is asked about."""
    asked, named = set(_OPTION.findall(question)), set(_OPTION.findall(of))
    return bool(asked and named and not asked & named)


def reported_side(sentence: str) -> Side | None:
    """Return the one side whose people a sentence reports: "Those against name the cost"."""
    named = [side for side, people in _PEOPLE.items() if people.search(sentence)]
    return named[0] if len(named) == 1 else None


def _side(sign: int) -> Side:
    return "for" if sign > 0 else "against"


def _sign_of(text: str) -> int:
    """Return -1 where a text is about the end of a thing, 1 otherwise."""
    return -1 if _ENDING_WORDS.search(text) or _GONE.search(text) else 1


@lru_cache(maxsize=256)
def _asked_stems(question: str) -> set[str]:
    return _stems(_ASKING_WORDS.sub("", matter(question))) - _ASKING


def _stems(text: str) -> set[str]:
    return {term[:STEM] for term in terms(text) if len(term) >= STEM}


def _means(held: Sequence[Scores]) -> Scores:
    return np.array([float(agreement.mean()) if agreement.size else 0.0 for agreement in held])


@cache
def _sentiment() -> Vectors:
    return np.asarray(np.load(SENTIMENT, allow_pickle=False), dtype=np.float32)
