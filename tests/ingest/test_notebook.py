import json

from tests.ingest.spans import checked_chunks

TABLE = (
    "<div><table><tr><th>station</th><th>cm</th></tr><tr><td>North Mole</td><td>412</td></tr></table></div>"
)


def shown(kind, text):
    """Return the output of `display(HTML(...))` or `display(Markdown(...))`."""
    plain = f"<IPython.core.display.{kind} object>"
    return {"output_type": "display_data", "data": {f"text/{kind}": text, "text/plain": plain}}


def test_text_code_and_results_stand_in_order_below_their_headings(read_file):
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "\n", "## Gauges\n", "Read daily."]},
        {
            "cell_type": "code",
            "source": ["gauges = read()\n", "gauges"],
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[32m3 gauges\x1b[0m read\n"]},
                {"output_type": "execute_result", "data": {"text/html": [TABLE], "text/plain": "a station"}},
                {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": ["<Figure>"]}},
                shown("html", "<b>Mean</b> 4 m"),
                shown("markdown", "**Highest** 6 m"),
                {"output_type": "display_data", "data": {"text/html": "<b>Lowest</b> 1 m"}},
                {"output_type": "error", "ename": "KeyError", "evalue": "'South'", "traceback": ["..."]},
            ],
        },
        {"cell_type": "markdown", "source": "## Limits\n\nThe wall holds 5 m.\n"},
        {"cell_type": "code", "source": "doc = '''```'''", "outputs": []},
    ]
    known = {"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4}
    source = read_file("a.ipynb", json.dumps(known))
    assert source.text == (
        "# Tides\n\n## Gauges\nRead daily.\n\n```\ngauges = read()\ngauges\n```\n\n"
        "```\n3 gauges read\n```\n\n"
        "station | cm\n\nNorth Mole | 412\n\n```\n<Figure>\n```\n\nMean 4 m\n\n**Highest** 6 m\n\n"
        "Lowest 1 m\n\n```\nKeyError: 'South'\n```\n\n"
        "## Limits\n\nThe wall holds 5 m.\n\n````\ndoc = '''```'''\n````"
    )
    assert source.section_at(source.text.index("412")) == "Gauges"
    assert source.section_at(source.text.index("5 m")) == "Limits"
    assert source.metadata == {"language_of_code": "python"}
    assert checked_chunks(source, size=80, overlap=0)
