"""One number, one spelling: every figure that a person reads is formatted here and nowhere else."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from typing import Any, Literal

Kind = Literal[
    "label",
    "text",
    "count",
    "share",
    "prob",
    "score",
    "level",
    "number",
    "p_value",
    "fraction",
    "interval",
    "bound",
    "status",
]
"""What a table cell holds; see `cell`."""

DASH = "–"
NUMERIC: frozenset[str] = frozenset(
    {"count", "share", "prob", "score", "level", "number", "p_value", "fraction", "interval", "bound"}
)
COMPOSITE: dict[str, tuple[str, ...]] = {
    "fraction": ("k", "n"),
    "interval": ("low", "high"),
    "bound": ("k", "n", "upper", "status"),
}
"""Kinds whose raw cell is an object, with its fields."""

_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control, half characters, line and paragraph ends
LONGEST = 400  # characters of a name in a table; data files keep it whole
_WINDOWS = {"con", "prn", "aux", "nul", *(f"{name}{i}" for name in ("com", "lpt") for i in range(1, 10))}
_BIDI = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C], None)


def prob(value: float | None, digits: int = 3) -> str:
    """A probability in the papers' manner: no leading zero, never a rounded 0 or 1 that is not exact.

    >>> prob(0.03828), prob(1.0), prob(0.00004), prob(0.99996), prob(None)
    ('.038', '1.000', '<.001', '>.999', '–')
    """
    if value is None:
        return DASH
    text = f"{value:.{digits}f}"
    if value > 0 and float(text) == 0:
        return f"<.{'0' * (digits - 1)}1"
    if value < 1 and float(text) == 1:
        return f">.{'9' * digits}"
    return _no_leading_zero(text)


def number(value: float | None, digits: int = 4) -> str:
    """A number with ``digits`` significant digits and no trailing zeros.

    >>> number(10.0), number(0.88412), number(-0.5), number(-1234567.0)
    ('10', '.8841', '−.5', '−1,234,567')
    """
    if value is None:
        return DASH
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    if 10**digits <= abs(value) < 1e15:
        return f"{value:,.0f}".replace("-", "−")
    text = f"{value:.{digits}g}".replace("-", "−", 1 if value < 0 else 0)
    return text if "e" in text else _no_leading_zero(text)


def level(value: float) -> str:
    """A bar, a budget or an error rate: at least two decimals, all that were given.

    >>> level(0.7), level(0.125), level(0.9), level(71.0)
    ('.70', '.125', '.90', '71')
    """
    text = number(value, 12)
    return text.ljust(text.index(".") + 3, "0") if "." in text and "e" not in text else text


def plural(count: int, noun: str, many: str = "") -> str:
    """A count with its noun.

    >>> plural(1, "rerun"), plural(2124, "rerun"), plural(0, "entry", "entries")
    ('1 rerun', '2,124 reruns', '0 entries')
    """
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def cell(kind: Kind, value: Any) -> str:
    """The text of a table cell.

    Parameters
    ----------
    kind
        ``label`` and ``text`` are shown as they stand; ``count`` an integer; ``share``, ``prob`` and ``p_value``
        numbers in [0, 1]; ``score`` a score to three decimals; ``level`` a bar or a budget; ``number`` any number;
        ``fraction`` ``{"k", "n"}``; ``interval`` ``{"low", "high"}``;
        ``bound`` ``{"k", "n", "upper", "status"}`` as ``k/N / U r``; ``status`` a verdict word.
    value
        The raw value; None is a dash.

    Examples
    --------
    >>> cell("bound", {"k": 3, "n": 59, "upper": 0.10974, "status": "u"})
    '3/59 / .110 u'
    """
    if value is None:
        return DASH
    match kind:
        case "count":
            return f"{value:,}"
        case "share" | "prob" | "p_value":
            return prob(value)
        case "score":
            return _no_leading_zero(f"{value:.3f}")
        case "level":
            return level(value)
        case "number":
            return number(value)
        case "fraction":
            return f"{value['k']}/{value['n']}"
        case "interval":
            return f"[{_limit(value['low'])}, {_limit(value['high'])}]"
        case "bound":
            return f"{value['k']}/{value['n']} / {prob(value['upper'])} {value['status']}"
        case "text":
            return visible(value)
        case _:
            shown = visible(value)
            return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def _limit(value: float) -> str:
    """An end of an interval: four decimals, as the papers print them."""
    if abs(value) >= 10:
        return number(value)
    return prob(value, 4) if value >= 0 else "−" + prob(-value, 4)


def visible(text: object) -> str:
    r"""Text of unknown origin made harmless to look at: control characters shown, direction overrides removed.

    >>> visible("a\x00b\u202ec")
    'a\\x00bc'
    """
    stripped = str(text).translate(_BIDI)
    return "".join(
        ch.encode("unicode_escape").decode() if unicodedata.category(ch) in _UNSEEN or _is_no_character(ch) else ch
        for ch in stripped
    )


def _is_no_character(ch: str) -> bool:
    """Whether Unicode promises that the code point will never be one: XML and fonts refuse it."""
    code = ord(ch)
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def one_line(text: str) -> str:
    r"""Text of unknown origin on one line: line breaks and runs of blanks folded, the rest made harmless.

    >>> one_line("C:\\new\n  \x00")
    'C:\\new \\x00'
    """
    return " ".join(visible(" ".join(text.split())).split())


def slug(text: str, *, width: int = 60) -> str:
    """A file name from an allow-list of characters; text that does not survive unchanged gets six hex digits of itself.

    >>> slug("bert-base"), slug("../../etc"), slug("CON")
    ('bert-base', 'etc-74ccf3', 'con-a3dbc4')
    """
    name = safe_words(text)[:width].strip("-.")
    if name.split(".")[0] in _WINDOWS:
        name = name.replace(".", "-")  # Windows looks at what stands before the first dot
    elif name and name == text:
        return name
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{name}-{digest}" if name else digest


def safe_words(text: str) -> str:
    """The text's ASCII letters, digits, underscores and single dots in lower case, everything else as hyphens.

    >>> safe_words("BERT base / τ=0.70")
    'bert-base-0.70'
    """
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"\.{2,}", ".", re.sub(r"[^a-z0-9._]+", "-", ascii_text)).strip("-.")


def _no_leading_zero(text: str) -> str:
    return re.sub(r"^([-−]?)0\.", r"\1.", text)
