"""Small clean notebooks in memory, as `analysis.pipeline.normalise` leaves them."""

import json
from collections.abc import Sequence
from html import escape

from nbformat import NotebookNode, v4

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="200" viewBox="0 0 640 200">'
    '<rect x="60" y="20" width="520" height="140" fill="none" stroke="#888"/>'
    '<circle cx="200" cy="90" r="6" fill="#4c78a8"/>'
    '<circle cx="380" cy="60" r="6" fill="#e45756"/>'
    '<text x="60" y="185" font-family="Source Sans Pro, sans-serif" font-size="14">chart axis text</text></svg>'
)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
HOSTILE = '#eval("1+1") #read("/etc/passwd") $x$ @tbl-cards \\ *b* _i_ `c` //x /*y*/ <b>t</b> = - + 1. ~ -- ... "q" ]]>'


def front(**values: str) -> NotebookNode:
    fields = {"title": "Recipe card", "subtitle": "gatebook 0.1.0 | n=22"} | values
    lines = [f"{key}: {json.dumps(value)}" for key, value in fields.items()]
    return v4.new_raw_cell("\n".join(["---", *lines, 'categories: ["recipe-card"]', "---"]))


def prose(source: str) -> NotebookNode:
    return v4.new_markdown_cell(source)


def code(*outputs: NotebookNode, executed: bool = True, **options: str) -> NotebookNode:
    lines = [f"#| {key.replace('_', '-')}: {json.dumps(value)}" for key, value in options.items()]
    return v4.new_code_cell(
        "\n".join([*lines, "secret_call(1)"]), outputs=list(outputs), execution_count=1 if executed else None
    )


def display(**data: str) -> NotebookNode:
    mimes = {
        "html": "text/html",
        "svg": "image/svg+xml",
        "png": "image/png",
        "markdown": "text/markdown",
        "plain": "text/plain",
    }
    return v4.new_output("display_data", data={mimes[key]: value for key, value in data.items()})


def table_html(header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    head = "".join(f'<th scope="col"{" class=num" if i else ""}>{escape(text)}</th>' for i, text in enumerate(header))
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f'<td class="num">{escape(text)}</td>' for text in row[1:])
        + "</tr>"
        for row in rows
    )
    foot = f'<div class="gb-notes">{"".join(f"<p>{escape(note)}</p>" for note in notes)}</div>' if notes else ""
    return f'<table class="gb-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}'


def table(header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> NotebookNode:
    return display(html=table_html(header, rows, notes), plain="table")


def table_cell(
    label: str, caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> NotebookNode:
    return code(table(header, rows, notes), label=label, tbl_cap=caption)


def chart_cell(label: str, caption: str, alt: str, svg: str = SVG) -> NotebookNode:
    return code(display(svg=svg, plain="<chart>"), label=label, fig_cap=caption, fig_alt=alt)


def notebook(*cells: NotebookNode, **front_values: str) -> NotebookNode:
    return v4.new_notebook(cells=[front(**front_values), *cells])


def report() -> NotebookNode:
    """A report with everything that a study shows."""
    return notebook(
        prose("## What was asked\n\nSee @tbl-cards, @fig-bounds and (@tbl-long); @nobody stays. It costs $5 and $6.\n"),
        code(display(markdown="Refused: 3 of \\*59\\* cells.", plain="Refused: 3 of *59* cells.")),
        prose("### Bounds\n\nThe bound is $\\tau_{0.9} \\le 1 - \\alpha^{1/n}$:\n\n$$p = \\frac{k}{n}$$\n"),
        chart_cell("fig-bounds", "Bounds by cell: a chart", "Bounds fall with n."),
        table_cell(
            "tbl-cards",
            'Cards & "cells"',
            ["model", "k", "n"],
            [["gpt-x", "3", "59"], [HOSTILE, "1", "22"]],
            ["A dash: not known."],
        ),
        prose("## Long\n\n- one\n- two\n"),
        table_cell("tbl-long", "Long", ["item", "score"], [[f"item-{i:02d}", f"0.{i:02d}"] for i in range(1, 91)]),
        prose("## What was asked\n\nThe same heading again.\n"),
        code(display(plain="plain text & <b>more</b>")),
        description="Recipe 7 is refused: 3 of 59 cells fail.",
        verdict="refuse",
    )
