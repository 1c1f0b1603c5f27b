"""The settings of the documentation site, for Sphinx: see docs/site/build."""
import pathlib
import re

here = pathlib.Path(__file__).resolve().parent
header = (here / "version.hpp").read_text(encoding="utf-8")
project = "qio"
author = "the authors of qio"
release = ".".join(re.search(rf"QIO_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))

extensions = ["breathe", "myst_parser"]
myst_heading_anchors = 4  # as GitHub names them
breathe_projects = {"qio": str(here / "xml")}
breathe_default_project = "qio"
breathe_domain_by_extension = {"hpp": "cpp"}
primary_domain = "cpp"
highlight_language = "none"  # of blocks that name no language

suppress_warnings = ["misc.highlighting_failure"]  # examples may leave things out

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = f"qio {release}"
html_show_sphinx = html_show_copyright = html_copy_source = False
exclude_patterns = ["docs/site/*"]
