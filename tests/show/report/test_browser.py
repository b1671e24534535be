"""The page in a real browser: Debian's Chromium, headless, driven by selenium."""

import json
import shutil
import warnings

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


def column(browser, section, number):
    cells = f"return [...document.querySelectorAll('#{section} tbody tr')].map(r => r.cells[{number}].textContent)"
    return browser.execute_script(cells)


def check(browser, page, path, n_items):
    asked, console = opened(browser, page, path)
    assert asked == [path.as_uri()], "only the page itself may be asked for"
    assert console == []
    places = [str(place) for place in range(1, n_items + 1)]
    assert column(browser, "ranking", 1) == places
    names = column(browser, "ranking", 0)
    heading = browser.find_elements("css selector", "#ranking th button")[0]
    heading.click()
    by_name = column(browser, "ranking", 0)
    assert [name.lower() for name in by_name] == sorted(name.lower() for name in names)
    assert heading.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    # By keyboard: the second heading, numerically and then the other way round.
    from selenium.webdriver.common.keys import Keys

    second = browser.find_elements("css selector", "#ranking th button")[1]
    second.send_keys(Keys.ENTER)
    assert column(browser, "ranking", 1) == places
    second.send_keys(Keys.SPACE)
    assert column(browser, "ranking", 1) == places[::-1]
    overflow = browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow <= 0, "the page itself must not scroll sideways"
    assert browser.get_log("browser") == []


def test_the_embedded_panel(panel_fit, browser, tmp_path):
    check(browser, panel_fit.report(), tmp_path / "panel.html", 10)
    assert browser.find_element("css selector", ".lead").text.startswith("model-I leads")


def test_chatbot_arena(browser, tmp_path, shared_data):
    data = hja.read_comparisons(shared_data / "chatbot_arena.json")
    result = hja.JAModel.from_comparisons(data, position="judge").fit()
    check(browser, result.report(), tmp_path / "arena.html", 20)
    assert "gpt-4 has the highest score" in browser.find_element("css selector", ".lead").text


def test_hostile_labels_are_shown_as_text(panel, browser, tmp_path):
    data = renamed(panel, HOSTILE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = hja.HJAModel.from_comparisons(data, rank=1).fit().report(title=HOSTILE[0])
    asked, console = opened(browser, page, tmp_path / "hostile.html")
    assert len(asked) == 1
    assert console == []
    assert browser.find_element("css selector", "h1").text == HOSTILE[0]
    assert set(HOSTILE) <= set(column(browser, "ranking", 0))
    assert set(HOSTILE) <= set(column(browser, "judges", 0))
    assert browser.execute_script("return document.scripts.length") == 1


def test_dark_mode_and_print_keep_the_text_readable(panel, browser, tmp_path):
    result = hja.BTLModel.from_comparisons(panel).fit()
    opened(browser, result.report(), tmp_path / "dark.html")
    colours = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    light = browser.execute_script(colours)
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    dark = browser.execute_script(colours)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    printed = browser.execute_script(colours)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert light == ["rgb(27, 27, 27)", "rgb(255, 255, 255)"]
    assert dark == ["rgb(232, 232, 232)", "rgb(22, 24, 27)"]
    assert printed == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
