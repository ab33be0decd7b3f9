"""The figures of the page: each is measured, at a real server and in a real browser."""

import shutil

import pytest

pytest.importorskip("playwright", reason="needs the development packages")
from benchmarks.page_speed import measure


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
def test_each_figure_is_measured() -> None:
    figures = measure(times=1, pages=12, messages=40, documents=300)
    assert figures["page without pdf.js, bytes"] < 150_000
    assert figures["first paint, ms"].keys() == {"cold", "warm"}
    assert figures["PDF of 12 pages at its citation, ms"] > 0
    for scrolled in ("frames over 40 messages, ms", "frames over 300 documents, ms"):
        assert 0 < figures[scrolled]["median"] <= figures[scrolled]["99 %"] <= figures[scrolled]["most"]
