"""The page in a real browser: Debian's Chromium, headless, driven by selenium."""

import json
import math
import shutil
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from tests.show.report.test_page import HOSTILE, renamed

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1200,900",
]

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium and ChromeDriver are not installed (chromium, chromium-driver)"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    downloads = tmp_path_factory.mktemp("downloads")
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})
    driver.downloads = downloads
    yield driver
    driver.quit()


def opened(browser, page, path):
    """Open a page from a file; returns the addresses it asked for and the messages of its console."""
    path.write_text(page, encoding="utf-8")
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(path.as_uri())
    asked = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    # Pictures inside figures are part of the page; what a browser that has just begun shows first is its own.
    asked = [address for address in asked if not address.startswith(("data:image/png;base64,", "chrome://"))]
    return asked, browser.get_log("browser")


def column(browser, table, number):
    cells = (
        f"return [...document.querySelectorAll('#{table}-table tbody tr')].map(r => r.cells[{number}].innerText.trim())"
    )
    return browser.execute_script(cells)


def find(browser, selector):
    return browser.find_element("css selector", selector)


def choose(browser, selector, text):
    from selenium.webdriver.support.select import Select

    Select(find(browser, selector)).select_by_visible_text(text)


def at(browser, **media):
    """Emulate a medium or a preference; none again without any."""
    features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items() if name != "medium"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media.get("medium", ""), "features": features})


def check(browser, page, path, n_items):
    asked, console = opened(browser, page, path)
    assert asked == [path.as_uri()], "only the page itself may be asked for"
    assert console == []
    places = [str(place) for place in range(1, n_items + 1)]
    assert column(browser, "ranking", 0) == places
    names = column(browser, "ranking", 1)
    headings = browser.find_elements("css selector", "#ranking-table th button")
    headings[1].click()
    by_name = column(browser, "ranking", 1)
    assert [name.lower() for name in by_name] == sorted(name.lower() for name in names)
    assert headings[1].find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    # By keyboard: the first heading, numerically and then the other way round.
    from selenium.webdriver.common.keys import Keys

    headings[0].send_keys(Keys.ENTER)
    assert column(browser, "ranking", 0) == places
    headings[0].send_keys(Keys.SPACE)
    assert column(browser, "ranking", 0) == places[::-1]
    for width in (1200, 1100, 700, 390):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        browser.execute_script("for (const section of document.querySelectorAll('details')) section.open = true")
        overflow = browser.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow <= 0, "the page itself must not scroll sideways"
    smallest = """return Math.min(...[...document.querySelectorAll("figure svg")].filter(svg => svg.getBoundingClientRect().width)
        .flatMap(svg => [...svg.querySelectorAll("text")].map(text => parseFloat(getComputedStyle(text).fontSize)
        * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)))"""
    assert browser.execute_script(smallest) > 8, "letters of figures must be legible on a telephone"
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.get_log("browser") == []


@pytest.fixture(scope="module")
def panel_page(panel_fit):
    return panel_fit.report()


def test_the_embedded_panel(panel_page, browser, tmp_path):
    check(browser, panel_page, tmp_path / "panel.html", 10)
    assert find(browser, ".lead").text.startswith("model-I leads")


def test_chatbot_arena(browser, tmp_path, shared_data):
    data = hja.read_comparisons(shared_data / "chatbot_arena.json")
    result = hja.JAModel.from_comparisons(data, position="judge").fit()
    page = result.report()
    assert len(page.encode()) < 1_500_000
    check(browser, page, tmp_path / "arena.html", 20)
    assert "gpt-4 has the highest score" in find(browser, ".lead").text


def test_any_two_items_are_compared_as_head_to_head_does(panel_fit, panel_page, browser, tmp_path):
    opened(browser, panel_page, tmp_path / "picker.html")
    for judge in (None, "judge-5"):
        if judge:
            choose(browser, "#view", judge)
        for first, second in (("model-A", "model-E"), ("model-J", "model-I")):
            choose(browser, "#first-item", first)
            choose(browser, "#second-item", second)
            told, _, more = find(browser, "#answer").text.partition(". The difference is ")
            found = panel_fit.head_to_head(first, second, judge)
            assert told == found.sentence.partition(", which ")[0]
            elo = [400 / math.log(10) * x for x in (found.log_odds, found.log_odds - 1.96 * found.std_err)]
            assert more.startswith(f"{elo[0]:.0f} Elo points ({elo[1]:.0f} to ")
    assert find(browser, "#answer").text.endswith("For this judge the two differ.")
    find(browser, "#swap").click()
    assert find(browser, "#answer").text.startswith("judge-5 prefers model-I to model-J")
    choose(browser, "#second-item", "model-I")
    assert find(browser, "#answer").text == "Choose two different items."
    assert browser.get_log("browser") == []


def test_what_the_picker_says_jointly_is_what_the_ranking_says(panel_fit, panel_page, browser, tmp_path):
    opened(browser, panel_page, tmp_path / "jointly.html")
    groups = panel_fit.ranking()["group"]
    for other in ("model-A", "model-E", "model-B", "model-C"):
        choose(browser, "#first-item", "model-A")
        choose(browser, "#second-item", other)
        marked = browser.execute_script(
            "return [...document.querySelectorAll('tr.open th')].map(x => x.innerText.trim())"
        )
        expected = [item for item in groups.index if item != "model-A" and set(groups[item]) & set(groups["model-A"])]
        assert marked == expected
        if other not in expected and other != "model-A":
            assert find(browser, "#answer").text.endswith("They differ, also when all pairs are compared at once.")


def test_the_scale_and_the_view_of_a_judge_are_switched(panel_fit, panel_page, browser, tmp_path):
    opened(browser, panel_page, tmp_path / "scales.html")
    forms = {"elo": "{:.0f}", "win-rate": "{:.3f}", "log-odds": "{:.2f}"}
    for judge in (None, "judge-5"):
        if judge:
            choose(browser, "#view", judge)
        for scale, form in forms.items():
            find(browser, f"#scale-{scale}").click()
            expected = panel_fit.leaderboard(scale, judge=judge).table
            told = column(browser, "ranking", 3)
            for text, (item, row) in zip(told, expected.iterrows(), strict=True):
                numbers = [form.format(row[name]) for name in ("score", "ci_lower", "ci_upper")]
                assert text.split() == [numbers[0], numbers[1], "to", numbers[2]], item
    assert column(browser, "ranking", 1) == list(panel_fit.ranking("judge-5").index)
    assert "Places and scores by judge-5 alone" in find(browser, "#view-note").text
    choose(browser, "#view", "the consensus")
    assert column(browser, "ranking", 1) == list(panel_fit.consensus.index)


def test_sections_unfold_by_key_and_by_link_and_tabs_by_arrows(panel_page, browser, tmp_path):
    from selenium.webdriver.common.keys import Keys

    opened(browser, panel_page, tmp_path / "folding.html")
    judges = find(browser, "#judges")
    assert judges.get_attribute("open") is None
    judges.find_element("css selector", "summary").send_keys(Keys.ENTER)
    assert judges.get_attribute("open") is not None
    find(browser, 'nav a[href="#disagreement"]').click()
    tabs = browser.find_elements("css selector", '#disagreement [role="tab"]')
    assert [tab.get_attribute("aria-selected") for tab in tabs] == ["true", "false", "false", "false"]

    def shown():
        panels = browser.find_elements("css selector", "#disagreement .tab")
        return [panel.is_displayed() for panel in panels]

    assert shown() == [True, False, False, False]
    tabs[0].send_keys(Keys.ARROW_RIGHT)
    assert shown() == [False, True, False, False]
    assert browser.switch_to.active_element == tabs[1]
    tabs[3].click()
    assert shown() == [False, False, False, True]
    assert browser.get_log("browser") == []


def test_rows_are_filtered_and_counted(panel_page, browser, tmp_path):
    opened(browser, panel_page, tmp_path / "filter.html")
    field = find(browser, "#ranking input[type=search]")
    field.send_keys("model-b")
    shown = [row.is_displayed() for row in browser.find_elements("css selector", "#ranking-table tbody tr")]
    assert sum(shown) == 1
    assert find(browser, "#ranking .filter [role=status]").text == "1 of 10 rows"
    field.clear()
    field.send_keys(" ")
    assert all(row.is_displayed() for row in browser.find_elements("css selector", "#ranking-table tbody tr"))


def test_tables_come_out_of_the_page_as_files(panel_fit, panel_page, browser, tmp_path):
    opened(browser, panel_page, tmp_path / "files.html")
    find(browser, "#ranking a.csv").click()
    find(browser, "#downloads summary").click()
    find(browser, "#csv-judges").click()
    for name in ("leaderboard", "judges"):
        path = browser.downloads / f"{name}.csv"
        for _ in range(100):
            if path.exists():
                break
            time.sleep(0.1)
        assert path.exists()
    table = pd.read_csv(browser.downloads / "leaderboard.csv", index_col="item")
    expected = panel_fit.leaderboard("elo").table
    assert table["elo_score"].to_numpy() == pytest.approx(expected["score"].to_numpy(), rel=1e-5)
    assert browser.get_log("browser") == []


def test_everything_can_be_read_without_a_script(panel_page, browser, tmp_path):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(browser, panel_page, tmp_path / "plain.html")
        body = find(browser, "body").text
        assert "1206 to 1276" in body
        assert find(browser, "#figure-probabilities").is_displayed()
        # What only a script can do is not offered; scales change without one.
        assert not find(browser, "#picker").is_displayed()
        assert not find(browser, "#view-label").is_displayed()
        find(browser, "#scale-win-rate").click()
        assert find(browser, "#ranking-table .win-rate").is_displayed()
        assert not find(browser, "#ranking-table .elo").is_displayed()
        find(browser, "#disagreement summary").click()
        assert all(tab.is_displayed() for tab in browser.find_elements("css selector", "#disagreement .tab"))
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_long_tables_begin_short_and_say_so(browser, tmp_path):
    rng = np.random.default_rng(0)
    items = np.array([f"model number {k}" for k in range(40)])
    first, second = np.array([rng.choice(40, 2, replace=False) for _ in range(6000)]).T
    outcome = rng.random(6000) < 1 / (1 + np.exp((first - second) / 10))
    result = hja.BTLModel(outcome.astype(float), judge=["j"] * 6000, item_a=items[first], item_b=items[second]).fit()
    _, console = opened(browser, result.report(), tmp_path / "long.html")
    assert console == []
    rows = browser.find_elements("css selector", "#ranking-table tbody tr")
    assert sum(row.is_displayed() for row in rows) == 15
    button = find(browser, "#ranking button.more")
    assert button.text == "Show all 40 rows (15 are shown)"
    button.click()
    assert all(row.is_displayed() for row in rows)


def test_hostile_labels_are_shown_as_text(panel, browser, tmp_path):
    data = renamed(panel, HOSTILE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = hja.HJAModel.from_comparisons(data, rank=1).fit().report(title=HOSTILE[0])
    asked, console = opened(browser, page, tmp_path / "hostile.html")
    assert len(asked) == 1
    assert console == []
    assert find(browser, "h1").text == HOSTILE[0]
    names = "return [...document.querySelectorAll('#{}-table tbody th')].map(x => x.dataset.order)"
    assert set(HOSTILE) <= set(browser.execute_script(names.format("ranking")))
    assert set(HOSTILE) <= set(browser.execute_script(names.format("judges")))
    options = "return [...document.querySelectorAll('#{} option')].map(x => x.textContent)"
    assert set(HOSTILE) <= set(browser.execute_script(options.format("first-item")))
    assert set(HOSTILE) <= set(browser.execute_script(options.format("view")))
    assert browser.execute_script("return document.scripts.length") == 2


def test_dark_mode_and_print_keep_words_and_figures_readable(panel_page, browser, tmp_path):
    opened(browser, panel_page, tmp_path / "dark.html")
    colours = """const s = getComputedStyle(document.body), t = getComputedStyle(document.querySelector("figure svg text"));
        return [s.color, s.backgroundColor, t.fill]"""
    light = browser.execute_script(colours)
    at(browser, prefers_color_scheme="dark")
    dark = browser.execute_script(colours)
    at(browser, medium="print")
    printed = browser.execute_script(colours)
    folded = browser.execute_script("return document.querySelector('#judges-table').getBoundingClientRect().height")
    at(browser)
    assert light == ["rgb(27, 27, 29)", "rgb(255, 255, 255)", "rgb(27, 27, 29)"]
    assert dark == ["rgb(232, 232, 234)", "rgb(22, 24, 27)", "rgb(232, 232, 234)"]
    assert printed == ["rgb(0, 0, 0)", "rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    assert folded > 0, "folded sections are printed"
