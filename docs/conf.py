"""Sphinx: `python -m pip install '.[docs]' && python -m sphinx -W docs docs/_build`."""

project = "flake8-inplace"
author = copyright = "flake8-inplace maintainers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "examples", "evidence", "programs", "static"]
html_theme = "furo"
html_title = "flake8-inplace"
pygments_dark_style = "github-dark"
html_static_path = ["static"]
html_css_files = ["site.css"]
# The site is built without PyTorch.
autodoc_mock_imports = ["torch", "numpy"]
autodoc_typehints = "signature"
