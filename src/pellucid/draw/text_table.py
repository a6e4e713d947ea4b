"""Tables as plain text and as HTML.

Invariant: no cell is lost. Text stays within `width` columns by shortening long words first and
then by continuing with the remaining columns below; numbers of a column share their decimals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.number import column as format_column
from pellucid.draw.number import number
from pellucid.draw.style import style_sheet
from pellucid.errors import ParameterError

WIDTH = 96
_GAP = "  "
_SHORTEST = 12  # cells; long texts are not shortened below this before columns move down


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _formatted(
    columns: Sequence[object], rows: Sequence[Sequence[object]], digits: int
) -> tuple[list[list[str]], list[bool]]:
    """Per column: its texts, and whether it is right-aligned because it contains numbers."""
    if any(len(row) != len(columns) for row in rows):
        raise ParameterError(f"Every row of the table must have {len(columns)} cells.")
    texts: list[list[str]] = []
    numeric: list[bool] = []
    for j in range(len(columns)):
        values = [row[j] for row in rows]
        texts.append([words.clean(cell) for cell in format_column(values, digits)])
        kinds = [_is_number(value) for value in values if value is not None]
        numeric.append(bool(kinds) and all(kinds))
    return texts, numeric


def text_table(
    columns: Sequence[object],
    rows: Sequence[Sequence[object]],
    *,
    title: str = "",
    facts: Mapping[str, object] | None = None,
    notes: Sequence[str] = (),
    width: int = WIDTH,
    digits: int = 4,
) -> str:
    """A table for a terminal or a log, without colour.

    >>> print(text_table(["model", "score"], [["tree", 0.5], ["forest", 0.75]], title="Scores"))
    Scores
    model   score
    ------  -----
    tree     0.50
    forest   0.75
    """
    lines = _wrapped(words.clean(title, 400), width) if title else []
    lines += _fact_lines(facts or {}, width)
    texts, numeric = _formatted(columns, rows, digits)
    heads = [words.clean(column) for column in columns]
    blocks = _blocks(heads, texts, width)
    for i, block in enumerate(blocks):
        if i or (facts and block):
            lines.append("")
        lines += _block_lines(block, heads, texts, numeric, width)
    for note in notes:
        lines += _wrapped(words.clean(note, 2000), width)
    return "\n".join(line.rstrip() for line in lines)


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if words.cells(longer) <= width:
            lines[-1] = longer
        elif lines[-1]:
            lines.append(words.fit_cells(word, width))
        else:
            lines[-1] = words.fit_cells(word, width)
    return lines


def _fact_lines(facts: Mapping[str, object], width: int) -> list[str]:
    """Key-value pairs in two columns where they fit, else one below the other."""
    keys = [words.clean(key, 40) for key in facts]
    values = [words.clean(number(value)) for value in facts.values()]
    widest_key = max(map(words.cells, keys), default=0)
    pairs = [
        words.pad(key, widest_key) + _GAP + words.fit_cells(value, width - widest_key - 2)
        for key, value in zip(keys, values)
    ]
    half = (width - 4) // 2
    if len(pairs) < 4 or max(map(words.cells, pairs)) > half:
        return pairs
    rows = (len(pairs) + 1) // 2
    second = [*pairs[rows:], ""]
    widest = max(map(words.cells, pairs[:rows]))
    return [words.pad(pairs[i], widest) + "    " + second[i] for i in range(rows)]


def _natural(head: str, texts: Sequence[str]) -> int:
    return max(words.cells(head), max(map(words.cells, texts), default=0))


def _blocks(heads: list[str], texts: list[list[str]], width: int) -> list[list[int]]:
    """Columns that go side by side; every further block repeats the first column."""
    least = [min(_natural(head, column), _SHORTEST) for head, column in zip(heads, texts)]
    blocks: list[list[int]] = []
    block: list[int] = []
    used = 0
    for j, needed in enumerate(least):
        if block and used + len(_GAP) + needed > width:
            blocks.append(block)
            block, used = [0], least[0]
        used += needed + (len(_GAP) if block else 0)
        block.append(j)
    return [*blocks, block] if block else blocks


def _block_lines(
    block: list[int], heads: list[str], texts: list[list[str]], numeric: list[bool], width: int
) -> list[str]:
    sizes = _shared_width([_natural(heads[j], texts[j]) for j in block], width)

    def line(cells: list[str]) -> str:
        return _GAP.join(
            words.pad(words.fit_cells(cell, size), size, numeric[j])
            for cell, size, j in zip(cells, sizes, block)
        )

    rules = ["-" * size for size in sizes]
    n_rows = len(texts[block[0]])
    body = [line([texts[j][i] for j in block]) for i in range(n_rows)]
    return [line([heads[j] for j in block]), line(rules), *body]


def _shared_width(naturals: list[int], width: int) -> list[int]:
    """Take cells from the widest column until the line fits."""
    sizes = list(naturals)
    while sum(sizes) + len(_GAP) * (len(sizes) - 1) > width:
        widest = max(range(len(sizes)), key=sizes.__getitem__)
        if sizes[widest] <= 1:
            break
        sizes[widest] -= 1
    return sizes


def html_table(
    columns: Sequence[object],
    rows: Sequence[Sequence[object]],
    *,
    title: str = "",
    facts: Mapping[str, object] | None = None,
    notes: Sequence[str] = (),
    digits: int = 4,
    style: bool = True,
) -> str:
    """A table element, preceded by its facts and followed by its notes; everything escaped."""
    texts, numeric = _formatted(columns, rows, digits)
    heads = [_cell("th", words.clean(c), numeric[j], "col") for j, c in enumerate(columns)]
    body = [
        "".join(
            _cell("td" if j else "th", texts[j][i], numeric[j], None if j else "row")
            for j in range(len(columns))
        )
        for i in range(len(rows))
    ]
    name = words.clean(title, 400)
    parts = [svg.element("caption", words.escape(name))] if name and not facts else []
    if heads:
        parts.append(svg.element("thead", svg.element("tr", "".join(heads))))
    if body:
        parts.append(svg.element("tbody", "".join(svg.element("tr", row) for row in body)))
    below = "".join(
        svg.element("p", words.escape(words.clean(note, 2000)), class_="pl-note") for note in notes
    )
    above = ""
    if facts:
        above = svg.element("p", words.escape(name), class_="pl-title") if name else ""
        above += fact_list(facts)
    label = name if name and facts else None
    table = above + svg.element("table", "".join(parts) or " ", aria_label=label) + below
    return svg.element("div", style_sheet() + table, class_="pl") if style else table


def _cell(tag: str, content: str, numeric: bool, scope: str | None) -> str:
    # An empty cell must not become a self-closing element, which HTML does not have.
    shown = words.escape(content) or "&#160;"
    return svg.element(tag, shown, class_="pl-n" if numeric else None, scope=scope)


def fact_list(facts: Mapping[str, object]) -> str:
    """Key-value pairs in two columns; empty without facts.

    Not a description list: the style sheets of notebooks float its terms to a fifth of the width.
    """
    items = "".join(
        svg.element("div", words.escape(words.clean(key)) or "&#160;", class_="pl-key")
        + svg.element("div", words.escape(words.clean(number(value))) or "&#160;")
        for key, value in facts.items()
    )
    return svg.element("div", items, class_="pl-facts") if items else ""
