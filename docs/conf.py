"""How the documentation is built: ``python -m sphinx -W -b html docs docs/_build``. Nothing is fetched while it is built or read.

Formulas are plain text, as in the docstrings and on the terminal: they need no MathJax, no fonts and no LaTeX. Vignettes are not
executed here; ``tests/test_readme.py`` runs them as doctests, which also compares what they print.
"""

import hjastats

project = "hjastats"
author = copyright = "The hjastats developers"
release = version = hjastats.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["_build", "_templates"]
nitpicky = True
# What other projects document; their inventories would have to be fetched.
nitpick_ignore_regex = [("py:.*", r"(statsmodels|pandas|numpy|scipy|matplotlib|joblib|patsy)\..*")]
suppress_warnings = ["autosummary.import_cycle"]

myst_heading_anchors = 3
templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False
highlight_language = "text"

html_theme = "alabaster"
html_title = "hjastats"
html_theme_options = {
    "description": "Ranking from pairwise verdicts of several judges, with inference",
    "page_width": "1320px",
    "sidebar_width": "230px",
    "code_font_size": "0.78em",
    "fixed_sidebar": False,
    "show_powered_by": False,
}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_show_sourcelink = False
