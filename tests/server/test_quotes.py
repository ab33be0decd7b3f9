"""Quotes are found in a text in linear time, on both sides of where they are expected."""

import random
import time

from adaptive_rag.server.quotes import LONGEST_QUOTE, Quote, find_quotes
from tests.server.test_notes import chunk


def test_the_nearest_of_many_matches_is_found_on_both_sides() -> None:
    pick = random.Random(1)
    for _ in range(300):
        text = "".join(pick.choices("ab", k=30))
        words, start = "".join(pick.choices("ab", k=3)), pick.randrange(30)
        starts = [place for place in range(28) if text.startswith(words, place)]
        (span,) = find_quotes([chunk(0, text)], [Quote(words, start)])
        if span is None:
            assert not starts
        else:
            assert span.start in starts
            assert abs(span.start - start) == min(abs(place - start) for place in starts)


def test_words_that_nearly_match_everywhere_take_no_longer_before_than_after_their_place() -> None:
    passage, length = chunk(0, "a" * 300_000), LONGEST_QUOTE - 2
    after, before = Quote("a" * length + "ba", 0), Quote("ab" + "a" * length, 300_000)

    def measure(quote: Quote) -> float:
        began = time.process_time()
        assert find_quotes([passage], [quote] * 20) == [None] * 20
        return time.process_time() - began

    assert measure(before) < 4 * measure(after)
