"""The typeface of charts and of the PDF, shipped as a package so that no machine draws another letter."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from analysis.errors import MissingProgram

CHART_FAMILY = "Source Sans Pro"


def package_folder(package: str, distribution: str) -> Path:
    """Find the folder of an installed font package without importing it.

    Raises
    ------
    MissingProgram
        The package is not installed.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingProgram(f"the font package {distribution} is not installed: pip install 'gatebook[report]'")
    return Path(spec.submodule_search_locations[0])


def chart_font() -> tuple[str, Path]:
    """Return the font family of charts and its folder, for ``vl_convert.register_font_directory``.

    Raises
    ------
    MissingProgram
        The package ``font-source-sans-pro`` is not installed.
    """
    return CHART_FAMILY, package_folder("font_source_sans_pro", "font-source-sans-pro") / "files"
