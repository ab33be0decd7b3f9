"""File suffixes by kind of file, for files with slides, sheets, tables, times, mails or attachments."""

from __future__ import annotations

SUFFIXES: dict[str, tuple[str, ...]] = {
    "PDF": (".pdf", ".xps", ".oxps"),
    "Word": (".docx", ".docm", ".dotx", ".dotm"),
    "PowerPoint": (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
    "older PowerPoint": (".ppt", ".pps", ".pot"),
    "Excel": (".xlsx", ".xlsm", ".xltx", ".xltm"),
    "older Excel": (".xls", ".xlt"),
    "binary Excel": (".xlsb",),
    "OpenDocument text": (".odt", ".ott"),
    "OpenDocument spreadsheet": (".ods", ".ots"),
    "OpenDocument presentation": (".odp", ".otp"),
    "CSV": (".csv", ".tsv"),
    "JSON lines": (".jsonl",),
    "JSON": (".json",),
    "mail": (".eml",),
    "mail of Outlook": (".msg",),
    "mailbox": (".mbox",),
    "subtitles": (".srt", ".vtt"),
}


def suffixes_of(*kinds: str) -> frozenset[str]:
    """Return the suffixes of these kinds of file."""
    return frozenset(suffix for kind in kinds for suffix in SUFFIXES[kind])
