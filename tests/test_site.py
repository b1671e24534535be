"""The site: built without a warning, nothing fetched, no dead link, pictures where there is something to see, near answers."""

import doctest
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import matplotlib.pyplot as plt
import nbformat
import pytest
from selenium.webdriver.support.ui import WebDriverWait

from docs import wrap
from docs.making import figures, notebooks, pages
from docs.making.pages import NEEDS, Block, Mark, Prose
from tests.show.report import test_browser
from tests.show.report.test_browser import CHROMIUM, DRIVER

ROOT = Path(__file__).resolve().parents[1]
VIGNETTES = sorted(path.stem for path in (ROOT / "vignettes").glob("*.md"))
browser = test_browser.browser

# Pages of words and code alone, and why.
NOTHING_TO_SEE = {
    **dict.fromkeys(["questions/index", "vignettes/index", "concepts", "api/index"], "lists of pages"),
    "from_your_file": "files, and how they are read",
    "command_line": "options",
    "trust": "what is safe",
    "deviations": "a list of reasons",
    "contributing": "how the code is built",
}


class _Page(HTMLParser):
    """Links, pictures, ids and what is loaded."""

    def __init__(self, text):
        super().__init__()
        self.links, self.pictures, self.ids, self.loaded, self.text = [], [], set(), [], text
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "img":
            self.pictures.append(given["src"])
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("href"):
            self.loaded.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, and all its pages by name; a warning of the build is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-b", "html", "docs", str(folder)]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stderr
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.html")}
    # The theme's own templates lie there, too.
    found = {name: _Page(path.read_text(encoding="utf-8")) for name, path in files.items() if "_static" not in name}
    return folder, found


def _written(found):
    """Pages that somebody wrote, by name without ending."""
    made = {"genindex", "search", "py-modindex"}
    return {name[:-5]: page for name, page in found.items() if "/generated/" not in name and name[:-5] not in made}


def test_pages_load_nothing_from_elsewhere(site):
    folder, found = site
    assert {"index.html", "vignettes/first_ranking.html", "api/generated/hjastats.HJAResults.contrast.html"} <= set(
        found
    )
    assert {url for page in found.values() for url in page.loaded if urlsplit(url).netloc} == set()
    styles = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\s]*", styles) == []


def test_no_table_has_a_heading_without_words_and_every_picture_says_what_it_shows(site):
    _, found = site
    pages_of_ours = _written(found).values()
    assert [page for page in pages_of_ours if re.search(r"<th[^>]*>(?:<p></p>)?</th>", page.text)] == []
    pictures = [tag for page in pages_of_ours for tag in re.findall(r"<img[^>]*>", page.text)]
    assert pictures
    assert [tag for tag in pictures if not re.search(r'alt="[^"]+"', tag)] == []


def test_formulas_are_set_by_what_lies_beside_the_pages(site):
    folder, found = site
    page = found["model.html"]
    assert 'class="math' in page.text
    script = next(url for url in page.loaded if "mathjax" in url)
    assert (folder / urlsplit(script).path).is_file()
    assert list((folder / "_static" / "mathjax").rglob("*.woff"))


in_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium and ChromeDriver are not installed (chromium, chromium-driver)"
)


@in_browser
def test_the_search_finds_pages_without_a_server(site, browser):
    folder, _ = site
    browser.get((folder / "search.html").as_uri() + "?q=self-preference")
    wanted = "#search-results li a[href*='questions/self_preference.html']"
    assert WebDriverWait(browser, 30).until(lambda page: page.find_elements("css selector", wanted))


@in_browser
@pytest.mark.parametrize("name", ["index", "model", "gallery", "questions/who_is_best"])
def test_a_browser_asks_for_nothing_and_has_nothing_to_say(site, browser, name):
    folder, _ = site
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get((folder / f"{name}.html").as_uri())
    if name == "model":
        wait = "const done = arguments[0]; MathJax.startup.promise.then(done)"
        browser.execute_async_script(wait)
        assert browser.execute_script("return document.querySelectorAll('mjx-container').length") > 20
        assert browser.execute_script("return document.querySelectorAll('mjx-merror').length") == 0
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if urlsplit(url).scheme not in ("file", "data", "blob", "chrome")] == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    # Nothing sticks out of a phone's screen.
    browser.set_window_size(500, 900)
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.set_window_size(1200, 900)


def test_every_link_within_the_site_leads_somewhere(site):
    folder, found = site
    dead = []
    for name, page in found.items():
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (folder / name).parent / unquote(parts.path) if parts.path else folder / name
            if not target.exists():
                dead.append((name, link))
            elif parts.fragment and target.suffix == ".html":
                ids = found[target.resolve().relative_to(folder.resolve()).as_posix()].ids
                dead += [(name, link)] if unquote(parts.fragment) not in ids else []
    assert dead == []


def test_there_is_a_picture_wherever_there_is_something_to_see(site):
    _, found = site
    written = _written(found)
    # Pages that begin with what is not here keep their output, and lack their figures.
    lacking = {
        f"vignettes/{name}"
        for name in VIGNETTES
        for piece in pages.pieces((ROOT / "vignettes" / f"{name}.md").read_text(encoding="utf-8"))
        if isinstance(piece, Mark) and piece.lacks
    }
    without = {name for name, page in written.items() if not page.pictures and not name.startswith("api/")}
    assert without - lacking <= set(NOTHING_TO_SEE)
    assert set(NOTHING_TO_SEE) <= set(written)
    assert [name for name in NOTHING_TO_SEE if written[name].pictures] == []


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("who is best, and how sure?", ["result.leaderboard", "P(best)", "95%"]),
        ("which judge should I drop?", ["judge-noise", "without_judges"]),
        ("do judges favour their own family?", ["judges.affinity", "p_holm"]),
        ("how many more verdicts?", ["plan.sample_size", "more verdicts"]),
        ("my file has a column per judge: how do I read it?", ["A column for each judge", "outcome=["]),
    ],
)
def test_an_answer_is_two_clicks_from_the_first_page(site, question, answer):
    """The link says what is asked: all telling words of the question stand in it, or in what stands beside it."""
    _, found = site
    words = {"best", "drop", "family", "more", "column"} & set(re.findall(r"\w+", question))
    links = re.findall(
        r'<a [^>]*href="([^"#]+\.html)(?:#[^"]*)?"[^>]*>(.*?)</a>', found["index.html"].text, flags=re.DOTALL
    )
    named = {url for url, text in links if words & set(re.findall(r"\w+", re.sub("<[^>]+>", "", text).lower()))}
    assert named, f"the first page has no link that asks {question}"
    shown = [re.sub(r"<[^>]+>", "", found[url].text).replace("&quot;", '"') for url in named]
    assert any(all(one in text for one in answer) for text in shown)


@pytest.mark.parametrize("name", VIGNETTES)
def test_every_vignette_is_a_notebook_with_the_code_and_output_of_its_page(site, name):
    folder, found = site
    page = found[f"vignettes/{name}.html"]
    assert f"../notebooks/{name}.ipynb" in page.links
    notebook = nbformat.read(folder / "notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    source = pages.pieces((ROOT / "vignettes" / f"{name}.md").read_text(encoding="utf-8"))
    examples = [example for piece in source if isinstance(piece, Block) for example in piece.examples]
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert code == "".join(example.source for example in examples).rstrip("\n")
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum(output.output_type != "display_data" for output in shown) == sum(bool(one.want) for one in examples)
    drawn = sum(isinstance(piece, Mark) and not piece.lacks for piece in source)
    assert sum("image/svg+xml" in output.get("data", {}) for output in shown) == drawn
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert not re.search(r"\]\((?!http)", text)
    assert "<!-- figure" not in text


def test_a_cell_ends_where_something_is_shown_and_says_what_kind_of_output_it_is():
    text = "# T\n\n```python\n>>> a = 1\n>>> a + 1\n2\n>>> print(a)\n1\n>>> 1 / 0\nTraceback (most recent call last):\n    ...\n"
    made = json.loads(
        notebooks.notebook(pages.pieces(text + "ZeroDivisionError: division by zero\n>>> b = 2\n\n```\n"), "t")
    )
    cells = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    assert ["".join(cell["source"]) for cell in cells] == ["a = 1\na + 1", "print(a)", "1 / 0", "b = 2"]
    outputs = [cell["outputs"] for cell in cells]
    assert outputs[0][0]["data"]["text/plain"] == ["2"]
    assert (outputs[1][0]["output_type"], outputs[1][0]["text"]) == ("stream", ["1"])
    assert (outputs[2][0]["ename"], outputs[2][0]["evalue"], outputs[3]) == (
        "ZeroDivisionError",
        "division by zero",
        [],
    )


DRAWING = """# T

```python
>>> import matplotlib.pyplot as plt
>>> lines = plt.plot([0, 1], [0, 1])
>>> print(undefined)
never run
>>> plt.savefig("never written.svg")  # doctest: +SKIP

```

<!-- figure: A [line](there.md). -->
"""


def test_a_mark_shows_what_the_code_above_drew_and_what_is_only_printed_is_not_run(tmp_path):
    drawn = []
    for _ in range(2):
        page = pages.pieces(DRAWING)
        figures.draw(page)
        assert [type(piece) for piece in page] == [Prose, Block, Mark]
        drawn.append(page[-1].svg)
    assert drawn[0].startswith("<?xml")
    # The same code makes the same file.
    assert drawn[0] == drawn[1]
    assert plt.get_fignums() == []
    assert not (ROOT / "never written.svg").exists()
    text = figures.directive(page[-1], "t-1", tmp_path / "figures")
    assert (tmp_path / "figures" / "t-1.svg").read_text(encoding="utf-8") == drawn[0]
    assert ":alt: A line.\n" in text
    assert text.endswith("\n\nA [line](there.md).\n````")


def test_a_mark_has_a_drawing_for_telephones_where_the_figure_can_be_narrow(tmp_path):
    code = ">>> import hjastats as hja\n>>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()\n"
    page = pages.pieces(f"```python\n{code}>>> ax = result.plot.ranking()\n\n```\n\n<!-- figure: One. -->\n")
    figures.draw(page)
    text = figures.directive(page[-1], "t-1", tmp_path / "figures")
    assert ":class: drawn dark-light wide\n" in text
    assert ":class: drawn dark-light narrow\n" in text
    width = re.compile(r'<svg[^>]* width="([0-9.]+)pt"')
    wide, narrow = (
        width.search((tmp_path / "figures" / name).read_text())[1] for name in ("t-1.svg", "t-1-narrow.svg")
    )
    assert float(narrow) < 360 < float(wide)


def test_a_mark_without_a_figure_is_an_error():
    with pytest.raises(ValueError, match="no figure was drawn above the mark 'A line'"):
        figures.draw(pages.pieces("```python\n>>> 1\n1\n\n```\n\n<!-- figure: A line -->\n"))


def test_a_figure_of_data_that_are_not_here_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setitem(NEEDS, "../shared/data", False)
    page = pages.pieces(DRAWING.replace("# T", "# T\n\nOf ../shared/data."))
    figures.draw(page)
    assert page[-1].svg is None
    assert "drawn here where there is `../shared/data`" in figures.directive(page[-1], "t-1", tmp_path)


@pytest.mark.parametrize("module", [pages, wrap], ids=lambda module: module.__name__)
def test_examples_of_the_build_give_what_they_show(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("path", wrap.PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_prose_is_wrapped(path):
    text = path.read_text(encoding="utf-8")
    assert wrap.wrapped(text) == text, "python docs/wrap.py wraps it"


def test_wrapping_moves_words_and_leaves_tables_code_and_formulas_alone():
    kept = (
        "| a | " + "x " * 60 + "|\n\n```python\n" + "y = 1  # " + "z " * 60 + "\n```\n\n$$\n" + "a + " * 40 + "\n$$\n"
    )
    assert wrap.wrapped(kept) == kept
    long = "- one `code with spaces` " + "word " * 30 + "\n- two"
    done = wrap.wrapped(long)
    assert done.split() == long.split()
    assert max(map(len, done.split("\n"))) <= wrap.WIDTH
    assert done.split("\n")[1].startswith("  word")
    assert done.endswith("\n- two")
