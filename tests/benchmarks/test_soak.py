"""The run over a long life, in short: no question fails, and each is answered as by a fresh process."""

import pytest

from benchmarks.soak import Count, load, report, soak

pytestmark = pytest.mark.slow


@pytest.mark.nightly
@pytest.mark.usefixtures("samples_embedded")
def test_questions_are_answered_as_by_a_fresh_process_while_the_index_changes() -> None:
    count = soak(questions=30, threads=4, of=3)
    assert count.asked == 30
    assert not count.failed and not count.differing, report(count)


@pytest.mark.nightly
@pytest.mark.usefixtures("samples_embedded")
def test_many_threads_and_tasks_get_the_answers_of_one() -> None:
    count = load(seconds=3, chunks=200, of=3)
    assert count.asked > 0
    assert not count.failed and not count.differing, report(count)


def test_the_report_names_what_failed_and_what_differed() -> None:
    count = Count(resident=[100.0, 120.0])
    count.note()
    count.note(failure="KeyError: 'a'")
    count.note(difference="the answer was another")
    text = report(count)
    assert "3 questions, 1 failed, 1 differed" in text
    assert "1 times KeyError: 'a'" in text and "the answer was another" in text
    assert "100 MB after a tenth, 120 MB at the end" in text
