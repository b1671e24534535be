"""Wraps the prose of all pages at 100 characters: ``python docs/wrap.py``.

Tables, code, headings, formulas and marks stay as they are. Lines that fit are left alone unless their paragraph has one that does
not. ``tests/test_site.py`` asks for it.
"""

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100
FOLDERS = (".", "docs", "docs/api", "docs/questions", "docs/vignettes", "vignettes")
# The history keeps its lines.
PAGES = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.md")) if path.name != "CHANGELOG.md"]
# What begins a line that is no prose: tables, headings, fences, directives, comments, options, formulas, code.
OTHER = re.compile(r"\||#|```|:::|:\w+:|<|\$\$|    |>>>|!\[|---")
ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def wrapped(text: str) -> str:
    """A page with every paragraph and item of a list that is too wide wrapped anew.

    Examples
    --------
    >>> print(wrapped("- " + "word " * 30))
    - word word word word word word word word word word word word word word word word word word word
      word word word word word word word word word word word
    """
    done: list[str] = []
    paragraph: list[str] = []
    fence = ""

    def close() -> None:
        if any(len(line) > WIDTH for line in paragraph):
            first = paragraph[0]
            item = ITEM.match(first)
            indent = " " * len(item.group()) if item else ""
            words = " ".join(line.strip() for line in paragraph)
            done.extend(_lines(words, indent))
        else:
            done.extend(paragraph)
        paragraph.clear()

    for line in text.split("\n"):
        opened = re.match(r"(```+|:::+|\$\$)", line)
        if fence:
            done.append(line)
            fence = "" if line.startswith(fence) and line.strip() == fence else fence
        elif opened and not line.startswith(":::"):
            close()
            done.append(line)
            # A formula on a line of its own ends there.
            fence = "" if len(line) > 2 and line.startswith("$$") else opened.group()
        elif not line.strip() or (
            OTHER.match(line) and not (paragraph and line.startswith("    ") and _in_list(paragraph))
        ):
            close()
            done.append(line)
        else:
            if ITEM.match(line):
                close()
            paragraph.append(line)
    close()
    return "\n".join(done)


def _in_list(paragraph: list[str]) -> bool:
    return ITEM.match(paragraph[0]) is not None


def _lines(words: str, indent: str) -> list[str]:
    """Lines of at most the width; code, formulas and links are not cut at their spaces."""
    kept = re.sub(r"`[^`]+`|\$[^$]+\$", lambda match: match.group().replace(" ", "\0"), words)
    lines = textwrap.wrap(
        kept, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
    # A line must not begin with what markdown takes for something else.
    text = "\n".join(lines)
    text = re.sub(r"\n( *)([-+*#>|]|\d+\.)( )", r" \2\n\1", text)
    return text.replace("\0", " ").split("\n")


if __name__ == "__main__":
    for path in PAGES:
        before = path.read_text(encoding="utf-8")
        after = wrapped(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(path.relative_to(ROOT))
