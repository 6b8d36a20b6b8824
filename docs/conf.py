"""Settings of the documentation site; ``make docs`` builds it into ``docs/_build/html``."""

import os
import sys
import warnings
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))


project = "dropglm"
author = "The dropglm developers"
copyright = "The dropglm developers, MIT licence"
release = installed_version("dropglm")
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # Ours, in _ext/.
    "commands",
    "executed",
    "llms",
    "members",
    "table_dates",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "_templates", "gallery/**/*.ipynb", "**.py"]
nitpicky = False  # types of parameters are written in words
# Indented blocks are formulas.
highlight_language = "text"
smartquotes = False  # -- and A'' mean what they say

# Pages. The Markdown files are read on their own as well, so links between them are paths of files.
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4

# Reference.
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the templates of autosummary list them
numpydoc_xref_param_type = False

# Gallery.
warnings.filterwarnings("error", module="dropglm")
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "gallery_order.Order",
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("dropglm",),
    "reference_url": {"dropglm": None},
    "abort_on_example_error": True,
    "capture_repr": (),
    "min_reported_time": 5,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib", "gallery_order.clean_up"),
    "parallel": False,
}

# HTML.
html_theme = "pydata_sphinx_theme"
html_title = f"dropglm {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = True  # llms.txt refers to the sources of pages
# Where the site of all versions is, for the list of versions; without it the list is that of this build.
SITE = os.environ.get("DROPGLM_SITE", "").rstrip("/")
html_baseurl = f"{SITE}/" if SITE else ""
# The entry of switcher.json that this build is; a release sets it to its number.
VERSION = os.environ.get("DROPGLM_DOCS_VERSION", "dev")
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "dropglm", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_start": ["navbar-logo"],
    "navbar_persistent": ["search-button"],
    "navbar_end": ["version-switcher", "theme-switcher"],
    "show_version_warning_banner": False,
    "switcher": {"json_url": f"{SITE}/switcher.json" if SITE else "switcher.json", "version_match": VERSION},
    "check_switcher": False,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
    "footer_start": ["copyright"],
    "footer_end": ["last-updated"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "start", "which-tool")}  # there is nothing below them
html_extra_path = ["switcher.json"]
