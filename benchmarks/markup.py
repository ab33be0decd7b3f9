"""Measures what of a document's markup is read as text, over real Markdown, reStructuredText and HTML.

    python -m benchmarks.markup FOLDER [FOLDER ...] [--speakers 200] [--samples 3] [--seed 0]

Each file is read and cut into chunks as for an index. A chunk counts under a kind of markup where a pattern
for it is found in the chunk's text outside code; the patterns and what is code are this script's own, so that
they do not repeat a mistake of the readers. `--speakers N` prints up to N chunks that name speakers, for a
person to judge.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.ingest import extract_text, split
from adaptive_rag.state import Chunk

SUFFIXES = {".md", ".markdown", ".mdx", ".rst", ".html", ".htm", ".adoc"}
_TAGS = (
    "a|abbr|article|aside|b|blockquote|br|center|code|dd|del|details|div|dl|dt|em|figure|font|h[1-6]|hr|i|iframe|"
    "img|input|ins|kbd|li|nav|ol|p|picture|pre|s|script|section|small|source|span|strong|style|sub|summary|sup|"
    "table|tbody|td|th|thead|tr|u|ul|video"
)
MARKUP: dict[str, re.Pattern[str]] = {
    "front matter": re.compile(r"\A(?:---|\+\+\+)\n(?:[\w-]+ ?[:=].*\n)"),
    "template tag": re.compile(r"\{%.{0,400}?%\}|\{\{.{0,400}?\}\}", re.DOTALL),
    "attribute list": re.compile(r"\{:? ?[.#][\w-]+[^{}\n]{0,80}\}"),
    "wiki link": re.compile(r"!?\[\[[^\[\]\n]{1,200}\]\]"),
    "HTML tag": re.compile(rf"</?(?:{_TAGS})(?:\s[^<>]{{0,400}})?/?>|<!--", re.IGNORECASE),
    "entity": re.compile(r"&(?:nbsp|amp|lt|gt|quot|mdash|ndash|#\d{2,5});"),
    "image": re.compile(r"!\[[^\]\n]{0,200}\][(\[]"),
    "relative link": re.compile(r"(?<!!)\[[^\[\]\n]{1,200}\]\((?!https?:|mailto:|<?https?:)[^)\s]{1,300}"),
    "link definition": re.compile(r"^ {0,3}\[[^\]\n]{1,100}\]: \S+$", re.MULTILINE),
    "container": re.compile(r"^[ >]*:::+ ?\{?\w*|^[ >]*> \[![\w-]+\]", re.MULTILINE),
    "comment": re.compile(r"%%.{1,400}?%%", re.DOTALL),
    "RST role": re.compile(r"(?<![\w`]):[a-z][\w:+.-]*:`[^`]+`|`[^`\n]+ <[^<>\n]+>`_|\|[\w -]+\|_"),
    "RST directive": re.compile(r"^ *\.\. (?:[\w:-]+::|_[^\n]+:|\[#?\w*\] |\|[^|\n]+\| )", re.MULTILINE),
    "AsciiDoc macro": re.compile(
        r"\b(?:xref|link|image|include|footnote|kbd|btn)::?[^\s\[]*\[|<<[\w#-]+[,>]"
    ),
}
_ONLY = {"RST role": {".rst"}, "RST directive": {".rst"}, "AsciiDoc macro": {".adoc"}}
_FENCED = re.compile(r"^[ >\t]*(?P<mark>`{3,}|~{3,}).*?(?:^[ >\t]*(?P=mark)[`~]*[ \t]*$|\Z)", re.M | re.S)
_INLINE = re.compile(r"(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\n)){1,600}?(?<!`)\1(?!`)")
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*\n|[ \t]*\n)+")
_LITERAL = re.compile(r"^( *)[^\n]*::(?: [\w+-]*)?\n(?:(?:\1 +[^\n]*)?\n)+", re.MULTILINE)
_LISTING = re.compile(r"^(-{4,}|\.{4,})\n.*?(?:^\1$|\Z)", re.MULTILINE | re.DOTALL)


def mask_code(text: str, suffix: str) -> str:
    """Return a text of the same length with blanks for its code."""
    kinds = {".rst": (_FENCED, _LITERAL, _INLINE), ".adoc": (_LISTING, _INLINE)}
    for pattern in kinds.get(suffix, (_FENCED, _INDENTED, _INLINE)):
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return text


def find_markup(text: str, suffix: str) -> dict[str, list[tuple[int, int]]]:
    """Return where each kind of markup stands in a text outside code."""
    masked = mask_code(text, suffix)
    return {
        kind: [found.span() for found in pattern.finditer(masked)]
        for kind, pattern in MARKUP.items()
        if suffix in _ONLY.get(kind, {suffix})
    }


def read_folder(folder: Path) -> Iterator[tuple[Path, str, list[Chunk]]]:
    """Yield each file below a folder with its text and chunks; a file that cannot be read is named."""
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            try:
                source = extract_text(path)
            except AdaptiveRAGError as error:
                if "no text" not in str(error) and "0 bytes" not in str(error):
                    print(f"not read: {error}")
                continue
            yield path, source.text, list(split(source))


def measure(folder: Path, samples: int, chance: random.Random) -> list[tuple[Path, Chunk]]:
    """Print how many chunks of a folder hold each kind of markup; return those that name speakers."""
    counts: Counter[str] = Counter()
    shown: dict[str, list[str]] = defaultdict(list)
    speaking: list[tuple[Path, Chunk]] = []
    started = time.perf_counter()
    for path, text, chunks in read_folder(folder):
        found = find_markup(text, path.suffix.lower())
        counts["files"] += 1
        for chunk in chunks:
            counts["chunks"] += 1
            held = {
                kind: next((s for s in spans if s[0] < chunk["end"] and chunk["start"] < s[1]), None)
                for kind, spans in found.items()
            }
            for kind, span in held.items():
                if span:
                    counts[kind] += 1
                    shown[kind].append(f"{path}: {text[max(0, span[0] - 20) : span[1] + 20]!r}")
            counts["any"] += any(held.values())
            if chunk["metadata"].get("speakers"):
                counts["speakers"] += 1
                speaking.append((path, chunk))
    print(f"\n{folder}: {dict(counts)} in {time.perf_counter() - started:.0f} s")
    for kind, places in shown.items():
        for place in chance.sample(places, min(samples, len(places))):
            print(f"  {kind}: {place[:300]}")
    return speaking


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the folders and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--speakers", type=int, default=0)
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    speaking = [one for folder in options.folders for one in measure(folder, options.samples, chance)]
    for path, chunk in chance.sample(speaking, min(options.speakers, len(speaking))):
        print(
            f"\n=== {path} {chunk['start']}-{chunk['end']} {chunk['metadata']['speakers']}\n{chunk['text']}"
        )


if __name__ == "__main__":
    main()
