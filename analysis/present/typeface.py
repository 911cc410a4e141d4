"""The typeface of charts and of the PDF, shipped as a package so that no machine draws another letter."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from analysis.errors import MissingProgram

CHART_FAMILY = "Source Sans Pro"
CHART_FILE = "SourceSansPro-Regular.ttf"


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


@lru_cache(maxsize=256)
def embedded(characters: str) -> str:
    """Return a ``@font-face`` rule that carries the chart font, cut down to ``characters``.

    A drawing that brings its letters looks in a browser as it was laid out.
    """
    from fontTools import subset  # noqa: PLC0415  (only where drawings are made)
    from fontTools.ttLib import TTFont  # noqa: PLC0415

    family, folder = chart_font()
    font = TTFont(folder / CHART_FILE, recalcTimestamp=False)
    options = subset.Options(layout_features=["kern"], hinting=False, notdef_outline=True, name_IDs=[])
    cutter = subset.Subsetter(options)
    cutter.populate(text=characters)
    cutter.subset(font)
    buffer = BytesIO()
    font.save(buffer)
    data = b64encode(buffer.getvalue()).decode("ascii")
    return f'@font-face{{font-family:"{family}";src:url(data:font/ttf;base64,{data})}}'
