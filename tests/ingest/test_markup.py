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


def test_a_listing_of_org_mode_is_kept(read_file):
    code = "#+BEGIN_SRC python\n# open the gate\n* 2\n:key: 1\n#+END_SRC"
    source = read_file("a.org", f"* Gate\n{code}\n* Fees\n")
    assert source.text == "Gate\n```python\n# open the gate\n* 2\n:key: 1\n```\nFees\n"
    assert [heading.section for heading in source.headings] == ["Gate", "Fees"]


def test_text_behind_a_title_on_its_line_is_read_and_is_no_part_of_the_title(read_file):
    source = read_file(
        "a.tex",
        "\\section{The {\\em north} mill} \\label{mill}\n"
        "\\paragraph{Storms.} When \\textbf{it} rises, shut the gate.\n",
    )
    assert source.text == "The north mill\nStorms. When it rises, shut the gate.\n"
    assert [heading.section for heading in source.headings] == ["The north mill", "Storms."]


@pytest.mark.parametrize(
    ("tex", "seen"),
    [
        ("Use \\verb|a%b{c}| here.", "Use a%b{c} here."),
        ("\\begin{minted}{c}\na % {b}\n\\end{minted}", "\\begin{minted}{c}\na % {b}\n\\end{minted}"),
        ("A\n\\begin{comment}\nb\n\\end{comment}\nC", "A\n\n\n\nC"),
    ],
)
def test_code_of_latex_is_kept_and_comments_are_dropped(read_file, tex, seen):
    assert read_file("a.tex", tex).text == seen


@pytest.mark.parametrize("comment", ["", "% "])
def test_titles_are_headings_also_below_a_formula_and_one_in_a_comment(read_file, comment):
    formula = "\n".join(comment + line for line in (r"\begin{equation}", "a = b", r"\end{equation}"))
    source = read_file("a.tex", f"\\section{{Tides}}\n{formula}\n\\section{{Storms}}\n1 \\\\% $2\n")
    assert [heading.section for heading in source.headings] == ["Tides", "Storms"]
    assert source.text.startswith("Tides\n") and source.text.endswith("\nStorms\n1\n")
    assert ("a = b" in source.text) == (not comment)


def test_titles_of_slides_are_headings_and_those_of_boxes_are_read(read_file):
    frame = "\\begin{frame}[fragile]{Storms}\n\\begin{block}{Rule}\nShut it.\n\\end{block}\n\\end{frame}\n"
    source = read_file(
        "a.tex", f"\\section{{Sea}}\n{frame}\\begin{{frame}}\n\\frametitle{{Tides}}\n\\end{{frame}}\n"
    )
    assert [heading.section for heading in source.headings] == ["Sea", "Storms", "Tides"]
    assert source.text.split() == "Sea Storms Rule Shut it. Tides".split()


@pytest.mark.parametrize(
    ("tex", "seen"),
    [
        ("It rose.\\footnote{See \\emph{Tides}\nof \\textbf{1957}.}", "It rose. (See Tides\nof 1957.)"),
        (
            "A & \\multicolumn{2}{@{}c}{\\bf B} \\\\ \\cmidrule(lr){2-3}\n & 1 & 2 \\\\",
            "A | B | B\n– | 1 | 2",
        ),
        ("\\SI{5}{\\kilo\\metre} at \\qty{3}{m} in \\si{\\second}", "5 kilo metre at 3 m in second"),
    ],
)
def test_notes_cells_and_units_of_latex_are_read(read_file, tex, seen):
    assert read_file("a.tex", tex).text == seen


def test_letters_and_signs_with_a_command_of_their_own_are_read(read_file):
    tex = r"S{\o}ren, Stra{\ss}e, \O stergaard, \L{}\'od\'z, Erd\H{o}s, \.Zak. "
    tex += r"Dr.\ Ho's hyphen\-ated \LaTeX{}: \S 5, \pounds5, 10\textsuperscript{6}."
    words = "Søren, Straße, Østergaard, Łódź, Erdős, Żak. Dr. Ho's hyphenated LaTeX: §5, £5, 10⁶."
    assert read_file("b.tex", tex).text == words


@pytest.mark.parametrize(
    ("name", "text", "seen"),
    [
        # a star that begins no line is no heading
        ("a.org", "It is 2 * 3 metres.\n  * wide", "It is 2 * 3 metres.\n  * wide"),
        # a chapter without a preamble
        ("b.tex", "Shut the gate.\n\\chapter{Mill}\nOpen it.", "Shut the gate.\nMill\nOpen it."),
    ],
)
def test_pieces_of_markup_are_read(read_file, name, text, seen):
    assert read_file(name, text).text == seen
