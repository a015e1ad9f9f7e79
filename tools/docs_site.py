"""Hooks of the docs site (mkdocs.yml): pages from outside docs/, and links between them and docs/.

Pages are written so that their links work in the repository. The site has other paths, so links are translated.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
# Path in the repository -> path in the site.
FROM_OUTSIDE = {
    "README.md": "index.md",
    "packages/typescript/README.md": "guides/typescript.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "RELEASING.md": "project/releasing.md",
    "SECURITY.md": "project/security.md",
}
_IN_REPOSITORY = {site: path for path, site in FROM_OUTSIDE.items()}
_LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/."""
    for path, site in FROM_OUTSIDE.items():
        files.append(File.generated(config, site, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Translate the links of a page."""
    return translated(markdown, page.file.src_uri)


def translated(markdown: str, site: str) -> str:
    """Translate links that are right in the repository to links that are right in the site.

    >>> translated("[a](../ARCHITECTURE.md) [b](graph.md#facts)", "folding.md")
    '[a](project/architecture.md) [b](graph.md#facts)'
    >>> translated("[a](docs/graph.md)", "project/architecture.md")
    '[a](../graph.md)'
    """
    folder = posixpath.dirname(_IN_REPOSITORY.get(site, f"docs/{site}"))

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        there = FROM_OUTSIDE.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else None)
        if there is None:
            return match[0]  # nothing of the site, which the strict build reports
        return f"{match[1]}{posixpath.relpath(there, posixpath.dirname(site) or '.')}{match[3]}"

    return _LINK.sub(link, markdown)
