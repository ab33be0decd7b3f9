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


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        (
            "a.org",
            "#+TITLE: Mill\n* TODO Fees :money:\n:ID: 3\nSee [[a.org][a label]].\n| Part | Cost |\n"
            "|---+---|\n| Van | 3 |",
            "\nFees\n\nSee a label.\nPart | Cost\n--- | ---\nVan | 3",
        ),
        (
            "a.wiki",
            "== Fees ==\n'''Bold''' [[Page|label]]<ref>x</ref>{{box|{{a}}}}\n{|\n"
            '! scope="col" | Part !! Cost\n|-\n| Van || 3\n|}',
            "Fees\nBold label\n\nPart | Cost\n\nVan | 3\n",
        ),
        ("a.dokuwiki", "===== Fees =====\n**Bold** [[page|label]]\n^ Part ^ Cost ^\n| Van | 3 |", None),
        (
            "a.textile",
            'h2. Fees\n\np. "A label":https://a.example/b here\n\n|_. Part|_. Cost|\n|Van|3|',
            None,
        ),
    ],
)
def test_markup_of_org_mode_and_wikis_is_left_out(read_file, name, text, shown):
    source = read_file(name, text)
    assert source.section_at(len(source.text)) == "Fees"
    assert "Part | Cost" in source.text and "Van | 3" in source.text
    assert "abel" in source.text and not set(source.text) & set("[]{}^=")
    assert shown is None or source.text == shown


def test_a_chapter_without_a_preamble_is_read_whole(read_file):
    assert (
        read_file("b.tex", "Shut the gate.\n\\chapter{Mill}\nOpen it.").text
        == "Shut the gate.\nMill\nOpen it."
    )


@pytest.mark.parametrize("piece", ["\\a{", "\\(", "$", "[[", "{{", "\\begin{equation}", "<!--", "|", "\\[a"])
@pytest.mark.parametrize("suffix", ["tex", "org", "wiki", "dokuwiki", "textile"])
def test_markup_that_never_ends_is_read_in_time(read_file, piece, suffix):
    assert "gate" in read_file(f"a.{suffix}", "gate " + piece * 20_000).text
