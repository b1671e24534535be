"""How the documentation is built: ``python -m sphinx -W -b html docs docs/_build``.

Nothing is fetched while it is built, and nothing while it is read: theme, search, fonts and MathJax come from packages and lie
beside the pages. Figures are drawn by the pages' own examples (``making/figures.py``); what the examples print is not compared
here: ``tests/test_readme.py`` runs them as doctests.
"""

import sys
from pathlib import Path

import hjastats

sys.path.insert(0, str(Path(__file__).parent))

project = "hjastats"
author = copyright = "The hjastats developers"
release = version = hjastats.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "making.extension",
]
exclude_patterns = ["_build", "_templates"]
nitpicky = True
# What other projects document; their inventories would have to be fetched.
nitpick_ignore_regex = [("py:.*", r"(statsmodels|pandas|numpy|scipy|matplotlib|joblib|patsy)\..*")]
suppress_warnings = ["autosummary.import_cycle"]

myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False
highlight_language = "text"
# Code is copied without its prompts and output.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Relative to _static; ``making/extension.py`` copies it there. Its menu could load parts that are not shipped.
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}

html_theme = "pydata_sphinx_theme"
html_title = "hjastats"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {
    "logo": {"text": "hjastats"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "gallery": [], "contributing": []}
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
