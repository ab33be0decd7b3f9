"""The closed word lists of the query analysis; this module holds data only."""


def word_set(text: str) -> frozenset[str]:
    """Split a text into the set of its words."""
    return frozenset(text.split())


SINGULAR_FIRST = word_set("i me my mine myself")
PLURAL_FIRST = word_set("we us our ours ourselves")
FIRST_PERSON = SINGULAR_FIRST | PLURAL_FIRST
SECOND_PERSON = word_set("you your yours yourself")
PRONOUNS = word_set("it its they them their theirs he him his she her hers")
THIRD_PERSON = PRONOUNS | word_set("itself themselves himself herself")
DEMONSTRATIVES = word_set("this that these those")
WH_WORDS = word_set("what which who whom whose when where why how")
MODALS = word_set("should shall ought must can could may might will would need")
AUXILIARIES = word_set("is are was were am be been being do does did has have had")
AUXILIARIES |= MODALS - {"ought", "need"}
# Determiners, prepositions, conjunctions and adverbs.
OTHER_FUNCTION_WORDS = word_set(
    "a an the some any no each every either neither all both another such of in on at by for with about "
    "against between into through during before after above below to from up down out off over under than as "
    "like without within among across per via toward towards upon around along behind beyond near since "
    "until despite except regarding concerning and or but nor so yet if because although though while "
    "whereas whether unless then else when not there here"
)

# Words that say what is to be done, judged, compared or explained: they shape a question and name no topic.
CUE_WORDS = word_set(
    "think opinion opinions view views feel believe argument arguments pros cons debate controversial "
    "favourite favorite best better worst good bad right wrong worth fair moral morally ethical ethically "
    "justified justify recommend recommendation recommended suggest suggestion suggestions advice "
    "experience experiences banned ban allowed allow legal illegal abolished legalized mandatory compulsory "
    "required necessary overrated underrated agree disagree support oppose perspectives perspective "
    "viewpoints viewpoint stance explain describe discuss compare contrast analyze analyse evaluate assess "
    "summarize summarise outline difference differences different differ similar similarities versus vs "
    "advantages advantage disadvantages disadvantage benefits benefit effect effects affect affects impact "
    "impacts influence cause causes caused reason reasons purpose role function importance significance "
    "important process steps step way ways method methods work works make makes happen happens happened "
    "mean means relationship factors symptoms many much long far old tall big often name called year date "
    "number percent percentage amount population first last largest smallest most least located born die "
    "died invented founded wrote written won play played imagine suppose assume assuming say let given "
    "patient client case scenario situation tell give list show want trying try help please advise prepare "
    "qualify eligible apply claim afford more other others same one ones too also instead again someone "
    "something anything now still already ever never only just really actually start starts create build "
    "use used using fix stop keep get got go going take takes cost costs pay"
)
FUNCTION_WORDS = SINGULAR_FIRST | PLURAL_FIRST | SECOND_PERSON | THIRD_PERSON | DEMONSTRATIVES
FUNCTION_WORDS |= WH_WORDS | MODALS | AUXILIARIES | OTHER_FUNCTION_WORDS
SHAPE_WORDS = FUNCTION_WORDS | CUE_WORDS

# "Is it ethical to ...", "how long does it take": this "it" refers to nothing.
EXPLETIVE_VERBS = word_set(
    "take takes mean means cost costs rain rains snow snows seem seems happen matter hurt"
)
COPULAS = word_set("is was be are were")
JUDGEMENTS = word_set(
    "ethical unethical moral immoral right wrong legal illegal lawful possible impossible true fair unfair "
    "ok okay necessary important safe unsafe better worse best worth acceptable good bad normal dangerous "
    "healthy unhealthy easy hard difficult time reasonable useful useless common likely unlikely rude "
    "polite justified hypocritical appropriate inappropriate desirable enough too a an more less still ever "
    "really always cheaper expensive mandatory compulsory required permissible allowed sensible wise smart "
    "stupid selfish cruel harmful cool weird strange essential beneficial permitted customary racist sexist "
    "patriotic"
)
# "the first", "the other one": nouns so general that something must have been named before.
VAGUE_NOUNS = word_set(
    "one ones first second last other others latter former rest same main oldest newest latest thing things "
    "part process movie film book song show game story character author company product article report "
    "study city country team program law sauce recipe treatment disease test result results answer reason "
    "outcome"
)
OPENERS = word_set("and but so also then ok okay interesting thanks oh hmm well yes no sure great right")

# Correct words that look like a misspelling of one of the words above: "quit" is not a slip for "quite".
NO_MISSPELLINGS = word_set(
    "bing blow case cases clint cold cots crete favorite fist funded last patent payed pays quit rally "
    "rater sated stars stats thee though three tired tough trail tying were wold wong"
)

# Words that mark a language other than English and do not exist in English.
FOREIGN_WORDS = word_set(
    "der das und ist nicht wie warum wer welche welcher einen eine ein mit für auf sind wird ich sie wann "
    "wo est les des une dans pour quelle quel quels quelles pourquoi comment qui avec sont je vous nous où "
    "quand el las por para qué cuál cuáles cómo quién dónde cuándo es que il lo gli che perché cosa quando "
    "della sono qual quale è di os uma não como quem onde são da het een niet wat waarom welke zijn voor "
    "met wanneer waar och är vad varför hur vilken att som för inte det jest nie jak czy dlaczego kto gdzie "
    "kiedy co się nedir nasıl neden ve bir için bu kim bagaimana mengapa adalah siapa"
)
# English function words that are not also words of another common language.
ENGLISH_WORDS = FUNCTION_WORDS - word_set(
    "was in an so do no me he as is on at a i we or over per for to his has am her us"
)

# Abbreviations that look like a pronoun or question word in lower case: "What is IT?", "who leads the us".
ABBREVIATIONS = {"it": "information technology", "us": "United States", "who": "World Health Organization"}

# Contractions without their apostrophe, such as "whats".
CONTRACTIONS = {
    **{f"{word}s": f"{word} is" for word in word_set("what how who where when why that there she he")},
    **{f"{word}nt": f"{word} not" for word in AUXILIARIES - word_set("am be been being") - MODALS},
    **{f"{word}nt": f"{word} not" for word in ("could", "would", "should")},
    **{f"{word}ve": f"{word} have" for word in ("i", "you", "they", "we")},
    **{f"{word}re": f"{word} are" for word in ("you", "they")},
    "cant": "can not", "cannot": "can not", "wont": "will not", "aint": "is not", "im": "i am",
    "id": "i would", "lets": "let us", "u": "you", "r": "are", "ur": "your", "pls": "please", "plz": "please",
    "wat": "what", "y": "why", "gonna": "going to", "wanna": "want to", "gotta": "have to",
}  # fmt: skip
# "I'll", "they'd": the apostrophe distinguishes these from the words "ill" and "shed".
CONTRACTED_ENDINGS = {"ll": "will", "d": "would", "ve": "have", "re": "are", "m": "am"}
