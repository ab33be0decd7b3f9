"""What a reader sees of the roles of reStructuredText and MyST: `label <target>` is its label."""

from __future__ import annotations

import re

_TITLED = re.compile(r"(?P<title>.+?)\s*<(?P<target>[^<>]*)>", re.DOTALL)
# what is set as code
_LITERAL = re.compile(
    r"code|command|console|data|dfn-code|doctest|envvar|file|literal|math|option|program|samp|setting|source|tt|"
    r"(?:[a-z]+:)?(?:any-?code|attr|class|cls|const|data|exc|func|macro|member|meth|method|mod|obj|type|var|option|keyword|"
    r"pep-?code|c:\w+|module|enum|struct|decorator)"
)
_NUMBERED = {"pep": "PEP", "rfc": "RFC", "gh": "GH-", "cve": "CVE-", "cwe": "CWE-", "issue": "#", "pr": "#"}
_UNSEEN = {"index", "raw", "raw-html", "eval"}


def read_role(name: str, content: str) -> str:
    """Return what a reader sees of a role's content: "PEP 8" of :pep:`8`."""
    name = name.lower()
    if name in _UNSEEN:
        return ""
    content = content.strip()
    titled = _TITLED.fullmatch(content) if name not in ("math", "code", "samp") else None
    shown = (titled["title"] if titled else content).strip()
    if titled or (prefix := _NUMBERED.get(name.rpartition(":")[2])) is None:
        short = shown[1:].rpartition(".")[2] if shown.startswith("~") else shown.removeprefix("!")
        literal = _LITERAL.fullmatch(name) and not titled and "`" not in short
        return f"`{short}`" if literal and short else short
    if shown.lower().startswith(prefix.lower()):
        return shown
    return f"{prefix}{'' if prefix.endswith(('-', '#')) else ' '}{shown}"
