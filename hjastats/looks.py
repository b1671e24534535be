"""How an object looks: its own sentences and tables as text, HTML, LaTeX and CSV, in all of which labels are only text."""

from __future__ import annotations

import csv
import html
import inspect
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pandas as pd
from statsmodels.iolib.summary import Summary as StatsmodelsSummary
from statsmodels.iolib.summary2 import Summary as StatsmodelsSummary2
from statsmodels.iolib.summary2 import _simple_tables
from statsmodels.iolib.table import SimpleTable
from statsmodels.stats.contrast import ContrastResults, WaldTestResults

from .words import LABEL_WIDTH, LINE_WIDTH, p_value, shortened, shortened_apart, told_apart, told_p, visible, wrapped


@dataclass(frozen=True)
class Title:
    """What stands above the rest."""

    text: str


@dataclass(frozen=True)
class Warned:
    """A sentence that warns."""

    text: str

    def __str__(self) -> str:
        return f"! {self.text}"


@dataclass(frozen=True)
class Facts:
    """Names with what there is to say of them; names take ``width`` letters, ``is_cut`` allows one line for each."""

    told: Sequence[tuple[str, str]]
    width: int
    is_cut: bool = False

    def __str__(self) -> str:
        lines, indent = [], self.width + 2
        for name, text in self.told:
            first = f"  {name:<{self.width}}"
            lines += [first + shortened(text, LINE_WIDTH - indent)] if self.is_cut else wrapped(text, 100, first)
        return "\n".join(lines)


@dataclass(frozen=True)
class Table:
    """A frame, and how its numbers read.

    Attributes
    ----------
    frame : pandas.DataFrame
    forms : mapping
        Column to the function that puts its numbers into words.
    others : callable
        The same for further numbers that are not whole.
    missing : str
    has_index : bool
    is_narrow : bool
        Whether a line of text shortens names in all columns until it fits.
    spare : sequence of str
        Columns that a line of text leaves out, the first of them first, before it shortens labels.
    """

    frame: pd.DataFrame
    forms: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    others: Callable[[float], str] = "{:.3f}".format
    missing: str = "-"
    has_index: bool = True
    spare: Sequence[str] = ()
    is_narrow: bool = False

    def __str__(self) -> str:
        if self.is_narrow:
            return self._narrowed()
        if not self.spare:
            return self._as_text(self.frame)
        labels, out = [str(label) for label in self.frame.index], self.left_out
        frame = self.frame.drop(columns=list(out))
        text = self._as_text(frame.set_axis(shortened_apart(labels, max(self._room(len(out)), 8)), axis=0))
        return text + (f"\nNo room for: {', '.join(out)}." if out else "")

    @property
    def left_out(self) -> Sequence[str]:
        """The columns for which a line of text has no room."""
        wanted = min(max(map(len, told_apart(list(self.frame.index)))), LABEL_WIDTH)
        n = next((n for n in range(len(self.spare)) if self._room(n) >= wanted), len(self.spare))
        return self.spare[:n]

    def _narrowed(self) -> str:
        """With names as long as all of them fit."""
        named = [name for name, column in self.frame.items() if not pd.api.types.is_numeric_dtype(column)]
        for width in range(LABEL_WIDTH, 7, -1):
            short = {str(name): shortened_apart(list(self.frame[name]), width) for name in named}
            text = self._as_text(self.frame.assign(**short))
            if max(map(len, text.splitlines())) <= LINE_WIDTH:
                break
        return text

    def _room(self, left_out: int) -> int:
        """What the columns leave of a line for labels, without some of those to spare."""
        frame = self.frame.drop(columns=list(self.spare[:left_out]))
        text = self._as_text(frame.set_axis(["x"] * len(frame), axis=0))
        return LINE_WIDTH + 1 - max(map(len, text.splitlines()))

    def _as_text(self, frame: pd.DataFrame) -> str:
        return frame.to_string(
            formatters={name: form for name, form in self.forms.items() if name in frame},
            float_format=self.others,
            na_rep=self.missing,
            index=self.has_index,
        )

    def as_html(self) -> str:
        """The same as a table of a page, text to the left and numbers to the right."""
        frame = self.frame.reset_index(names=self.frame.index.name or "") if self.has_index else self.frame
        columns = [[self._text(name, value) for value in frame.iloc[:, i]] for i, name in enumerate(frame.columns)]
        left = [(self.has_index and i == 0) or _is_prose(texts) for i, texts in enumerate(columns)]
        tags = ["th" if self.has_index and i == 0 else "td" for i in range(len(columns))]
        head = "".join(_cell("th", name, is_left) for name, is_left in zip(frame.columns, left, strict=True))
        body = ["".join(map(_cell, tags, texts, left)) for texts in zip(*columns, strict=True)]
        rows = "\n".join(f"<tr>{cells}</tr>" for cells in body)
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"

    def _text(self, name: Any, value: Any) -> str:
        if pd.isna(value):
            return self.missing
        if name in self.forms:
            return self.forms[name](value)
        return self.others(value) if isinstance(value, float) else str(value)


def _is_prose(texts: Sequence[str]) -> bool:
    """Whether a column stands to the left: not numbers, nor intervals that begin with one."""
    return not all(re.match(r"[-–+<]?\d|[-–]?$|NaN|True|False|inf|-inf", text) for text in texts)


Piece = str | Title | Warned | Facts | Table


class Shown:
    """What says in ``_shown`` what there is to see of it looks like that at a prompt and in a notebook."""

    def _shown(self) -> Sequence[Piece]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return visible("\n".join(piece.text if isinstance(piece, Title) else str(piece) for piece in self._shown()))

    def _repr_html_(self) -> str:
        return page(self._shown())


class Menu(Shown):
    """What is only a place for methods looks like a list of them."""

    def _shown(self) -> list[Piece]:
        told = [(f"{name}()", _gist(method)) for name, method in vars(type(self)).items() if not name.startswith("_")]
        return [Title(_gist(type(self))), Facts(told, max(len(name) for name, _ in told) + 2)]


def _gist(documented: Any) -> str:
    """The first line of a docstring, without its markup."""
    line = (inspect.getdoc(documented) or "").partition("\n")[0]
    return re.sub(r":\w+:`[~.\w]*?(\w+)`|``", lambda found: found.group(1) or "", line)


class ModelTable(pd.DataFrame):
    """A comparison of models, with looks of its own in a notebook; what is taken from it is a plain frame."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        return page([Table(pd.DataFrame(self), {"p_value": p_value}, "{:.2f}".format, missing="")])


class RankingTable(pd.DataFrame):
    """A ranking, which is printed in as few columns as fit a line; what is taken from it is a plain frame."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        short = short_ranking(self)
        shown = {*short.columns, "place_lower", "place_upper"}
        others = ", ".join(str(name) for name in self.columns if name not in shown)
        table = Table(short.rename_axis(None), others="{:.2f}".format, spare=("std_err",))
        return "\n".join([str(table), *wrapped(f"Further columns: {others}.", LINE_WIDTH)])


def short_ranking(ranking: pd.DataFrame) -> pd.DataFrame:
    """A ranking in few columns: possible places in one, and letters of items that cannot be told apart, or tiers."""
    bounds = zip(ranking["place_lower"], ranking["place_upper"], strict=True)
    places = [str(low) if low == high else f"{low}-{high}" for low, high in bounds]
    has_letters = ranking["group"].str.fullmatch("[a-z]+").all()
    short = pd.DataFrame(ranking[["place", "score", "std_err"]]).assign(places=places)
    return short.join(ranking["group" if has_letters else "tier"])


# Colours are those of the notebook, light or dark; where styles are left out, lists and bold letters remain.
STYLE = """<style>
.hjastats p { margin: 0.3em 0; }
.hjastats table { border-collapse: collapse; margin: 0.5em 0; font-size: 0.92em; font-variant-numeric: tabular-nums; }
.hjastats th, .hjastats td { padding: 0.2em 0.7em; white-space: pre-wrap; max-width: 48em; }
.hjastats thead th { border-bottom: 1px solid currentColor; vertical-align: bottom; }
.hjastats tbody th { font-weight: normal; }
.hjastats ul.warned { border-left: 3px solid #d97706; margin: 0.5em 0; padding: 0.1em 0 0.1em 1.6em; }
</style>"""


def page(pieces: Iterable[Piece]) -> str:
    """Pieces as HTML that can stand in a notebook.

    Examples
    --------
    >>> print(page([Title("<b>"), "One sentence.", Warned("Careful.")]).removeprefix(STYLE))
    <div class="hjastats" style="overflow-x: auto">
    <p><b>&lt;b&gt;</b></p>
    <p>One sentence.</p>
    <ul class="warned"><li>Careful.</li></ul>
    </div>
    """
    blocks = []
    for kind, alike in groupby(pieces, type):
        group: list[Any] = list(alike)
        if kind is Warned:
            items = "".join(f"<li>{escaped_html(piece.text)}</li>" for piece in group)
            blocks.append(f'<ul class="warned">{items}</ul>')
        else:
            blocks += [_block(piece) for piece in group]
    inner = "\n".join(block for block in blocks if block)
    return f'{STYLE}<div class="hjastats" style="overflow-x: auto">\n{inner}\n</div>'


def _block(piece: Piece) -> str:
    if isinstance(piece, Table):
        return piece.as_html()
    if isinstance(piece, Facts):
        rows = [f"<tr>{_cell('th', name, True)}{_cell('td', text, True)}</tr>" for name, text in piece.told]
        return "\n".join(["<table>", *rows, "</table>"])
    if isinstance(piece, Title):
        return f"<p><b>{escaped_html(piece.text)}</b></p>"
    return f"<p>{escaped_html(str(piece).strip())}</p>" if str(piece).strip() else ""


def _cell(tag: str, text: Any, is_left: bool) -> str:
    # By its own style: notebooks have a rule for cells that is stronger than that of a class.
    return f'<{tag} style="text-align: {"left" if is_left else "right"}">{escaped_html(text)}</{tag}>'


def escaped_html(text: object) -> str:
    """Text that a browser shows as it is.

    Examples
    --------
    >>> escaped_html("<script>")
    '&lt;script&gt;'
    """
    return html.escape(visible(str(text)))


# Brackets and stars would be read as options of the line break before them, two hyphens as a dash.
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "--": "-{}-",
    **{letter: f"\\{letter}" for letter in "{}#$%&_"},
    **{letter: f"{{{letter}}}" for letter in "[]*"},
}
_LATEX_LETTERS = re.compile("--|[" + re.escape("".join(key for key in _LATEX if len(key) == 1)) + "]")


def escaped_latex(text: object) -> str:
    r"""Text that LaTeX sets as it is.

    Examples
    --------
    >>> print(escaped_latex(r"50% \input{x}"))
    50\% \textbackslash{}input\{x\}
    """
    return _LATEX_LETTERS.sub(lambda found: _LATEX[found.group()], visible(str(text)))


def escaped_csv(text: object) -> str:
    """Text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> escaped_csv("=cmd"), escaped_csv("-0.5")
    ("'=cmd", '-0.5')
    """
    told = visible(str(text))
    return f"'{told}" if told[:1] in ("=", "+", "-", "@") and not _is_number(told) else told


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class LabelTable(SimpleTable):
    """A table of statsmodels with labels that are only text."""

    def as_text(self, **fmt_dict: Any) -> str:
        """The table as it is printed."""
        return visible(super().as_text(**fmt_dict))

    def as_html(self, **fmt_dict: Any) -> str:
        """The table as HTML."""
        rows = [
            "".join(f"<{tag}>{escaped_html(text)}</{tag}>" for text, tag in _tagged(row, "th", "td")) for row in self
        ]
        caption = [f"<caption>{escaped_html(self.title)}</caption>"] if self.title else []
        return "\n".join(['<table class="simpletable">', *caption, *(f"<tr>{row}</tr>" for row in rows), "</table>"])

    def as_latex_tabular(self, center: bool = True, **fmt_dict: Any) -> str:
        """The table under its title as LaTeX with booktabs."""
        rows = []
        for row in self:
            cells = [
                rf"\textbf{{{escaped_latex(text)}}}"
                if tag and text
                else re.sub(r"^-(?=\d)", "$-$", escaped_latex(text))
                for text, tag in _tagged(row, "bold", "")
            ]
            rows.append(" & ".join(cells) + r" \\" + ("\n\\midrule" if row.datatype == "header" else ""))
        columns = "".join("l" if cell.datatype in ("stub", "empty") else "r" for cell in self[-1])
        title = [rf"\textbf{{{escaped_latex(self.title)}}}\\[0.5ex]"] if self.title else []
        lines = [*title, rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *rows, r"\bottomrule", r"\end{tabular}"]
        return "\n".join([r"\begin{center}", *lines, r"\end{center}"] if center else lines)

    def rows_of_text(self) -> list[list[str]]:
        """Title and cells; numbers are bare, missing ones empty."""
        return [*([[self.title]] if self.title else []), *([_bare(cell) for cell in row] for row in self)]

    def as_csv(self, **fmt_dict: Any) -> str:
        """The table under its title, with as many columns in every row."""
        return _csv(self.rows_of_text())


def only_text(table: SimpleTable) -> LabelTable:
    """A table that statsmodels has made, with labels that are only text."""
    # It makes them from cells of its own, so that the class is all there is to change.
    table.__class__ = LabelTable
    return table


class Summary(StatsmodelsSummary):
    """A summary of statsmodels with labels that are only text, titles over its blocks, and sentences that are kept whole.

    ``as_latex`` needs the package booktabs; letters that pdflatex does not know need xelatex or lualatex.

    Examples
    --------
    >>> import hjastats as hja
    >>> summary = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit().summary(max_rows=2)
    >>> print(summary.as_csv().splitlines()[12])
    model-I,1,0.9233,0.0817,0.7632,1.0834
    """

    def __init__(self, tables: Sequence[SimpleTable], notes: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self.tables = [only_text(table) for table in tables]
        # Sentences below their heading.
        self.notes = notes
        self.add_extra_txt([line for heading, told in notes.items() for line in _listed(heading, told)])

    def as_text(self) -> str:
        """Tables and notes as they are printed."""
        return visible(super().as_text())

    def as_html(self) -> str:
        """Tables and notes as HTML."""
        blocks = [table.as_html() for table in self.tables]
        for heading, told in self.notes.items():
            items = "".join(f"<li>{escaped_html(text)}</li>" for text in told)
            blocks.append(f"<p>{escaped_html(heading)}</p>" + (f"\n<ul>{items}</ul>" if told else ""))
        return "\n".join(blocks)

    def as_latex(self) -> str:
        """Tables under their titles, and notes, as LaTeX with booktabs."""
        blocks = [table.as_latex_tabular() for table in self.tables]
        for heading, told in self.notes.items():
            items = [r"\begin{itemize}", *(rf"\item {escaped_latex(text)}" for text in told), r"\end{itemize}"]
            blocks.append("\n".join([rf"\noindent {escaped_latex(heading)}", *(items if told else [])]))
        return "\n\n".join(blocks)

    def as_csv(self) -> str:
        """Tables under their titles, and notes, with as many columns in every row; numbers are bare, missing ones empty."""
        rows = [row for table in self.tables for row in table.rows_of_text()]
        return _csv([*rows, *([text] for heading, told in self.notes.items() for text in (heading, *told))])


class Summary2(StatsmodelsSummary2):
    """The other summary of statsmodels, with labels that are only text in HTML and LaTeX."""

    def _only_text(self) -> list[LabelTable]:
        return [only_text(table) for table in _simple_tables(self.tables, self.settings)]

    def as_html(self) -> str:
        """Tables as HTML."""
        return "\n".join(table.as_html() for table in self._only_text())

    def as_latex(self, label: str = "") -> str:
        """Tables as LaTeX with booktabs, in one environment."""
        head = [r"\begin{table}", rf"\caption{{{escaped_latex(self.title or '')}}}", rf"\label{{{label}}}"]
        return "\n".join([*head, *(table.as_latex_tabular() for table in self._only_text()), r"\end{table}"])


def _csv(rows: list[list[str]]) -> str:
    width, file = max(map(len, rows)), io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([escaped_csv(text) for text in row] + [""] * (width - len(row)) for row in rows)
    return file.getvalue()


def _listed(heading: str, told: Sequence[str]) -> list[str]:
    """Notes as lines of text, warnings numbered."""
    lines = [heading]
    for number, text in enumerate(told, start=1):
        lines += wrapped(text, first=f"[{number}] " if heading.startswith("Warnings") else "  - ")
    return lines


def _tagged(row: Any, named: str, plain: str) -> list[tuple[str, str]]:
    return [(_data(cell), named if cell.datatype in ("header", "stub") else plain) for cell in row]


def _data(cell: Any) -> str:
    return "" if cell.datatype == "empty" else str(cell.data).strip()


def _bare(cell: Any) -> str:
    """A number without separators and nothing where there is none; names as they are."""
    text = _data(cell)
    if cell.datatype in ("header", "stub"):
        return text
    return "" if text == "-" else text.replace(",", "") if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", text) else text


class LinearTest(Shown, ContrastResults):
    """Tests of linear hypotheses as statsmodels gives and prints them, with looks of their own in a notebook."""

    __repr__ = ContrastResults.__repr__

    def _shown(self) -> list[Piece]:
        if self.effect is None:
            return [f"Wald test: chi2({self.df_denom}) = {self.statistic:.4g}, {told_p(float(self.pvalue))}"]
        return [Table(self.summary_frame(), {"P>|z|": p_value}, "{:.4f}".format)]

    def summary(self, xname: list[str] | None = None, alpha: float = 0.05, title: str | None = None) -> Any:
        """The table of statsmodels, with labels that are only text; a joint test is one line."""
        made = super().summary(xname=xname, alpha=alpha, title=title)
        return made if isinstance(made, str) else only_text(made)


class TermTests(Shown, WaldTestResults):
    """Joint tests of kinds of parameters as statsmodels gives and prints them, with looks of their own in a notebook."""

    def __repr__(self) -> str:
        return visible(WaldTestResults.__repr__(self))

    def _shown(self) -> list[Piece]:
        return [Table(self.summary_frame(), {"P>chi2": p_value, "df constraint": "{:.0f}".format}, "{:.2f}".format)]
