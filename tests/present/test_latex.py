"""A table in a paper: LaTeX prints what stands in the cells and obeys none of it."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pypandoc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.present.format import NUMERIC, visible
from analysis.present.latex import SHORT, escaped
from analysis.present.table import Table, TableColumn

ACTIVE = set('\\{}$&#%_^~<>|"`')
# The LaTeX Companion (Mittelbach, Fischer, 3rd ed. 2023), section 3.2.1: the ten signs with a meaning and how they
# are printed; source2e, ltoutenc: \textless \textgreater \textbar \textasciigrave; TeXbook, chapter 8: \char
PRINTED = {
    r"\textbackslash{}": "\\",
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    r"\textasciigrave{}": "`",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\char34{}": '"',
    r"\/": "",
    r"\allowbreak{}": "",
    **{"\\" + ch: ch for ch in "{}$&#%_"},
}
# LuaTeX, fontspec's "TeX" ligatures and the T1 encoding (The LaTeX Companion, section 9.5.1)
LIGATURES = ("--", "''", "``", ",,", "<<", ">>", "?`", "!`")
HOSTILE = [
    r"\input{/etc/passwd}",
    r"\\[1em] \end{tabular}",
    "[x]",
    "*",
    "50% & more # $x_1^2$ ~ {",
    "}",
    "^^5c",
    "a\n\nb",
    "a\x00b\u202ec",
    "-- --- '' `` ,, << >> ?` !`",
    "\"a\" 'b'",
    "|",
    "",
    " ",
    "x" * 300,
    "%",
    "\\",
]


def printed(latex):
    """What TeX prints for our escapes of ASCII; fails on anything active that is not one of them."""
    out = []
    for command, plain in re.findall(r"(\\[A-Za-z]+(?:34)?\{\}|\\.)|(.)", latex, flags=re.DOTALL):
        assert command or plain not in ACTIVE
        out.append(PRINTED[command] if command else plain)
    return "".join(out)


def table(*rows, columns=None, **more):
    width = len(rows[0]) if rows else 2
    columns = columns or tuple(TableColumn(key=key, label=key.upper()) for key in "abcdefgh"[:width])
    return Table(**{"id": "t", "title": "T.", "columns": columns, "rows": rows, **more})


def lines(latex, start=r"\midrule", end=r"\bottomrule"):
    """The lines between the last ``start`` and the last ``end``."""
    found = latex.splitlines()
    return found[len(found) - found[::-1].index(start) : len(found) - 1 - found[::-1].index(end)]


# recipe-cards paper, Table 2 (k/N / U and status), two rows and three bars; layout: the booktabs manual, section 2
BARS = Table(
    id="bar-sweep",
    title="Failures below each bar, 5% budget.",
    columns=(
        TableColumn(key="model", label="Model"),
        TableColumn(key="n", label="Reruns", kind="count"),
        TableColumn(key="low", label=".55", kind="bound", group="τ"),
        TableColumn(key="high", label=".70", kind="bound", group="τ"),
        TableColumn(key="verdict", label="Verdict", kind="status"),
    ),
    rows=(
        (
            "RoBERTa_base",
            59,
            {"k": 24, "n": 59, "upper": 0.4990, "status": "s"},
            {"k": 46, "n": 59, "upper": 0.8490, "status": "s"},
            "refuse",
        ),
        ("BERT-base", 59, {"k": 0, "n": 59, "upper": 0.038275, "status": "r"}, None, "pass"),
    ),
    notes=("A dash: not measured.", "r: the upper bound is ≤ .05."),
)


def test_a_table_with_groups():
    assert BARS.to_latex().splitlines() == [
        r"% \usepackage{booktabs,longtable,array}",
        r"\begin{table}[htbp]",
        r"\centering",
        r"\caption{Failures below each bar, 5\% budget.}",
        r"\label{tbl-bar-sweep}",
        r"\medskip",
        r"\begin{tabular}{lrrrl}",
        r"\toprule",
        r" &  & \multicolumn{2}{c}{\ensuremath{\tau}} &  \\",
        r"\cmidrule(lr){3-4}",
        r"Model & Reruns & .55 & .70 & Verdict \\",
        r"\midrule",
        r"RoBERTa\_base & 59 & 24/59 / .499 s & 46/59 / .849 s & refuse \\",
        r"BERT-base & 59 & 0/59 / .038 r & \textendash{} & pass \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\begin{flushleft}\footnotesize",
        r"A dash: not measured.\par",
        r"r: the upper bound is \ensuremath{\leq} .05.\par",
        r"\end{flushleft}",
        r"\end{table}",
    ]


class TestText:
    @given(st.text(st.characters(codec="ascii")))
    def test_it_is_printed_as_it_stands(self, text):
        assert printed(escaped(text)) == visible(text)

    @given(st.text(st.sampled_from("\\{}$&#%_^~<>|\"'`-,?![]* a")))
    def test_no_two_signs_become_one(self, text):
        shown = escaped(text)
        for command in (r"\textless{}", r"\textgreater{}", r"\textasciigrave{}"):
            shown = shown.replace(command, PRINTED[command])
        assert not any(sign in shown for sign in LIGATURES)
        assert printed(escaped(text)) == text

    @given(st.text())
    def test_nothing_in_it_is_active(self, text):
        left = re.sub(r"\\(?:ensuremath|textsubscript|textsuperscript|hat|bar|tilde)\b", "", escaped(text))
        left = re.sub(r"\\char34\{\}|\\[A-Za-z]+(?:\{\})?|\\[{}$&#%_/]", "", left)
        assert not set(left) & (ACTIVE - {"{", "}"})
        assert left.count("{") == left.count("}")

    @given(st.text(st.characters()))
    def test_it_ends_no_line_and_no_paragraph(self, text):
        assert len(escaped(text).splitlines()) <= 1

    @pytest.mark.parametrize(
        ("text", "latex"),
        [
            ("τ = .50, ε, δ, ξ", r"\ensuremath{\tau} = .50, \ensuremath{\varepsilon}, \ensuremath{\delta}, \ensuremath{\xi}"),
            ("β̂ ≥ −.5", r"\ensuremath{\hat{\beta}} \ensuremath{\geq} \ensuremath{-}.5"),
            ("x̄ ± 2σ", r"\ensuremath{\bar{x}} \ensuremath{\pm} 2\ensuremath{\sigma}"),
            ("θ₁₀", r"\ensuremath{\theta}\textsubscript{1}\textsubscript{0}"),
            ("Δξ̂ → ∞", r"\ensuremath{\Delta}\ensuremath{\hat{\xi}} \ensuremath{\to} \ensuremath{\infty}"),
            ("√n × 2 … – — ✓", r"\ensuremath{\surd}n \ensuremath{\times} 2 \dots{} \textendash{} \textemdash{} \ensuremath{\surd}"),
        ],
    )  # fmt: skip
    def test_the_signs_of_the_papers_are_commands(self, text, latex):
        assert escaped(text) == latex

    def test_other_scripts_stay(self):
        assert escaped("模型 é") == "模型 é"

    def test_a_greek_accent_alone_is_no_grave(self):
        # Unicode: U+1FEF is canonically U+0060, which normal form C makes of it
        assert escaped("\u1fef") == r"\textasciigrave{}"


class Cells(HTMLParser):
    """The cells of an HTML table as text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.cells = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data.strip("\n")


def test_another_reader_of_latex_reads_the_same_cells():
    words = ["a_b", "50% & more", "#1 $x$ {y}", "^^5c ~", "<.001 >", r"\input{x}", "[x]", "a -- b", "24/59 / .499 s"]
    rows = tuple((word, "end") for word in words)
    # without | and the straight quote: pandoc 3 does not know \textbar and \char
    page = Cells(pypandoc.convert_text(table(*rows).to_latex(), "html", format="latex"))
    assert page.cells == ["A", "B", *(text for row in rows for text in row)]


class TestRows:
    @pytest.mark.parametrize("text", ["[x]", "*", " [x]", "[.1, .2]"])
    def test_a_row_starts_with_no_argument_of_the_line_before(self, text):
        assert lines(table((text, "x"), (text, "y")).to_latex()) == [r"{}" + f"{text} & {ch} \\\\" for ch in "xy"]

    def test_nor_does_a_line_of_a_head(self):
        head = TableColumn(key="a", label="interval [low, high]", kind="count")
        latex = table(*[(1,) * 8], columns=(head,) * 8).to_latex()
        assert r"\shortstack[r]{interval \\ {}[low, \\ high]}" in latex

    @given(st.lists(st.text(st.characters()), min_size=2, max_size=2))
    def test_a_row_is_one_line(self, row):
        assert len(lines(table(row).to_latex())) == 1

    def test_an_empty_table_says_why(self):
        latex = table(empty="no cell was audited & none 100%", notes=("n",)).to_latex()
        assert lines(latex) == [r"\multicolumn{2}{l}{no cell was audited \& none 100\%} \\"]
        assert "flushleft" not in latex

    def test_a_verdict_is_a_word(self):
        assert lines(BARS.to_latex())[0].endswith(r"& refuse \\")


class TestColumns:
    def test_numbers_stand_on_the_right(self):
        columns = tuple(TableColumn(key=kind, label="A", kind=kind) for kind in sorted(NUMERIC))
        assert rf"\begin{{tabular}}{{{'r' * len(columns)}}}" in table(columns=columns).to_latex()

    def test_texts_and_long_labels_are_paragraphs(self):
        columns = (
            TableColumn(key="a", label="A"),
            TableColumn(key="b", label="B"),
            TableColumn(key="c", label="C", kind="text"),
        )
        latex = table(("x", "word " * 10, "y " * 20), columns=columns).to_latex()
        paragraph = r">{\raggedright\arraybackslash}p{WIDTH\linewidth}"
        assert rf"\begin{{tabular}}{{l{paragraph}{paragraph}}}" in re.sub(r"0\.\d+", "WIDTH", latex)

    @given(st.lists(st.integers(0, 400), min_size=1, max_size=5))
    def test_paragraphs_fit_the_line(self, lengths):
        columns = tuple(TableColumn(key=str(i), label="A", kind="text") for i in range(len(lengths)))
        latex = table(tuple("x" * n for n in lengths), columns=columns).to_latex()
        assert sum(map(float, re.findall(r"p\{([\d.]+)\\linewidth\}", latex))) <= 1

    def test_a_wide_table_is_set_smaller_and_its_heads_are_folded(self):
        columns = tuple(TableColumn(key=str(i), label="mean difference", kind="number") for i in range(8))
        latex = table((1.5,) * 8, columns=columns).to_latex()
        assert r"\footnotesize\setlength{\tabcolsep}{3pt}" in latex
        assert latex.count(r"\shortstack[r]{mean \\ difference}") == 8

    def test_a_long_word_in_a_paragraph_may_be_broken(self):
        columns = tuple(TableColumn(key=key, label="A", kind="text") for key in "ab")
        row = lines(table(("a_name/of.many-parts" * 4, "y" * 100), columns=columns).to_latex())[0]
        assert r"a\_\allowbreak{}name/\allowbreak{}of.\allowbreak{}many-\allowbreak{}parts" in row
        assert max(map(len, re.findall("y+", row))) < 50

    def test_the_same_group_apart_is_two_groups(self):
        columns = tuple(TableColumn(key=key, label=key, group=group) for key, group in zip("abc", "xyx", strict=True))
        assert r"\cmidrule(lr){1-1}\cmidrule(lr){2-2}\cmidrule(lr){3-3}" in table(columns=columns).to_latex()


class TestLong:
    def test_its_head_comes_twice_and_its_notes_last(self):
        rows = tuple((f"m{i}", str(i)) for i in range(SHORT + 1))
        out = table(*rows, notes=("A note.",)).to_latex().splitlines()
        assert out[:14] == [
            r"% \usepackage{booktabs,longtable,array}",
            r"\begingroup",
            r"\begin{longtable}{ll}",
            r"\caption{T.}\label{tbl-t} \\",
            *(r"\toprule", r"A & B \\", r"\midrule", r"\endfirsthead"),
            *(r"\toprule", r"A & B \\", r"\midrule", r"\endhead"),
            *(r"\bottomrule", r"\endfoot"),
        ]
        assert out[14 : 14 + len(rows)] == [f"{a} & {b} \\\\" for a, b in rows]
        assert out[14 + len(rows) :] == [
            r"\end{longtable}",
            *(r"\begin{flushleft}\footnotesize", r"A note.\par", r"\end{flushleft}"),
            r"\endgroup",
        ]

    def test_up_to_that_it_floats(self):
        assert r"\begin{table}" in table(*[("x", "y")] * SHORT).to_latex()

    def test_rows_of_several_lines_stand_apart(self):
        columns = (TableColumn(key="a", label="A", kind="text"),)
        found = lines(table(("word " * 40,), ("[x]",), columns=columns).to_latex())
        assert found[1:] == [r"\addlinespace", r"{}[x] \\"]

    def test_paragraphs_count_by_their_lines(self):
        columns = (TableColumn(key="a", label="A", kind="text"),)
        assert r"\begin{longtable}" in table(*[("word " * 100,)] * 5, columns=columns).to_latex()


def test_the_label_is_safe():
    assert re.search(r"\\label\{tbl-[a-z0-9_-]+\}", table(("x", "y"), id="a}%_ b").to_latex())


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs the pdflatex program")
def test_pdflatex_sets_it(tmp_path):
    columns = tuple(
        TableColumn(key=str(i), label=text or "x", group=text, kind="text" if i % 2 else "label")
        for i, text in enumerate(HOSTILE[:6])
    )
    hostile = tuple(
        table(*[(text,) * 6 for text in HOSTILE] * times, columns=columns, title=" ".join(HOSTILE), notes=HOSTILE)
        for times in (1, 3)
    )
    signs = table(("τεδξσβαθμχλπωψφΓΔΣΦ", "β̂ x̄ ₁₀₊₋ⱼ ²⁷⁻ʸᵀ ½ · ′"), ("≥≤±∓×→∞√≈≠∈ℓ∂∫⌈⌉✓", "– — … “x” é"))
    for i, shown in enumerate((BARS, *hostile, signs, table(empty="[x] \\"))):
        (tmp_path / f"{i}.tex").write_text(shown.to_latex(), encoding="utf-8")
    inputs = "\n".join(rf"\input{{{i}}}" for i in range(5))
    page = (
        rf"\documentclass{{article}}\usepackage{{booktabs,longtable,array}}\begin{{document}}{inputs}\end{{document}}"
    )
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-no-shell-escape", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert [line for line in done.stdout.splitlines() if line.startswith("! ")] == []
    assert (tmp_path / "page.pdf").is_file()
