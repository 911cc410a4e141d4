"""A table as LaTeX, for papers: booktabs, longtable and array, nothing else."""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from analysis.present.format import NUMERIC, Kind, slug, visible

if TYPE_CHECKING:
    from analysis.present.table import Table

PREAMBLE = r"% \usepackage{booktabs,longtable,array}"
SHORT = 30  # lines of a table that may float; a float higher than the page loses its end
WIDE = 30  # characters of a label that still stands on one line
NARROW = 10  # characters of the narrowest paragraph
HEAD = 8  # characters of a head that is never folded
PROSE = 80  # characters above which a longer text claims no more of the line

_LINE, _GAP = 69, 2.4  # digits of 5 pt that a line of 345 pt holds, and the space of 12 pt between two columns
_SMALL_LINE, _SMALL_GAP = 81, 1.4  # the same for digits of 4.25 pt and spaces of 6 pt
_CUT = "\0"  # where a long word may be broken; `visible` leaves none in any text
_ACTIVE = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",  # \textquotedbl is not in OT1; a bare one is active under babel
    _CUT: r"\allowbreak{}",
    **{ch: "\\" + ch for ch in "{}$&#%_"},
}
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "ς": "varsigma",
    "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "varphi", "χ": "chi", "ψ": "psi", "ω": "omega", "ϵ": "epsilon",
    "ϕ": "phi", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma",
    "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_SIGNS = {
    "≥": "geq", "≤": "leq", "≠": "neq", "≈": "approx", "±": "pm", "∓": "mp", "×": "times", "·": "cdot", "→": "to",
    "←": "leftarrow", "∞": "infty", "√": "surd", "✓": "surd", "∈": "in", "ℓ": "ell", "∂": "partial", "∫": "int",
    "⌈": "lceil", "⌉": "rceil",
}  # fmt: skip
_SPELLED = {
    **_ACTIVE,
    **{ch: rf"\ensuremath{{\{name}}}" for ch, name in (_GREEK | _SIGNS).items()},
    **{ch: rf"\textsubscript{{{low}}}" for ch, low in zip("₀₁₂₃₄₅₆₇₈₉₊ⱼ", "0123456789+j", strict=True)},
    **{ch: rf"\textsuperscript{{{high}}}" for ch, high in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺ⁿʸᵀ", "0123456789+nyT", strict=True)},
    "₋": r"\textsubscript{\ensuremath{-}}",
    "⁻": r"\textsuperscript{\ensuremath{-}}",
    "′": r"\ensuremath{'}",
    "−": r"\ensuremath{-}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\dots{}",
}
_SPELLING = str.maketrans(_SPELLED)
_LIGATURE = re.compile(r"(?<=[-'`,?!<>])(?=[-'`,<>])")  # -- --- '' ,, << >> ?` !`
_ACCENTS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar"}
_ACCENTED = re.compile(rf"(?:\\ensuremath\{{(\\[A-Za-z]+)\}}|([A-Za-z]))([{''.join(_ACCENTS)}])")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """How a column is set: to the left or the right, or as paragraphs (``p``), and how many characters wide."""

    side: Literal["l", "r", "p"]
    width: int


def latex(table: Table) -> str:
    r"""The table as LaTeX, ready for ``\input``; the first line says which packages the preamble needs.

    Up to 30 lines make a ``table``, more a ``longtable`` that repeats its head on every page (and that LaTeX
    refuses in two columns). A table wider than a line of ten-point ``article`` is set in ``\footnotesize``; one that
    is still too wide wants a landscape page. Numbers stand on the right, texts and long labels are paragraphs.

    Greek letters and the signs of our own tables are spelled as commands, so that pdflatex takes them. Other
    characters stay UTF-8: accented Latin letters compile anywhere (some need T1 fonts), other scripts want XeLaTeX or
    LuaLaTeX and a font that has them. Straight quotes are printed as closing ones, as TeX does.

    Examples
    --------
    >>> from analysis.present.table import Table, TableColumn
    >>> columns = TableColumn(key="a", label="Cell"), TableColumn(key="b", label="τ = .70", kind="fraction")
    >>> print(latex(Table(id="bars", title="Bars.", columns=columns, rows=(("bert_base", {"k": 24, "n": 59}),))))
    % \usepackage{booktabs,longtable,array}
    \begin{table}[htbp]
    \centering
    \caption{Bars.}
    \label{tbl-bars}
    \medskip
    \begin{tabular}{lr}
    \toprule
    Cell & \ensuremath{\tau} = .70 \\
    \midrule
    bert\_base & 24/59 \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    texts = table.texts()
    settings, line = _settings(table, texts)
    spec = "".join(_spec(setting, line) for setting in settings)
    caption, label = rf"\caption{{{escaped(table.title)}}}", rf"\label{{tbl-{slug(table.id)}}}"
    smaller = [r"\footnotesize\setlength{\tabcolsep}{3pt}"] if line == _SMALL_LINE else []
    head = [r"\toprule", *_head(table, settings), r"\midrule"]
    body = _body(table, texts, settings)
    notes = table.notes if table.rows else ()
    below = [r"\begin{flushleft}\footnotesize", *(escaped(note) + r"\par" for note in notes), r"\end{flushleft}"]
    below = below if notes else []
    if _lines(texts, settings) + sum(math.ceil(len(note) / line) for note in notes) > SHORT:
        start = [rf"\begin{{longtable}}{{{spec}}}", caption + label + r" \\"]
        heads = [*head, r"\endfirsthead", *head, r"\endhead", r"\bottomrule", r"\endfoot"]
        out = [r"\begingroup", *smaller, *start, *heads, *body, r"\end{longtable}", *below, r"\endgroup"]
    else:
        above = [r"\begin{table}[htbp]", r"\centering", caption, label, r"\medskip"]
        start = [*above, *smaller, rf"\begin{{tabular}}{{{spec}}}"]
        out = [*start, *head, *body, r"\bottomrule", r"\end{tabular}", *below, r"\end{table}"]
    return "\n".join([PREAMBLE, *out, ""])


def escaped(text: str) -> str:
    r"""Text of unknown origin as LaTeX that prints it: nothing in it is a command, ends a line or joins to another sign.

    >>> print(escaped("50% of $x_1 -- β̂ ≥ .5"))
    50\% of \$x\_1 -\/- \ensuremath{\hat{\beta}} \ensuremath{\geq} .5
    """
    return _spelled(visible(text))


def _spelled(text: str) -> str:
    parts = _LIGATURE.split(unicodedata.normalize("NFC", text))
    spelled = r"\/".join(part.translate(_SPELLING) for part in parts)  # LuaTeX joins across {}
    return _ACCENTED.sub(lambda m: rf"\ensuremath{{\{_ACCENTS[m[3]]}{{{m[1] or m[2]}}}}}", spelled)


def _settings(table: Table, texts: list[list[str]]) -> tuple[list[_Setting], int]:
    """Every column's setting, and how many characters the line holds in the size that the table needs."""
    longest = [max((len(row[i]) for row in texts), default=0) for i in range(len(table.columns))]
    heads = [column.header() for column in table.columns]
    whole = [max(cells, len(head), 1) for cells, head in zip(longest, heads, strict=True)]
    folded = [
        max(cells, min(len(head), HEAD), *map(len, head.split()), 1) for cells, head in zip(longest, heads, strict=True)
    ]
    small = sum(whole) + _GAP * len(whole) > _LINE
    line, gap = (_SMALL_LINE, _SMALL_GAP) if small else (_LINE, _GAP)
    settings = [
        _Setting(side=_side(column.kind, cells), width=width)
        for column, cells, width in zip(table.columns, longest, folded if small else whole, strict=True)
    ]
    rest = line - gap * len(settings) - sum(_least(setting) for setting in settings)
    claims = sum(_claim(setting) for setting in settings)
    share = min(1, max(0, rest) / claims) if claims else 0
    return [replace(setting, width=_least(setting) + int(share * _claim(setting))) for setting in settings], line


def _side(kind: Kind, longest: int) -> Literal["l", "r", "p"]:
    if kind in NUMERIC:
        return "r"
    return "p" if kind == "text" or longest > WIDE else "l"


def _least(setting: _Setting) -> int:
    return min(setting.width, NARROW) if setting.side == "p" else setting.width


def _claim(setting: _Setting) -> int:
    """What a paragraph would take of the line beyond its least."""
    return min(setting.width, PROSE) - _least(setting) if setting.side == "p" else 0


def _spec(setting: _Setting, line: int) -> str:
    if setting.side != "p":
        return setting.side
    return rf">{{\raggedright\arraybackslash}}p{{{math.floor(100 * setting.width / line) / 100}\linewidth}}"


def _head(table: Table, settings: list[_Setting]) -> list[str]:
    labels = _row([_label(column.header(), setting) for column, setting in zip(table.columns, settings, strict=True)])
    if not any(name for name, _ in table.groups()):
        return [labels]
    cells, rules, start = [], "", 0
    for name, n in table.groups():
        if name:
            width = sum(setting.width for setting in settings[start : start + n])
            cells.append(rf"\multicolumn{{{n}}}{{c}}{{{_stacked(name, width, 'c')}}}")
            rules += rf"\cmidrule(lr){{{start + 1}-{start + n}}}"
        else:
            cells += [""] * n
        start += n
    return [_row(cells), rules, labels]


def _label(text: str, setting: _Setting) -> str:
    return escaped(text) if setting.side == "p" else _stacked(text, setting.width, setting.side)


def _body(table: Table, texts: list[list[str]], settings: list[_Setting]) -> list[str]:
    if not table.rows:
        return [_row([rf"\multicolumn{{{len(table.columns)}}}{{l}}{{{escaped(table.empty)}}}"])]
    rows = [_row([_cell(text, setting) for text, setting in zip(row, settings, strict=True)]) for row in texts]
    if _lines(texts, settings) == len(rows):
        return rows
    return [line for row in rows for line in (row, r"\addlinespace")][:-1]


def _cell(text: str, setting: _Setting) -> str:
    """A cell; in a paragraph, a word that is longer than its line may be broken."""
    shown = visible(text)
    if setting.side == "p":
        shown = re.sub(rf"\S{{{setting.width + 1},}}", lambda m: _broken(m[0], setting.width), shown)
    return _spelled(shown)


def _broken(word: str, width: int) -> str:
    """A word with places to break it: after its punctuation, and where a part is still too long; accents stay on."""
    return re.sub(rf"([-_/.:=,]|[^-_/.:=,]{{{width}}})(?=[^\u0300-\u036f])", rf"\1{_CUT}", word)


def _lines(texts: list[list[str]], settings: list[_Setting]) -> int:
    """The lines that the rows take."""
    return sum(
        max(
            math.ceil(len(text) / setting.width) if setting.side == "p" else 1
            for text, setting in zip(row, settings, strict=True)
        )
        for row in texts
    )


def _row(cells: list[str]) -> str:
    return _guarded(" & ".join(cells)) + r" \\"


def _guarded(line: str) -> str:
    r"""A line that does not start with what ``\\`` or a rule before it would take for its own argument."""
    return "{}" + line if line.lstrip().startswith(("[", "*")) else line


def _stacked(text: str, width: int, side: str) -> str:
    """A head in as many lines as the width of its column asks for."""
    lines = textwrap.wrap(visible(text), width, break_long_words=False, break_on_hyphens=False)
    if len(lines) < 2:
        return escaped(text)
    return rf"\shortstack[{side}]{{" + r" \\ ".join(_guarded(escaped(line)) for line in lines) + "}"
