"""The closed word lists that the analysis reads questions with; data only, no decisions."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Split a text into the set of its words."""
    return frozenset(text.split())


FIRST_PERSON = word_set("i me my mine myself we us our ours ourselves")
SINGULAR_FIRST = word_set("i me my mine myself")
POSSESSIVE_FIRST = word_set("my our mine ours")
SECOND_PERSON = word_set("you your yours yourself")
THIRD_PERSON = word_set(
    "it its they them their theirs he him his she her hers itself themselves himself herself"
)
DEMONSTRATIVES = word_set("this that these those")
WH_WORDS = word_set("what which who whom whose when where why how")
MODALS = word_set("should shall ought must can could may might will would need")
AUXILIARIES = word_set(
    "is are was were am be been being do does did has have had can could will would should shall may "
    "might must"
)
DETERMINERS = word_set("a an the some any no each every either neither all both another such")
PREPOSITIONS = word_set(
    "of in on at by for with about against between into through during before after above below to from "
    "up down out off over under than as like without within among across per via toward towards upon "
    "around along behind beyond near since until despite except regarding concerning"
)
CONJUNCTIONS = word_set(
    "and or but nor so yet if because although though while whereas whether unless then else when"
)

# What the asker wants done, judged, compared, explained: words that shape a question and name no topic.
CUE_WORDS = word_set(
    "think opinion opinions view views feel believe argument arguments pros cons debate controversial "
    "favourite favorite best better worst good bad right wrong worth fair moral morally ethical "
    "ethically justified justify recommend recommendation recommended suggest suggestion suggestions "
    "advice experience experiences banned ban allowed allow legal illegal abolished legalized mandatory "
    "compulsory required necessary overrated underrated agree disagree support oppose perspectives "
    "perspective viewpoints viewpoint stance explain describe discuss compare contrast analyze analyse "
    "evaluate assess summarize summarise outline difference differences different differ similar "
    "similarities versus vs advantages advantage disadvantages disadvantage benefits benefit effect "
    "effects affect affects impact impacts influence cause causes caused reason reasons purpose role "
    "function importance significance important process steps step way ways method methods work works "
    "make makes happen happens happened mean means relationship factors symptoms many much long far old "
    "tall big often name called year date number percent percentage amount population first last "
    "largest smallest most least located born die died invented founded wrote written won play played "
    "imagine suppose assume assuming say let given patient client case scenario situation tell give "
    "list show need want trying try help please advise prepare qualify eligible apply claim afford else "
    "more other others same another one ones there here too also instead again any someone something "
    "anything you your now still already ever never not only just really actually same start starts "
    "create build use used using fix stop keep get got go going take takes cost costs pay"
)
FUNCTION_WORDS = (
    FIRST_PERSON | SECOND_PERSON | THIRD_PERSON | DEMONSTRATIVES | WH_WORDS | MODALS | AUXILIARIES
    | DETERMINERS | PREPOSITIONS | CONJUNCTIONS | word_set("not there here")
)  # fmt: skip
SHAPE_WORDS = FUNCTION_WORDS | CUE_WORDS

# "Is it ethical to ...", "how long does it take": this "it" refers to nothing.
EXPLETIVE_VERBS = word_set(
    "take takes mean means cost costs rain rains snow snows seem seems happen matter hurt"
)
COPULAS = word_set("is was be are were")
JUDGEMENTS = word_set(
    "ethical unethical moral immoral right wrong legal illegal lawful possible impossible true fair "
    "unfair ok okay necessary important safe unsafe better worse best worth acceptable good bad normal "
    "dangerous healthy unhealthy easy hard difficult time reasonable useful useless common likely "
    "unlikely rude polite justified hypocritical appropriate inappropriate desirable enough too a an "
    "more less still ever really always cheaper expensive mandatory compulsory required permissible "
    "allowed sensible wise smart stupid selfish cruel harmful cool weird strange essential beneficial "
    "permitted customary racist sexist patriotic"
)
# "the first", "the other one": nouns so general that something must have been named before.
VAGUE_NOUNS = word_set(
    "one ones first second last other others latter former rest same main oldest newest latest thing "
    "things part process movie film book song show game story character author company product article "
    "report study city country team program law sauce recipe treatment disease test result results "
    "answer reason outcome"
)
HEDGE_OPENERS = word_set(
    "and but so also then ok okay interesting thanks oh hmm well yes no sure great right"
)

# Words of their own that a slip of the pen in one of the words above would give too.
NO_SLIPS = word_set(
    "bing blow case cases clint cold cots crete favorite fist funded last patent payed pays quit rally rater "
    "sated stars stats thee though three tired tough trail tying were wold wong"
)

# Words that mark a language other than English and are no English words.
FOREIGN_WORDS = word_set(
    "der das und ist nicht wie warum wer welche welcher einen eine ein mit für auf sind wird ich sie "
    "wann wo est les des une dans pour quelle quel quels quelles pourquoi comment qui avec sont je vous "
    "nous où quand el los las una por para qué cuál cuáles cómo quién dónde cuándo del es son que con "
    "il lo gli che perché cosa chi quando dove della sono qual quale è di os uma não como quem onde por "
    "que são da het een niet wat waarom hoe welke zijn van voor met wanneer waar wie och är vad varför "
    "hur vilken att som för inte det jest nie jak czy dlaczego kto gdzie kiedy co się na nedir nasıl "
    "neden ve bir için bu kim ne apa bagaimana mengapa yang dan adalah siapa di"
)
FOREIGN_WORDS -= word_set(
    "son van dove hoe apa dan los del yang chi die un no ha me so do come sein ne per con na una"
)

# Words of English that other languages spell alike.
SHARED_WORDS = word_set(
    "was die in an so do no me he as is on at a i we or over per for to his has am her an us"
)
