"""A query for a factual question: it stays about what was asked."""

import pytest

from adaptive_rag.nodes.enhance import EnhancedQuery, ask_to_enhance


def check(question, query):
    request = ask_to_enhance(question)
    return request.check(EnhancedQuery(**request.read({"query": query}))).query


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("When was the bridge opened?", "opening date of the bridge"),
        ("Who predicted the floods?", "flood prediction author"),
        ("When was the Brücke opened?", "Brücke Eröffnung opening"),
        # without a Latin word of four letters there is nothing to compare
        ("桥是什么时候开放的？", "大桥 开放 日期"),
        ("Is it?", "anything at all"),
    ],
)
def test_a_query_about_the_question_is_taken(question, query):
    assert check(question, query) == query


@pytest.mark.parametrize("query", ["recipes for apple cake", "museum hours"])
def test_a_query_about_something_else_is_refused(query):
    with pytest.raises(ValueError, match="no word in common"):
        check("When was the bridge opened?", query)


@pytest.mark.parametrize("query", ["I'm sorry, I cannot tell when the bridge was opened.", "None", '""'])
def test_an_excuse_is_no_query(query):
    with pytest.raises(ValueError, match=r"expected a query|is empty"):
        check("When was the bridge opened?", query)
