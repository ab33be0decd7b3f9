import pytest

TEX = r"""\documentclass{article} % a comment
\title{The Mill}
\begin{document}
\section*{Opening hours}
The caf\'e opens at 9~am, see \cite{quill} and \ref{fees}. % nobody sees this
\subsection[Fees]{Fees \& more}
\begin{itemize}
  \item A \textbf{child \emph{under} five}\footnote{By day.} pays $\frac{a}{b}$.
\end{itemize}
\begin{tabular}{@{}l|r@{}} \hline
Hinge & 4\,\% \\ Dowel & 2 \\
\end{tabular}
\end{document}
"""


def test_latex_is_read_as_its_reader_sees_it_on_the_lines_of_the_file(read_file):
    source = read_file("a.tex", TEX)
    lines = source.text.split("\n")
    assert lines[3:6] == ["Opening hours", "The café opens at 9 am, see [quill] and [fees].", "Fees & more"]
    assert lines[7].strip() == r"- A child under five (By day.) pays $\frac{a}{b}$."
    assert lines[10].startswith("Hinge | 4%")
    assert "nobody" not in source.text and "article" not in source.text
    assert source.metadata["title"] == "The Mill"
    assert source.section_at(source.text.index("child")) == "Fees & more"


def test_markup_of_org_mode_is_left_out(read_file):
    head = "#+TITLE: Mill\n* TODO Fees :money:\n:ID: 3\nSee [[a.org][a label]].\n"
    source = read_file("a.org", f"{head}| Part | Cost |\n|---+---|\n| Van | 3 |")
    assert source.text == "\nFees\n\nSee a label.\nPart | Cost\n--- | ---\nVan | 3"
    assert source.section_at(len(source.text)) == "Fees"


def test_text_behind_a_title_on_its_line_is_read_and_is_no_part_of_the_title(read_file):
    source = read_file(
        "a.tex",
        "\\section{The {\\em north} mill} \\label{mill}\n"
        "\\paragraph{Storms.} When \\textbf{it} rises, shut the gate.\n",
    )
    assert source.text == "The north mill\nStorms. When it rises, shut the gate.\n"
    assert [heading.section for heading in source.headings] == ["The north mill", "Storms."]


@pytest.mark.parametrize(
    ("name", "text", "seen"),
    [
        # a star that begins no line is no heading
        ("a.org", "It is 2 * 3 metres.\n  * wide", "It is 2 * 3 metres.\n  * wide"),
        # a chapter without a preamble
        ("b.tex", "Shut the gate.\n\\chapter{Mill}\nOpen it.", "Shut the gate.\nMill\nOpen it."),
        # letters with a command of their own
        ("b.tex", r"S{\o}ren, Stra{\ss}e, \O stergaard, \L{}\'od\'z.", "Søren, Straße, Østergaard, Łódź."),
    ],
)
def test_pieces_of_markup_are_read(read_file, name, text, seen):
    assert read_file(name, text).text == seen
