"""Configuration of the site (Sphinx with MyST); `ninja docs` runs it (cmake/TesseraReference.cmake).

The source folder is a folder of links to the repository's pages, so that the relative links which
work on a code host work here too, and of the pages of `api/`, which api_pages.py writes.
"""

project = "Tessera"
author = "The Tessera authors"
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
include_patterns = [
    "index.md",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**.md",
    "tests/golden/README.md",
    "api/**.rst",
]
exclude_patterns = ["docs/reference/**"]

# Headings of these levels are what `page.md#heading` can name, spelled as a code host spells them.
myst_heading_anchors = 4
highlight_language = "text"  # of blocks without a language; C++ blocks say so
suppress_warnings = ["misc.highlighting_failure"]  # signatures are not whole programs

html_theme = "sphinx_rtd_theme"
html_title = "Tessera"
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_depth": 3, "collapse_navigation": True}
