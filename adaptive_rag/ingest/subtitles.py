"""The loader of subtitles and transcripts (.srt, .vtt): what is said, when and by whom."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.text import decode

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d\d)[.,]\d{1,3}"
_TIMES = re.compile(rf"^[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*\n?", re.MULTILINE)
_SPEAKER = re.compile(r"<v(?:\.[\w.]{0,50})?[ \t]+([^<>\n]{1,100})>")
# How Zoom names a speaker: "Ana Lee: Hello."
_NAME = re.compile(r"([^\W\d_][^:\n]{0,60}):\s+(?=\S)")
_MARKUP = re.compile(r"</?[a-zA-Z\d][^<>\n]{0,100}>|</>|\{\\[^{}\n]{0,100}\}")
# What ends a subtitle: in .vtt an empty line, in .srt, whose texts may have some, the number of the next one.
_EMPTY_LINE = re.compile(r"^$", re.MULTILINE)
_END_OF_SRT = re.compile(r"^[ \t]*\n[ \t]*\d+[ \t]*\n\Z", re.MULTILINE)
# A paragraph ends at a pause of this many seconds, or with a sentence after this many characters.
_PAUSE = 3
_LONG_PARAGRAPH = 400


class _Cue(NamedTuple):
    start: int
    end: int
    speaker: str
    text: str


def load_subtitles(path: Path, builder: TextBuilder) -> None:
    """Write what is said into `builder`, in paragraphs; the section of each is its start time.

    If speakers are named, a paragraph begins with the time and the name, as in a chat log.
    """
    text, speaker, last_end = "", "", -1
    end_of_cue = _END_OF_SRT if path.suffix.lower() == ".srt" else _EMPTY_LINE
    for cue in _take_names(list(_cues(decode(path.read_bytes(), builder), end_of_cue))):
        is_full = len(text) > _LONG_PARAGRAPH and text.endswith((".", "!", "?", "…"))
        ends_paragraph = is_full or cue.start - last_end > _PAUSE
        if not text or ends_paragraph or cue.speaker != speaker:
            time = f"{cue.start // 3600}:{cue.start // 60 % 60:02}:{cue.start % 60:02}"
            builder.add(text)
            builder.begin_paragraph()
            builder.mark_heading(time, 1)
            text = f"[{time}] {cue.speaker}: " if cue.speaker else ""
        text += f"{' ' if text and not text.endswith(' ') else ''}{cue.text}"
        speaker, last_end = cue.speaker, cue.end
    if last_end < 0:
        raise IndexingError(
            "holds no subtitles: nothing is said below a line as 00:00:01,000 --> 00:00:04,000"
        )
    builder.add(text)


def _cues(text: str, end_of_cue: re.Pattern[str]) -> Iterator[_Cue]:
    """Yield the subtitles with their times; a line that repeats the line shown last is left out."""
    times = list(_TIMES.finditer(text))
    last_line = ""
    block_ends = [match.start() for match in times[1:]] + [len(text)]
    for match, block_end in zip(times, block_ends, strict=False):
        block = end_of_cue.split(text[match.end() : block_end], maxsplit=1)[0]
        start, end = _seconds(match.groups()[:3]), _seconds(match.groups()[3:])
        shown_before = last_line
        for speaker, words in _split_speakers(block):
            visible = html.unescape(_MARKUP.sub("", words))
            lines = [" ".join(line.split()) for line in visible.splitlines()]
            lines = [line for line in lines if line and line != shown_before]
            if lines:
                last_line = lines[-1]
                yield _Cue(start, end, speaker, " ".join(lines))


def _take_names(cues: list[_Cue]) -> Iterator[_Cue]:
    """Yield subtitles with the names that begin their texts as speakers, if most texts begin with one."""
    names = [None if cue.speaker else _NAME.match(cue.text) for cue in cues]
    are_named, speaker = 2 * sum(map(bool, names)) > len(cues), ""
    for cue, name in zip(cues, names, strict=True):
        if are_named:
            speaker = cue.speaker or (name[1] if name else speaker)
            cue = cue._replace(speaker=speaker, text=cue.text[name.end() if name else 0 :])
        yield cue


def _split_speakers(block: str) -> Iterator[tuple[str, str]]:
    """Yield each speaker in a subtitle, "" if none is named, and the part of the subtitle that is theirs."""
    tags = list(_SPEAKER.finditer(block))
    names = [" ".join(html.unescape(tag[1]).split()) for tag in tags] or [""]
    starts = [0, *(tag.start() for tag in tags[1:])]
    for name, start, end in zip(names, starts, [*starts[1:], len(block)], strict=True):
        yield name, block[start:end]


def _seconds(parts: Sequence[str | None]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in parts)
    return hours * 3600 + minutes * 60 + seconds
