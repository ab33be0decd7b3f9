"""The inputs of an answer: the question, its passages and the style of its strategy."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.contributions import Contributions
from adaptive_rag.answer.labels import write_dates_as
from adaptive_rag.answer.named import keep_named
from adaptive_rag.answer.people import OwnWords, find_own_words
from adaptive_rag.answer.posts import asks_of_mail, sender_of
from adaptive_rag.answer.score import ScoredSentences, blend_sides, read_sides, score_sentences
from adaptive_rag.answer.sentences import AnswerSentence, collect_sentences
from adaptive_rag.answer.speakers import FULL_NAME, bare_name, message_speaker, surname
from adaptive_rag.answer.subjects import LookUp, asks_for_others, keep_complete, keep_subjects
from adaptive_rag.answer.turns import people_in
from adaptive_rag.answer.versions import prefer_valid
from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.optional import attempt
from adaptive_rag.rank.agreement import agreements, centred
from adaptive_rag.rank.stances import Side
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Decision, Phrase
from adaptive_rag.text.reading import Reader
from adaptive_rag.text.vectors import Scores

# What is quoted: the best sentence, or its paragraph.
Extent = Literal["sentence", "paragraph"]
# The columns of `AnswerRequest.side_probabilities`.
AGAINST, FOR, NEITHER = range(3)
# The probability from which a sentence clearly takes a side. Of 440 sentences of ordinary documents one in a
# hundred reaches it, and these are right; of those from .6 on half are, and .77 of the views of
# opinion_perspectrum (`python -m training.sides`).
CLEAR_SIDE = 0.75


@dataclass(frozen=True)
class Block:
    """Sentences that are shown together; a block without sentences is not shown."""

    sentences: list[AnswerSentence]  # in the order shown
    heading: Phrase | str = ""
    numbered: bool = False  # each sentence on its own line, with a number
    bulleted: bool = False  # each quote on its own line, with a dash
    paragraphs: bool = False  # each passage's quotes, or quoted paragraph, as its own paragraph
    opening: Phrase | None = None  # text above the heading


@dataclass(frozen=True, kw_only=True)
class AnswerStyle:
    """The settings for the answers of one strategy."""

    # arranges the scored sentences in blocks; the request contains this style
    arrange: Callable[[AnswerRequest, ScoredSentences], list[Block]]
    # maximum number of sentences that a chat model is asked for
    sentences: int = 3
    # maximum number of quotes
    quotes: int = 4
    # how much text around the best sentence each quote contains
    extent: Extent = "sentence"
    # share of the total answer probability that the quoted sentences must reach
    mass: float = 0.85
    # whether what is quoted from another passage begins a paragraph
    paragraphs: bool = False
    # minimum probability of a further quote, as a share of the first one's
    share: float = 0.1
    # maximum number of words; the first quote is shown whatever its length
    words: int = 70
    # whether the parts of a question are answered separately
    splits: bool = False
    # whether the answer shows who holds which view, where the passages contain views
    views: bool = False
    # instructions for the chat model, in which "{sentences}" is filled in; "" for the file generate-NAME.md
    instruction: str = ""


@dataclass(frozen=True, kw_only=True)
class AnswerRequest:
    """Everything that is needed for an answer.

    Markers count documents: [n] is `documents[n - 1]` in the answer, in the prompt and in the output.
    """

    question: str
    style: AnswerStyle
    documents: Sequence[Candidate]  # passages in rank order
    sentences: Sequence[Sentences]  # one for each document; spans have the offsets of the document's own span
    question_vector: Vectors  # (dimension,)
    reader: Reader | None = None  # without a reader, the sentences nearest to the question are shown
    previous_question: str = ""  # the question that a follow-up refers to
    situation: str = ""  # what users say about themselves
    parts: Sequence[str] = ()  # the separate questions, if the question consists of several
    whole: AnswerRequest | None = None  # of which this is a part
    missing_side: Side | None = None  # the side that no passage takes; the answer says so
    is_strict: bool = False  # whether an answer must have every content word of the question
    look_up: LookUp = lambda name: ()  # finds chunks that may contain a name
    # returns the beginning of a document by its name; "" where it is unknown
    first_text: Callable[[str], str] = lambda source: ""
    decisions: list[Decision] = field(default_factory=list)  # for the trace

    def __post_init__(self) -> None:
        if len(self.documents) != len(self.sentences):
            raise ValueError(
                f"Got {len(self.documents)} documents and the sentences of {len(self.sentences)}; "
                "expected one Sentences for each document."
            )

    @property
    def question_for_reader(self) -> str:
        """Return the question for the reader, with the previous question and the user's situation."""
        situation = " ".join(self.situation.split())
        return f"{self._question_alone} ({situation})" if situation else self._question_alone

    @cached_property
    def _question_alone(self) -> str:
        question = f"{self.previous_question} {self.question}".strip()
        return write_dates_as(question, [document["text"] for document in self.documents])

    @cached_property
    def answer_sentences(self) -> list[AnswerSentence]:
        """Return the sentences of the documents that may be quoted, without duplicates."""
        with_headers = asks_of_mail(self.question)
        return list(in_time(collect_sentences(self.documents, self.sentences, with_headers=with_headers)))

    @cached_property
    def scored(self) -> ScoredSentences:
        """Return the sentences with the reader's scores, or with their cosines if the reader fails.

        Of the things of a kind, only those that the question names have a score. The scores of
        sentences that are no longer valid move to those that replace them. If it asks for one person's view,
        all other sentences have the score -inf.
        """
        scored = self._named_scored
        if self.own_words is None or not self.own_words.mask.any():
            return scored
        return replace(scored, scores=np.where(self.own_words.mask, scored.scores, -np.inf))

    @cached_property
    def _named_scored(self) -> ScoredSentences:
        scored = self._score(self.question_for_reader)
        if self.style.views:
            return scored  # who spoke first may still think so
        ask = partial(prefer_valid, self._question_alone, self.documents, scored, self.first_text)
        unchanged: tuple[ScoredSentences, list[Decision]] = scored, []
        scored, decisions = attempt("versions", partial(ask, self._speaker_of), unchanged)
        self.decisions.extend(decisions)
        return scored

    @cached_property
    def own_words(self) -> OwnWords | None:
        """Return the words of the one person whose view the question asks for; None for any other."""
        find = partial(find_own_words, self.question, self.documents, self._named_scored, self.holders)
        return attempt("speakers", find, None)

    @cached_property
    def answered(self) -> float | None:
        """Return the probability that one of the sentences answers; None without a reader.

        The situation shows which sentence answers, but it makes the reader overconfident, since it shares
        words with passages that do not answer. The reader therefore reads the question with and without the
        situation, and the mean of the log-odds counts (`python -m benchmarks.answers`, contextual_sharc).
        """
        probability = self.scored.answered
        if probability is None or not self.situation.strip():
            return probability
        without_situation = self._score(self._question_alone).answered
        if without_situation is None:
            return probability
        return mean_of_odds([probability, without_situation])

    @cached_property
    def blocks(self) -> list[Block]:
        """Return the sentences that the style's answer consists of."""
        return self.style.arrange(self, self.scored)

    def _score(self, question: str) -> ScoredSentences:
        score = partial(
            score_sentences, question, self.question_vector, self.documents, self.answer_sentences
        )
        scored = attempt("reader", partial(score, self.reader), None) or score(None)
        return attempt("names", partial(self._keep_named, scored), scored)

    def _keep_named(self, scored: ScoredSentences) -> ScoredSentences:
        questions = (self.question, self.previous_question)
        if asks_for_others(self.question):
            return scored
        kept = keep_subjects(questions, self.documents, scored, self.look_up)
        kept = keep_named(questions, self.documents, kept)
        if self.is_strict:
            kept = keep_complete(self.question.partition("\n")[0], self.documents, kept)
        return kept

    @cached_property
    def side_probabilities(self) -> Scores:
        """Return the probability that a sentence is against the proposal, for it, or neither.

        The shape is (sentences, 3). Without a reader, all sentences are neither.
        """
        neither = np.tile(np.array([0.0, 0.0, 1.0]), (len(self.answer_sentences), 1))
        return attempt("sides", self._read_sides, neither) if self.reader else neither

    def _read_sides(self) -> Scores:
        assert self.reader is not None
        probabilities = read_sides(self.question, self.documents, self.answer_sentences, self.reader)
        return blend_sides(probabilities, self.tones)

    @cached_property
    def clear_sides(self) -> NDArray[np.intp]:
        """Return the side that each sentence clearly takes, AGAINST or FOR, else NEITHER."""
        sides = self.side_probabilities[:, :NEITHER]
        is_clear = sides.max(axis=1, initial=0.0) >= CLEAR_SIDE
        return np.where(is_clear, sides.argmax(axis=1), NEITHER)

    @cached_property
    def tones(self) -> Scores:
        """Return the tone of each sentence towards the proposal: above 0 for praise, below 0 for blame."""
        tones = centred(agreements(self.question, self.documents, self.sentences))
        return np.array([tones[s.document][s.position] for s in self.answer_sentences])

    @cached_property
    def speakers(self) -> list[str | None]:
        """Return the speaker of each sentence; None where the text names none."""
        return [self._speaker_of(index) for index in range(len(self.answer_sentences))]

    def _speaker_of(self, index: int) -> str | None:
        sentence = self.answer_sentences[index]
        if sentence.standalone and not sentence.is_value:
            return message_speaker(sentence.text)
        return self.contributions[sentence.document].speaker_at(sentence.start, sentence.end)

    @cached_property
    def holders(self) -> list[str | None]:
        """Return who holds the view of each sentence: its speaker, or the person on whom it reports.

        The author of a row, such as a review, who has no name is a number.
        """
        return [
            speaker or self.contributions[sentence.document].holder_at(sentence.start, sentence.end)
            for speaker, sentence in zip(self.speakers, self.answer_sentences, strict=True)
        ]

    @cached_property
    def is_debate(self) -> bool:
        """Return whether several people speak in the passages."""
        return len({bare_name(name) for name in self.holders if name}) > 1

    @cached_property
    def contributions(self) -> list[Contributions]:
        """Return the speakers and authors of each document."""
        people = set[str]().union(*(people_in(document["text"]) for document in self.documents))
        senders = [sender for document in self.documents if (sender := sender_of(document))]
        people |= {surname(sender) for sender in senders if re.match(FULL_NAME, sender)}
        return [
            attempt("speakers", partial(Contributions, document, people), None)
            or Contributions({**document, "text": ""})
            for document in self.documents
        ]


def mean_of_odds(probabilities: Sequence[float]) -> float:
    """Return the probability whose log-odds are the mean of those of some probabilities."""
    p = np.clip(probabilities, 1e-4, 1 - 1e-4)
    return float(1 / (1 + np.exp(-np.log(p / (1 - p)).mean())))
