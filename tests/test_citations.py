"""What source and documentation point to exists: sections of docs/design, modules, tests, links between pages."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DESIGN = ROOT / "docs" / "design"
PAGES = {
    "DESIGN": "architecture.md",
    "SERVING": "serving.md",
    "STYLE": "style.md",
    "000": "document-000.md",
    "001": "document-001.md",
    "002": "document-002.md",
    "003": "document-003.md",
    "004": "document-004.md",
}
PACKAGES = (
    "memory",
    "models",
    "storage",
    "documents",
    "deployments",
    "jiyi",
    "training",
    "testing",
    "benchmarks",
    "tests",
)

_NUMBER = r"\d+(?:\.\d+)*"
_CITATION = re.compile(rf"\b({'|'.join(PAGES)})(?:'s)? (§{_NUMBER}(?:(?:, §| and §|[–-]§?){_NUMBER})*)")
_STORES = re.compile(r"\bSTORES, ([^);:]+)[);]")
_MODULE_PATH = re.compile(
    rf"(?<![\w/.-])((?:{'|'.join(PACKAGES)})/[\w./-]+\.(?:py|md|yaml|jsonl|json|tsv|safetensors)\b)(?:::(\w+))?"
)
_FOLDER = re.compile(rf"`((?:{'|'.join(PACKAGES)})/[\w/]*)/`")
_ROOMS = re.compile(r"^\s+\| `(\w+)/` \| (`.+) \|$", re.MULTILINE)
_DOTTED = re.compile(rf"`((?:{'|'.join(PACKAGES)})(?:\.(?!py\b)\w+)+)(?:[`: ])")
_TEST = re.compile(r"`(?:Test\w+::)?(test_\w+|Test[A-Z]\w+)`")
_TESTS = re.compile(r"^ *(?:async )?(?:def|class) ((?:test_|Test)\w+)", re.MULTILINE)
_COMMAND = re.compile(rf"python -m ((?:{'|'.join(PACKAGES)})(?:\.\w+)+)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"```.*?```", re.DOTALL)


def _tracked(*patterns: str) -> list[Path]:
    names = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for name in names.stdout.splitlines() if (path := ROOT / name).exists()]


def _source() -> list[Path]:
    return [path for path in _tracked("*.py", "*.md", "*.toml", "*.yaml") if path != Path(__file__)]


def _documents() -> list[Path]:
    return [path for path in _tracked("*.md") if path.name != "CHANGELOG.md"]


@cache
def _sections(page: str) -> frozenset[str]:
    """Numbers of the sections of a design page: of its headings and of the rows of its tables."""
    text = (DESIGN / page).read_text(encoding="utf-8")
    headings = re.findall(rf"^#+ §?({_NUMBER})", text, re.MULTILINE)
    rows = re.findall(rf"^\| §({_NUMBER})", text, re.MULTILINE)
    return frozenset(headings) | frozenset(rows)


@cache
def _test_names(path: Path) -> tuple[str, ...]:
    return tuple(re.findall(r"(?:def|class) ([tT]est\w*)", path.read_text(encoding="utf-8")))


def _place(path: Path, text: str, position: int) -> str:
    return f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, position) + 1}"


def _missing_sections(path: Path) -> list[str]:
    text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
    cited = [
        (citation[0], PAGES[citation[1]], number)
        for citation in _CITATION.finditer(text)
        for number in re.findall(_NUMBER, citation[2])
    ]
    missing = [words for words, page, number in cited if number not in _sections(page)]
    headings = re.findall(r"^#+ (.+)$", (DESIGN / "stores.md").read_text(encoding="utf-8"), re.MULTILINE)
    missing += [
        citation[0]
        for citation in _STORES.finditer(text if path.suffix == ".py" else "")
        if not any(heading.lower().startswith(citation[1].strip().lower()) for heading in headings)
    ]
    return [f"{path.relative_to(ROOT)}: {words}" for words in missing]


def test_every_cited_section_is_in_the_design_pages() -> None:
    missing = [entry for path in _source() for entry in _missing_sections(path)]
    assert not missing, "\n".join(missing)


def _is_exported(package: str, name: str, *_: str) -> bool:
    """Whether a package names it in its `__all__`: `jiyi.Client`."""
    return f'"{name}"' in (ROOT / package / "__init__.py").read_text(encoding="utf-8")


def test_every_module_and_test_that_the_documentation_names_exists() -> None:
    missing = []
    for path in _documents():
        text = path.read_text(encoding="utf-8")
        for match in _MODULE_PATH.finditer(_LINK.sub(lambda link: "]" + " " * (len(link[0]) - 1), text)):
            file = ROOT / match[1]
            known = file.exists() and (match[2] is None or match[2] in _test_names(file))
            if not known:
                missing.append(f"{_place(path, text, match.start())}: {match[0]}")
        folders = [(match, match[1]) for match in _FOLDER.finditer(text)]
        folders += [
            (match, f"{match[1]}/{room}")
            for match in _ROOMS.finditer(text)
            for room in re.findall(r"`([\w.]+)`", match[2])
        ]
        missing += [
            f"{_place(path, text, match.start())}: {name}" for match, name in folders if not (ROOT / name).exists()
        ]
        for match in _DOTTED.finditer(text):
            parts = match[1].split(".")
            candidates = [ROOT.joinpath(*parts[:length]) for length in range(2, len(parts) + 1)]
            is_module = any(file.with_suffix(".py").exists() or file.is_dir() for file in candidates[-2:])
            if not (is_module or _is_exported(*parts)):
                missing.append(f"{_place(path, text, match.start())}: {match[1]}")
    assert not missing, "\n".join(missing)


def test_every_test_that_a_design_page_names_by_itself_exists() -> None:
    paths = _tracked("tests/*.py")
    known = {name for path in paths for name in _TESTS.findall(path.read_text(encoding="utf-8"))}
    missing = []
    for path in DESIGN.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        missing += [
            f"{_place(path, text, match.start())}: {match[1]}"
            for match in _TEST.finditer(text)
            if match[1] not in known
        ]
    assert not missing, "\n".join(missing)


def test_every_module_that_a_command_runs_exists() -> None:
    missing = []
    for path in _tracked("*.md", "*.py", "Makefile", ".ci/*", "deploy/*"):
        text = path.read_text(encoding="utf-8")
        for match in _COMMAND.finditer(text):
            module = ROOT.joinpath(*match[1].split("."))
            if not module.with_suffix(".py").exists() and not (module / "__main__.py").exists():
                missing.append(f"{_place(path, text, match.start())}: {match[0]}")
    assert not missing, "\n".join(missing)


def test_every_relative_link_leads_to_a_file() -> None:
    missing = []
    for path in _documents():
        text = path.read_text(encoding="utf-8")
        prose = _FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        for match in _LINK.finditer(prose):
            target = match[1].split("#")[0]
            if (
                target
                and "://" not in target
                and not target.startswith("mailto:")
                and not (path.parent / target).exists()
            ):
                missing.append(f"{_place(path, text, match.start())}: {match[1]}")
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("page", sorted({*PAGES.values(), "stores.md"}))
def test_a_page_numbers_each_section_once(page: str) -> None:
    headings = re.findall(rf"^#+ §?({_NUMBER})", (DESIGN / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(headings) == len(set(headings))
