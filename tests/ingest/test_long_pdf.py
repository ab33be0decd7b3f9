import json
import subprocess
import sys

import pytest

from .made_pdf import Text, make_pdf, paragraph

LINE = "The keeper wrote that the sea wall held and that the pumps ran all through the night."
READ = """
import json, resource, sys
from adaptive_rag.ingest import extract_text, split
source = extract_text(sys.argv[1])
for last in split(source):
    pass
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
page = source.page_at(source.text.index(f"Vessel{sys.argv[2]} "))
last = last["metadata"].get("page_end", last["page"])
heads = source.text.count("Harbour Record")
print(json.dumps([peak, len(source.text), len(source.pages), page, last, heads]))
"""


def read_apart(tmp_path, count):
    """Read a PDF in a process of its own, whose peak is this PDF's alone."""
    pages = (
        [
            Text("Harbour Record", y=40, size=9),
            *paragraph([f"On day {number} the ship Vessel{number} came in. " + LINE[:40], *[LINE] * 38]),
            Text(str(number), x=290, y=800, size=9),
        ]
        for number in range(1, count + 1)
    )
    path = make_pdf(tmp_path / f"{count}.pdf", pages)
    command = [sys.executable, "-c", READ, str(path), str(count - 5)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_2000_page_pdf_is_read_in_memory_close_to_its_text(tmp_path):
    pytest.importorskip("resource")
    (short, *_), (long, characters, *found) = read_apart(tmp_path, 20), read_apart(tmp_path, 2000)
    assert characters > 6_000_000
    # the text itself is held once whole and once in parts, and the first pass keeps 15 to 20 MB of lines
    assert long - short < 50
    assert found == [2000, 1995, 2000, 1]
