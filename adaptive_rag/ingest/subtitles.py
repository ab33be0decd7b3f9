"""The loader of subtitles and transcripts (.srt, .vtt): what is said, when and by whom."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.text import decode

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d\d)[.,]\d{1,3}"
_TIMES = re.compile(rf"^[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*\n?", re.MULTILINE)
_SPEAKER = re.compile(r"<v(?:\.[\w.]{0,50})?[ \t]+([^<>\n]{1,100})>")
_MARKUP = re.compile(r"</?[a-zA-Z\d][^<>\n]{0,100}>|</>|\{\\[^{}\n]{0,100}\}")
# A paragraph ends at a pause of this many seconds, or with a sentence after this many characters.
_PAUSE = 3
_LONG = 400


class _Cue(NamedTuple):
    start: int
    end: int
    speaker: str
    text: str


def load_subtitles(path: Path, builder: TextBuilder) -> None:
    """Write what is said into `builder`, in paragraphs; the section of each is its start time.

    If speakers are named, a paragraph begins with the time and the name, as in a chat log.
    """
    text, speaker, before = "", "", -1
    for cue in _cues(decode(path.read_bytes(), builder)):
        pause = cue.start - before > _PAUSE or (len(text) > _LONG and text.endswith((".", "!", "?", "…")))
        if not text or pause or cue.speaker != speaker:
            begin = f"{cue.start // 3600}:{cue.start // 60 % 60:02}:{cue.start % 60:02}"
            builder.add(text)
            builder.begin_paragraph()
            builder.mark_heading(begin, 1)
            text = f"[{begin}] {cue.speaker}: " if cue.speaker else ""
        text += f"{' ' if text and not text.endswith(' ') else ''}{cue.text}"
        speaker, before = cue.speaker, cue.end
    if before < 0:
        raise IndexingError(
            "holds no subtitles: nothing is said below a line as 00:00:01,000 --> 00:00:04,000"
        )
    builder.add(text)


def _cues(text: str) -> Iterator[_Cue]:
    """Yield the subtitles with their times; a line that repeats the line shown last is left out."""
    times = list(_TIMES.finditer(text))
    shown = ""
    for match, following in zip(times, [*(each.start() for each in times[1:]), len(text)], strict=False):
        block = re.split(r"^[ \t]*$", text[match.end() : following], maxsplit=1, flags=re.MULTILINE)[0]
        named = _SPEAKER.search(block)
        plain = html.unescape(_MARKUP.sub("", block))
        lines = [line for each in plain.splitlines() if (line := " ".join(each.split())) and line != shown]
        if lines:
            shown = lines[-1]
            hours, minutes, seconds, *end = (int(part or 0) for part in match.groups())
            ended = end[0] * 3600 + end[1] * 60 + end[2]
            speaker = " ".join(html.unescape(named[1]).split()) if named else ""
            yield _Cue(hours * 3600 + minutes * 60 + seconds, ended, speaker, " ".join(lines))
