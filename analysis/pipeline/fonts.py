"""The fonts of the PDF: which files a text needs, how wide its characters are, and what no font can show.

Everything comes from packages, so that the bytes do not depend on the machine; a font of the system is
taken only for a script that they lack.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import typst
from fontTools.ttLib import TTFont, TTLibError

from analysis.errors import Fault
from analysis.present.typeface import chart_font, package_folder

FALLBACK = "DejaVu Sans Mono"  # inside typst; box drawing and symbols
NO_GLYPH = "could not be displayed with font"  # in typst's message

_STYLES = ("Regular", "It", "Semibold", "SemiboldIt", "Bold", "BoldIt")
_NOTO = ("NotoSans[wght].ttf", "NotoSans-Italic[wght].ttf")
_WIDE = 1.0  # em, for a character whose font is not known here
_IDEOGRAPHS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH")
_EMOJI = range(0x1F000, 0x1FB00)


@dataclass(frozen=True, slots=True, kw_only=True)
class Typeface:
    """Font families in the order of fallback, their files, and the characters that none of them covers."""

    families: tuple[str, ...]
    files: tuple[Path, ...]
    missing: str


@dataclass(frozen=True, slots=True)
class _Face:
    family: str
    widths: dict[str, float]  # em, by character


def typeface_for(text: str) -> Typeface:
    """Choose packaged fonts for all characters: Source Sans Pro, Noto Sans, then the scripts needed.

    >>> typeface_for("plain τ").families
    ('Source Sans Pro', 'Noto Sans')
    """
    base = _base()
    families = tuple(dict.fromkeys(_face(path).family for path in base))
    covered = {char for path in base for char in _face(path).widths}
    missing = {char for char in text if _visible(char)} - covered
    packaged = _extended(Typeface(families=families, files=base, missing="".join(sorted(missing))), _scripts())
    return replace(packaged, missing="".join(char for char in packaged.missing if not _embedded(char)))


def with_system_fonts(typeface: Typeface) -> Typeface:
    """Extend a typeface by installed fonts for what the packaged ones lack."""
    return _extended(typeface, _system())


def _extended(typeface: Typeface, files: Iterable[Path]) -> Typeface:
    missing = set(typeface.missing)
    taken: list[tuple[str, Path]] = []
    for path in files:
        if not missing:
            break
        face = _readable(path)
        if face is not None and (found := missing & face.widths.keys()):
            taken.append((face.family, path))
            missing -= found
    return replace(
        typeface,
        families=tuple(dict.fromkeys([*typeface.families, *(family for family, _ in taken)])),
        files=(*typeface.files, *(path for _, path in taken)),
        missing="".join(sorted(missing)),
    )


def advances(text: str, typeface: Typeface) -> dict[str, float]:
    """Measure every character of ``text`` in em, in the first font that has it.

    >>> advances("1.", typeface_for("1."))
    {'.': 0.249, '1': 0.497}
    """
    faces = [_face(path) for path in typeface.files]
    return {
        char: next((face.widths[char] for face in faces if char in face.widths), 0.0 if not _visible(char) else _WIDE)
        for char in sorted(set(text))
    }


def missing_faults(characters: str) -> Iterator[Fault]:
    """One fault per script that no font covers, with the package that brings it."""
    by_package: dict[tuple[str, str], list[str]] = {}
    for char in characters:
        by_package.setdefault((script_of(char), _package(char)), []).append(char)
    for (script, package), chars in by_package.items():
        shown = ", ".join(f"{char} (U+{ord(char):04X})" for char in chars[:10])
        fix = (
            f"install the Debian package {package} or another font that has them; the page (--to html) needs none"
            if package
            else "remove them"
        )
        yield Fault(what=f"no font for {len(chars)} {script} character(s): {shown}", fix=fix)


def script_of(char: str) -> str:
    """Name the script of a character, by the first word of its Unicode name.

    >>> script_of("中"), script_of("न"), script_of("😀")
    ('CJK', 'DEVANAGARI', 'emoji')
    """
    if ord(char) in _EMOJI:
        return "emoji"
    return unicodedata.name(char, "unnamed").split()[0].split("-")[0]


def _package(char: str) -> str:
    if unicodedata.category(char) in {"Cn", "Co"}:
        return ""
    if script_of(char) in _IDEOGRAPHS:
        return "fonts-noto-cjk"
    return "fonts-noto-color-emoji" if script_of(char) == "emoji" else "fonts-noto-core"


def _visible(char: str) -> bool:
    """Whether a glyph is needed: not for spaces, controls, joiners and variation selectors."""
    return not (char.isspace() or unicodedata.category(char) in {"Cc", "Cf"} or 0xFE00 <= ord(char) <= 0xFE0F)


@cache
def _base() -> tuple[Path, ...]:
    _, folder = chart_font()
    noto = package_folder("manimgx_fonts", "manimgx-fonts")
    return (*(folder / f"SourceSansPro-{style}.ttf" for style in _STYLES), *(noto / name for name in _NOTO))


@cache
def _scripts() -> tuple[Path, ...]:
    folder = package_folder("manimgx_fonts", "manimgx-fonts")
    return tuple(path for path in sorted(folder.glob("*.ttf")) if path.name not in _NOTO)


@cache
def _face(path: Path) -> _Face:
    with TTFont(path, lazy=True, fontNumber=0) as font:
        unit = font["head"].unitsPerEm
        widths = font["hmtx"].metrics
        family = font["name"].getBestFamilyName()
        return _Face(family, {chr(code): widths[name][0] / unit for code, name in font.getBestCmap().items()})


@cache
def _embedded(char: str) -> bool:
    """Ask typst whether one of the fonts inside it has the character; PDF/UA makes a missing glyph an error."""
    fonts = typst.Fonts(include_system_fonts=False, include_embedded_fonts=True, font_paths=[])
    source = f'#set document(title: "probe")\n#set text(font: "{FALLBACK}")\n#{json.dumps(char, ensure_ascii=False)}'
    try:
        typst.Compiler(source.encode(), font_paths=fonts).compile(format="pdf", pdf_standards="ua-1", timestamp=0)
    except typst.TypstError as error:
        return NO_GLYPH not in str(error)
    return True


def _readable(path: Path) -> _Face | None:
    try:
        return _face(path)
    except (TTLibError, OSError, KeyError, AttributeError):
        return None


@cache
def _system() -> tuple[Path, ...]:
    """Font files of the system, Noto first and regular weights before others."""
    found = [
        path for folder in _system_folders() for kind in ("ttf", "otf", "ttc") for path in folder.rglob(f"*.{kind}")
    ]
    return tuple(sorted(found, key=lambda path: ("Noto" not in path.name, "Regular" not in path.name, path.name)))


def _system_folders() -> Iterator[Path]:
    if sys.platform == "win32":
        yield Path(os.environ.get("WINDIR", r"C:\Windows")) / "Fonts"
    elif sys.platform == "darwin":
        yield from (Path("/System/Library/Fonts"), Path("/Library/Fonts"), Path.home() / "Library" / "Fonts")
    else:
        yield from (
            Path("/usr/share/fonts"),
            Path("/usr/local/share/fonts"),
            Path.home() / ".local/share/fonts",
        )
