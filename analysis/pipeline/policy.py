"""What a page may do: nothing but show itself, in its own style and with its own script."""

from __future__ import annotations

import base64
import hashlib
import re

_SCRIPTS = re.compile(r"script-src 'sha256-[A-Za-z0-9+/=]+'")


def content_policy(style: str, script: str, *, shared_scripts: bool = False) -> str:
    """Return the Content-Security-Policy of a page with exactly this style and this script, and with scripts beside it if asked.

    >>> content_policy("", "").split("; ")[0]
    "default-src 'none'"
    """
    own = " 'self'" if shared_scripts else ""
    return (
        f"default-src 'none'; img-src data:; style-src '{_sha256(style)}'; script-src '{_sha256(script)}'{own}; "
        "base-uri 'none'; form-action 'none'"
    )


def with_shared_script(page: str) -> str | None:
    """The page with leave to run scripts that lie beside it; None where it has no policy of ours.

    >>> with_shared_script("script-src 'sha256-a='; base-uri 'none'")
    "script-src 'sha256-a=' 'self'; base-uri 'none'"
    """
    changed, times = _SCRIPTS.subn(lambda found: f"{found[0]} 'self'", page, count=1)
    return changed if times else None


def _sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
