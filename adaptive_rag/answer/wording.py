"""The words by which a claim is compared with its passages: numbers, units, denials, scope, opposites, reporting."""

from __future__ import annotations

from adaptive_rag.text.words import stem

_SMALL = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
# "one" is a pronoun as often as a number.
NUMBER_NAMES = {name: str(n) for n, name in enumerate(_SMALL.split()) if name != "one"} | {
    name: str(10 * n) for n, name in enumerate(_TENS.split(), start=2)
}

_UNITS = """
    second seconds; minute minutes; hour hours; day days; week weeks; month months; year years; decade decades;
    century centuries; percent per-cent; thousand; million; billion; trillion; dollar dollars usd; euro euros eur;
    pound pounds gbp; metre metres meter meters; kilometre kilometres kilometer kilometers km; mile miles;
    foot feet ft; inch inches; kilogram kilograms kg; gram grams; tonne tonnes ton tons; litre litres liter liters
"""
UNITS = {
    stem(word): group.split()[0] for group in _UNITS.split(";") for word in group.split()
}  # spelling -> one name for it

DENIALS = frozenset("no not never none nor neither cannot without nobody nothing nowhere hardly".split())
# Words that deny by their meaning: they may stand for a plain denial, and are none themselves.
_INDIRECT = """
    absent abstain avoid ban barred beyond cease closed deny denies denied except exclude excluded excluding fail
    failed fails false forbid forbidden impossible incapable instead ineligible lack lacking lost miss missing
    only prevent prohibit prohibited refuse refused reject rejected rather stop stopped unable unless unlikely
    unlawful unpaid wrong few little unlike challenge challenges dispute disputes
"""
INDIRECT_DENIALS = frozenset(stem(word) for word in _INDIRECT.split())

# Pairs of which a text says one or the other; a claim with one where its passages have the other is wrong.
_ANTONYMS = """
    before prior earlier until|after following later since; including include includes|except excluding excludes;
    increase increases increased rise rises rose raise raises|decrease decreases decreased fall falls fell lower
    lowers lowered reduce reduces reduced; more|less fewer; higher|lower; most|least; maximum|minimum; best|worst;
    allow allows allowed permit permits|forbid forbids forbidden prohibit prohibits prohibited ban bans banned;
    with|without; above|below; first|last; begin begins began start starts started|end ends ended; win wins won|lose
    loses lost; open|closed; always|never; inside|outside; cheaper|dearer; positive|negative; accept accepts
    accepted|reject rejects rejected
"""
ANTONYMS = [
    pair
    for line in _ANTONYMS.split(";")
    for one, other in [line.split("|")]
    for pair in (
        (frozenset(one.split()), frozenset(other.split())),
        (frozenset(other.split()), frozenset(one.split())),
    )
]

# Words of scope, each with those of the passages that carry it: "always" needs one that leaves no exception.
_ALL = "all every each always everyone everything everybody any whole entire entirely fully both constantly never no none"
_SCOPES = {
    "always every everyone everything everybody all any entirely completely fully invariably": _ALL
    + " complete completely total invariably regardless whenever wherever without ever anyone anything nobody across throughout",
    "never": "never no not none nor neither without nobody nothing ever cannot",
    "only solely exclusively alone": "only solely exclusively sole exclusive alone just nothing except unless but limited restricted",
    "certainly definitely undoubtedly inevitably": "certainly certain definitely undoubtedly inevitably inevitable always must will",
    "most mostly majority": "most mostly majority mainly primarily usually generally largely principally predominantly",
    "must required mandatory": "must required require requires mandatory shall need needs needed have has obliged compulsory necessary",
    "usually generally normally typically ordinarily": "usually usual generally general normally normal typically typical ordinarily"
    " mostly most often commonly common",
    "before": "before prior earlier until previously previous first ahead already by pre",
    "after": "after following later since once then when upon post subsequently subsequent next followed from as",
}
SCOPES = [(frozenset(words.split()), frozenset((words + " " + enough).split())) for words, enough in _SCOPES.items()]

# Words by which a draft reports, orders and weighs what the passages say; they add nothing of their own.
_REPORTING = """
    add adds answer apply argue argues argument arguments aspect assert basis case cases cause causes cite claim claims come comes
    common concern concerns concludes condition conflict contradict contrary contrast core depend depends differ differs disagree
    disagreement distinct effect emphasise emphasize end entail exact explicit fact favor favour finally follow follows
    form hang hangs hence hold holds idea imply implies indicate indicates issue key latter lie lies list listed long main matter
    mean note notes object offer opinion oppose opposing opposed opposite order part point points pose
    position positions present principle question rather reason reasons remark remarks remain report reported result rest rests rule
    saying see set sets short show shows side sides similar simply single situation speak speaks speaking stance stand stands
    state stated step still suggest suggests sum support supporters supports together turn turns view views well weigh weighs
    worth says said go goes went becomes became critic critics advocate advocates opponent opponents proponent proponents former contend contends maintain maintains
    according others people person one thing look looks change changes time given use leave left put puts apart along
    formally effectively essentially practical practice directly specific specifically likewise addition additionally moreover
    although though despite beyond due early earlier late later far perhaps possibly possible probably likely certain
    large larger small smaller big great greater high low good bad better worse strong weak wide narrow broad close near
    sense lack lacks harm harms benefit benefits advantage advantages disadvantage disadvantages strength strengths
    weakness weaknesses danger dangers risk risks limit limits limited allow allows move moves return returns arise
    arises get gets getting last lasts reach reaches bring brings brought begin begins start starts keep keeps remain
    gain gains loss cost costs need needs task role part parts process reading word words phrase field design purpose
    aim goal way ways kind area areas approach factor factors feature features nature origin source development
    first second third fourth finally initially next then once again still already soon recent recently today
    affect affects influence influences lead leads allow enable enables require requires include includes cover covers
    belong belongs occur occurs happen happens exist exists appear appears seem seems serve serves become concern
    problem problems question questions matter matters solution solutions assurance common whole overall total
    however thus therefore overall conversely meanwhile instead besides alike connect link linked relate
"""
REPORTING = frozenset(stem(word) for word in _REPORTING.split())

# Where a verb or an adjective after "is" stands: behind the one, in front of the other.
BEFORE_A_PREDICATE = frozenset(
    "is are was were be been being am he she it they we you i who which that can could may might will would shall"
    " should must not also cannot does did do has have had to".split()
)
AFTER_A_VERB = frozenset(
    "the a an that his her its their our your this these those to from down up out off away him them us whether".split()
)

# Words that leave a thing open: a claim that retells a sentence without any of them says more than it does.
HEDGES = frozenset("may might could can sometimes usually often ordinarily probably possibly perhaps some almost nearly".split())
