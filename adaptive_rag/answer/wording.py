"""Word lists for comparing a claim with its passages: numbers, units, denials, opposites, scope."""

from __future__ import annotations

from adaptive_rag.text.words import ASKING_WORDS, stem

_SMALL = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
"""
_SMALL_NUMBERS = {name: n for n, name in enumerate(_SMALL.split())}
ONES = {name: n for name, n in _SMALL_NUMBERS.items() if 0 < n < 10}
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
TENS = {name: 10 * n for n, name in enumerate(_TENS.split(), start=2)}
# "one" is a pronoun as often as a number.
NUMBER_NAMES = {name: str(n) for name, n in {**_SMALL_NUMBERS, **TENS}.items() if name != "one"}

# Spellings of units, separated by semicolons; the first spelling is the unit's name.
_UNITS = """
    second seconds; minute minutes; hour hours; day days; week weeks; month months; year years; decade
    decades; century centuries; percent per-cent; thousand; million; billion; trillion; dollar dollars
    usd; euro euros eur; pound pounds gbp; metre metres meter meters; kilometre kilometres kilometer
    kilometers km; mile miles; foot feet ft; inch inches; kilogram kilograms kg; gram grams; tonne tonnes
    ton tons; litre litres liter liters
"""
UNITS = {stem(word): group.split()[0] for group in _UNITS.split(";") for word in group.split()}

_DENIALS = "no not never none nor neither cannot without nobody nothing nowhere hardly"
DENIALS = frozenset(_DENIALS.split())
# Words that deny by their meaning: they may replace a plain denial, but do not count as one.
_INDIRECT = """
    absent abstain avoid ban barred beyond cease challenge challenges closed denied denies deny dispute
    disputes except exclude excluded excluding fail failed fails false few forbid forbidden impossible
    incapable ineligible instead lack lacking little lost miss missing only prevent prohibit prohibited
    rather refuse refused reject rejected stop stopped unable unlawful unless unlike unlikely unpaid wrong
"""
INDIRECT_DENIALS = frozenset(stem(word) for word in _INDIRECT.split())

# Words that make a denial harmless: "It does not look so" and "no penalty is named" deny nothing in the
# passages.
_ABSENT = "look seem appear known named stated given said mentioned"
ABSENT = frozenset(stem(word) for word in _ABSENT.split())

# Pairs of opposites; a claim with one where its passages have the other is wrong.
_ANTONYMS = """
    before prior earlier until|after following later since; including include includes|except excluding
    excludes; increase increases increased rise rises rose raise raises|decrease decreases decreased fall
    falls fell lower lowers lowered reduce reduces reduced; more|less fewer; higher|lower; most|least;
    maximum|minimum; best|worst; allow allows allowed permit permits|forbid forbids forbidden prohibit
    prohibits prohibited ban bans banned; with|without; above|below; first|last; begin begins began start
    starts started|end ends ended; win wins won|lose loses lost; open|closed; always|never;
    inside|outside; cheaper|dearer; positive|negative; accept accepts accepted|reject rejects rejected
    refuse refuses refused; abolish abolishes abolished|introduce introduces introduced; early|late;
    agree agrees agreed|disagree disagrees disagreed; buy buys bought|sell sells sold; up|down;
    support supports supported|oppose opposes opposed; strong stronger|weak weaker; majority|minority;
    profit profits|loss losses; same|different; imports imported|exports exported; alive|dead
"""
_PAIRS = [line.split("|") for line in _ANTONYMS.split(";")]
ANTONYMS = [
    (frozenset(said.split()), frozenset(other.split()))
    for one, two in _PAIRS
    for said, other in ((one, two), (two, one))
]

# Scope words | other words in the passages that support them: "always" needs a word without exception.
_SCOPES = """
    always every everyone everything everybody all any entirely completely fully invariably | all every
      each always everyone everything everybody any whole entire entirely fully both constantly never no
      none complete completely total invariably regardless whenever wherever without ever anyone anything
      nobody across throughout;
    never | never none nobody nothing ever cannot;
    only solely exclusively alone | only solely exclusively sole exclusive alone just nothing except
      unless but limited restricted;
    certainly definitely undoubtedly inevitably | certainly certain definitely undoubtedly inevitably
      inevitable always must will;
    most mostly | most mostly majority mainly primarily usually generally largely principally
      predominantly;
    must required mandatory | must required require requires mandatory shall need needs needed have has
      obliged compulsory necessary;
    usually generally normally typically ordinarily | usually usual generally general normally normal
      typically typical ordinarily mostly most often commonly common;
    before | before prior earlier until previously previous first ahead already by pre;
    after | after following later since once then when upon post subsequently subsequent next followed
      from as
"""
SCOPES = [
    (frozenset(said.split()), frozenset(f"{said} {enough}".split()))
    for said, enough in (line.split("|") for line in _SCOPES.split(";"))
]

# Hedges: a claim that retells a sentence but omits its hedge says more than the sentence.
_HEDGES = "may might sometimes usually often ordinarily probably possibly perhaps some almost nearly"
HEDGES = frozenset(_HEDGES.split())

# Words of a claim that adds or compares numbers: "15 pounds less", "together 58 euros".
_RECKONING = """
    altogether another cheaper comes dearer difference extra fewer higher less longer lower more saves shorter
    sum together total
"""
RECKONING = frozenset(_RECKONING.split())

# Words that begin a new part of a sentence.
JOINING = frozenset(["and", "but", "or", "whereas", "while"])
_MONTHS = "january february march april may june july august september october november december"
MONTHS = frozenset(_MONTHS.split())
WEEKDAYS = frozenset(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])

# Words by which a draft reports, orders, compares and weighs what the passages say; they add no claim.
_REPORTING = """
    amount date height length name number price size weight width year
    according add addition additionally adds advantage advantages advocate advocates affect affects again
    aim alike allow allows along already although answer apart appear appears apply approach area areas
    argue argues argument arguments arise arises aspect assert assurance bad basis became become becomes
    begin begins belong belongs benefit benefits besides better beyond big bring brings broad brought case
    cases cause causes certain change changes cite claim claims close come comes common concern concerns
    concludes condition conflict connect contend contends contradict contrary contrast conversely core
    cost costs cover covers critic critics danger dangers depend depends design despite development differ
    differs directly disadvantage disadvantages disagree disagreement distinct due earlier early effect
    effectively emphasise emphasize enable enables end entail essentially exact exist exists explicit fact
    factor factors far favor favour feature features field finally first follow follows form formally
    former fourth gain gains get gets getting given go goal goes good great greater hang hangs happen
    happens harm harms hence high hold holds however idea implies imply include includes indicate
    indicates influence influences initially instead issue keep keeps key kind lack lacks large larger less
    last lasts late later latter lead leads leave left lie lies likely likewise limit limited limits link
    linked list listed long look looks loss low main maintain maintains matter matters mean meanwhile
    moreover move moves narrow nature near need needs next note notes object occur occurs offer once one
    opinion opponent opponents oppose opposed opposing opposite order origin others overall part parts
    people perhaps person phrase point points pose position positions possible possibly practical practice
    present principle probably problem problems process proponent proponents purpose put puts question
    questions rather reach reaches reading reason reasons recent recently relate remain remark remarks
    report reported require requires rest rests result return returns risk risks role rule said saying
    says second see seem seems sense serve serves set sets short show shows side sides similar simply
    single situation small smaller solution solutions soon source speak speaking speaks specific
    specifically stance stand stands start starts state stated step still strength strengths strong
    suggest suggests sum support supporters supports task then therefore thing third though thus time
    today together total turn turns use view views way ways weak weakness weaknesses weigh weighs well
    went whole wide word words worse worth
"""
REPORTING = frozenset(stem(word) for word in [*_REPORTING.split(), *ASKING_WORDS])

# Words before a verb or predicate, and below, words after a verb.
_BEFORE_A_PREDICATE = """
    also am are be been being can cannot could did do does had has have he i is it may might must not
    shall she should that they to was we were which who will would you
"""
BEFORE_A_PREDICATE = frozenset(_BEFORE_A_PREDICATE.split())
_AFTER_A_VERB = """
    a an away down from her him his its off our out that the their them these this those to up us whether
    your
"""
AFTER_A_VERB = frozenset(_AFTER_A_VERB.split())
