"""Excel number formats: a number as its cell shows it, such as "£4.20", "15%" or a date."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

# The built-in formats, which workbooks refer to by number only (ECMA-376, part 1, 18.8.30). A number with a
# format that is missing here is shown unchanged.
BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 14: "yyyy-mm-dd", 15: "d-mmm-yy",
    16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss",
    22: "yyyy-mm-dd h:mm", 37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00", 45: "mm:ss",
    46: "[h]:mm:ss", 47: "mm:ss.0",
    # the formats of Chinese, Japanese and Korean versions
    32: "h:mm", 33: "h:mm:ss", **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), "yyyy-mm-dd"),
}  # fmt: skip
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|(?P<elapsed>\[(?:h+|m+|s+)\])|'
    r"\[(?P<condition>[<>=]{1,2}-?[\d.]+)\]|\[[^\]]*\]|[_*].|"
    r"(?P<half>AM/PM|A/P)|(?P<time>y+|m+|d+|h+|s+(?:\.0+)?)|(?P<general>General)|"
    r"(?P<digits>[0#?][0#?,.]*|\.[0#?]+)|(?P<other>.)",
    re.IGNORECASE,
)
_DATES = {
    "yy": "%y", "mmm": "%b", "mmmm": "%B", "mmmmm": "%b", "ddd": "%a", "dddd": "%A", "dd": "%d", "hh": "%H",
    "mm": "%m",
}  # fmt: skip
_SECONDS_PER_DAY = 86_400
# The most decimals of seconds that a cell shows.
_MAX_SECOND_DECIMALS = 3
# The first day number that is not a date: Excel's last date is in the year 9999.
_END_OF_DATES = 2_958_466

Token = tuple[str, str]  # its kind and its text
# Follows a "%" that is a code: 0.15 is shown as "15%". With a literal "%", as in '0"%"', 15 is.
_PERCENT = ("percent", "")


def show_number(text: str, code: str, *, since_1904: bool = False) -> str:
    """Write a number as a cell with a given format shows it.

    A date has the name of its month if the format shows it. Otherwise it is written as "2025-03-01", since
    the order of day and month depends on the reader's country.

    `text` is the number as the file stores it; in dates, 1 is a day. `code` is the format, '#,##0.00 "kg"',
    which may have sections separated by semicolons. Workbooks of old Macintoshes count days from 1904.

    Raises:
        ValueError: `text` is not a number.
    """
    value, tokens = _choose_section(float(text), _parse_sections(code))
    kinds = {kind for kind, _ in tokens}
    try:
        if kinds & {"time", "elapsed"} and 0 <= value < _END_OF_DATES:
            return _format_time(value, tokens, since_1904)
        return _format_digits(value, tokens)
    except ArithmeticError:  # too many digits for `Decimal`, or a date after the year 9999
        return _format_plain(value)


@lru_cache(maxsize=1000)
def _parse_sections(code: str) -> list[list[Token]]:
    """Split each section of a format into tokens; codes for spacing and colours are left out."""
    sections: list[list[Token]] = [[]]
    for match in _TOKEN.finditer(code):
        kind, part = match.lastgroup, match[match.lastgroup] if match.lastgroup else ""
        tokens = sections[-1]
        if kind == "other" and part == ";":
            sections.append([])
        elif kind in ("quoted", "escaped", "currency", "other"):
            tokens.append(("text", part))
            if kind == "other" and part == "%":
                tokens.append(_PERCENT)
        elif kind:
            tokens.append((kind, part.lower() if kind != "general" else part))
    return sections


def _choose_section(value: float, sections: list[list[Token]]) -> tuple[float, list[Token]]:
    """Return the value, without its sign if its section shows the sign, and the section that formats it.

    If sections have conditions, the first one that is met or that has none counts. Otherwise the second
    section is for negative numbers if its text differs by more than the sign; "(1,234)" is shown as "-1,234".
    """
    if len(sections) == 1:
        return value, sections[0]
    conditions = [dict(section).get("condition") for section in sections]
    if any(conditions):
        matching = (
            section
            for section, condition in zip(sections, conditions, strict=True)
            if condition is None or _meets_condition(value, condition)
        )
        return value, next(matching, sections[0])
    if value < 0 and "digits" in dict(sections[1]):
        positive, negative = (_join_literals(section) for section in sections[:2])
        if re.sub("[()-]", "", negative) != positive:
            return -value, sections[1]
    return value, sections[0]


def _meets_condition(value: float, condition: str) -> bool:
    sign = condition.rstrip("-.0123456789")
    limit = float(condition.removeprefix(sign))
    return {"<": value < limit, ">": value > limit, "=": value == limit, "<=": value <= limit,
            ">=": value >= limit, "<>": value != limit}.get(sign, False)  # fmt: skip


def _join_literals(tokens: list[Token]) -> str:
    return "".join(text for kind, text in tokens if kind == "text")


def _format_digits(value: float, tokens: list[Token]) -> str:
    """Write a number with the decimals, grouping and literal text of its format."""
    positions = [index for index, (kind, _) in enumerate(tokens) if kind in ("digits", "general")]
    if not positions or any(text.strip() in ("/", "E") for _, text in tokens):
        return _format_plain(value)
    before, after = _join_literals(tokens[: positions[0]]), _join_literals(tokens[positions[-1] + 1 :])
    kind = tokens[positions[0]][0]
    digit_format = "".join(tokens[index][1] for index in positions)
    # "000-0000" has text between digits, which is no format for counts and prices.
    if _join_literals(tokens[positions[0] : positions[-1]]).strip():
        return _format_plain(value)
    if _PERCENT in tokens:
        value *= 100
    if kind == "general":
        return f"{before}{_format_plain(value)}{after}".strip()
    integer_format, _, decimal_format = digit_format.rstrip(",").partition(".")
    # Commas at the end of the digits, or right before the point, each divide by 1000.
    value /= 1000 ** (len(digit_format) - len(digit_format.rstrip(",")))
    value /= 1000 ** (len(integer_format) - len(integer_format.rstrip(",")))
    integer_format = integer_format.rstrip(",")
    rounded = Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-len(decimal_format)), ROUND_HALF_UP)
    text = f"{abs(rounded):{',' if ',' in integer_format else ''}f}"
    for sign in reversed(decimal_format):
        if sign == "0" or not text.endswith("0"):
            break
        text = text[:-1]
    integer, point, decimals = text.rstrip(".").partition(".")
    text = integer.zfill(integer_format.count("0")) + point + decimals
    return f"{'-' if rounded < 0 else ''}{before}{text}{after}".strip()


def _format_plain(value: float) -> str:
    """Write a number as a cell without a format does, but with all digits of large numbers."""
    digits = Decimal(f"{value:.15g}" if value.is_integer() else f"{value:.11g}")
    return f"{digits:f}"


def _format_time(value: float, tokens: list[Token], since_1904: bool) -> str:
    """Write a number of days as a duration, a time, a date, or both of the latter."""
    # The seconds of "ss.00" and of "[s].00"
    decimals = max(
        len(part.partition(".")[2]) for kind, part in tokens if kind in ("time", "elapsed", "digits")
    )
    decimals = min(decimals, _MAX_SECOND_DECIMALS)
    seconds, fraction = divmod(round(value * _SECONDS_PER_DAY * 10**decimals), 10**decimals)
    fraction_text = f".{fraction:0{decimals}d}" if decimals else ""
    codes = [part.partition(".")[0] for kind, part in tokens if kind == "time"]
    seconds_text = f":{seconds % 60:02d}{fraction_text}" if any(part[0] == "s" for part in codes) else ""
    match next((part[1] for kind, part in tokens if kind == "elapsed"), ""):
        case "h":
            return f"{seconds // 3600}:{seconds // 60 % 60:02d}{seconds_text}"
        case "m":
            return f"{seconds // 60}{seconds_text}"
        case "s":
            return f"{seconds}{fraction_text}"
    # Excel takes 1900 for a leap year, so that its day 60 never was; later dates are right with this start.
    moment = datetime.combine(date(1904, 1, 1) if since_1904 else date(1899, 12, 30), datetime.min.time())
    moment += timedelta(seconds=seconds)
    clock = f"{moment:%H:%M}{seconds_text}" if any(part[0] == "h" for part in codes) else ""
    date_codes = [
        part for part in codes if part[0] in "yd" or (part[0] == "m" and not clock) or len(part) > 2
    ]
    kinds = {part[0] for part in date_codes}
    if seconds_text and not clock and kinds <= {"m"}:
        return f"{moment:%M}{seconds_text}"
    if not any(part.startswith("mmm") for part in date_codes):
        date_format = (code for code in ("%Y", "%m", "%d") if "d" in kinds or code[1].lower() in kinds)
        return f"{moment.strftime('-'.join(date_format))} {clock}".strip()
    day = " ".join(_format_date_part(moment, part) for part in date_codes)
    return f"{day} {clock}".strip()


def _format_date_part(moment: datetime, part: str) -> str:
    """Write one part of a date: "d" is the day without a leading zero, "yyyy" the year.

    For "mmmmm" Excel shows one letter; the short name of the month is written, since "J" may be three months.
    """
    if part[0] == "y":
        return f"{moment:%y}" if len(part) < 3 else str(moment.year)
    return moment.strftime(_DATES[part]) if part in _DATES else str(moment.day)
