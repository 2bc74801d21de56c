"""The documentation names settings and endpoints that there are, and its pages are all in the site."""

import re
from contextlib import nullcontext
from pathlib import Path

from pydantic import BaseModel

from deployments.config.settings import AppArgs
from deployments.http.app import build_http

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_ENDPOINT = re.compile(r"`(GET|POST|PUT|PATCH|DELETE) (/[^`?]*)`")
_VARIABLE = re.compile(r"\bJIYI_[A-Z0-9_]*[A-Z0-9]\b")
_NO_SETTINGS = {"JIYI_PORT", "JIYI_API_KEY", "JIYI_SECRETS_DIR", "JIYI_TEST_CACHE", "JIYI_TEST_ARANGO_URL"}


def _variables(model: type[BaseModel], prefix: str = "JIYI_") -> set[str]:
    names = set()
    for name, field in model.model_fields.items():
        names.add(prefix + name.upper())
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names |= _variables(field.annotation, f"{prefix}{name.upper()}__")
    return names


def test_every_setting_that_is_named_can_be_set() -> None:
    known = _variables(AppArgs) | _NO_SETTINGS
    unknown = {
        f"{page.relative_to(ROOT)}: {name}"
        for page in PAGES
        for name in _VARIABLE.findall(page.read_text(encoding="utf-8"))
        if name not in known
    }
    assert not unknown, "\n".join(sorted(unknown))


def test_every_endpoint_that_is_named_with_its_method_exists() -> None:
    app = build_http(nullcontext)  # type: ignore[arg-type]
    known = {
        (method.upper(), re.sub(r"{[^}]*}", "{}", path))
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    }
    unknown = {
        f"{page.relative_to(ROOT)}: {method} {path}"
        for page in PAGES
        for method, path in _ENDPOINT.findall(page.read_text(encoding="utf-8"))
        if (method, re.sub(r"{[^}]*}", "{}", path)) not in known
    }
    assert not unknown, "\n".join(sorted(unknown))


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if not re.search(rf"\b{re.escape(page)}$", navigation, re.MULTILINE)] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


def test_every_package_and_room_has_a_readme() -> None:
    rooms = [
        folder.parent
        for package in ("memory", "models", "storage", "deployments")
        for folder in ROOT.glob(f"{package}/*/__init__.py")
    ]
    packages = [
        ROOT / name
        for name in (
            "memory",
            "models",
            "storage",
            "documents",
            "deployments",
            "jiyi",
            "training",
            "testing",
            "benchmarks",
            "dependencies",
        )
    ]
    assert [str(folder) for folder in (*packages, *rooms) if not (folder / "README.md").exists()] == []
