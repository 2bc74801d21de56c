"""What is built and shipped: the six packages, nothing else, and importing them costs nothing."""

import importlib
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from models.assets.weight_files import SHIPPED

ROOT = Path(__file__).parents[2]
PACKAGES = ("memory", "models", "storage", "documents", "deployments", "jiyi")
HEAVY = (
    "torch",
    "ray",
    "transformers",
    "sentence_transformers",
    "qdrant_edge",
    "qdrant_client",
    "redis",
    "opencc",
    "docx",
    "pptx",
    "openpyxl",
    "pypdfium2",
)
APART = ("models.answers", "models.reader", "models.reranker", "models.body", "jiyi.adapters")
"""A network is a class of torch's and an adapter one of its framework's: these are imported by whoever has them."""


@pytest.mark.parametrize("name", PACKAGES)
def test_each_name_resolves_to_this_distribution(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    assert Path(module.__file__).is_relative_to(ROOT)


def test_the_wheel_ships_these_packages_only_and_all_their_modules(tmp_path: Path) -> None:
    source = tmp_path / "source"  # a copy: what an earlier build left beside the sources would be shipped again
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in shipped} == set(PACKAGES)
    modules = {str(path.relative_to(ROOT)) for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert {name for name in shipped if name.endswith(".py")} == modules
    data = {str(path.relative_to(ROOT)) for path in (ROOT / "memory").rglob("*.txt")}
    data.add("models/assets/language_gaps.json")
    weights = {str(path.relative_to(ROOT)) for path in SHIPPED.glob("*") if path.is_file()}
    assert shipped - modules == data | weights | {f"{package}/py.typed" for package in PACKAGES}
    assert {Path(name).suffix for name in weights} == {".safetensors", ".json", ".md"}
    assert {Path(name).stem for name in weights} == {"answers", "document_answers", "reader", "reranker"}


@pytest.mark.parametrize("package", ["memory", "models", "storage", "documents", "jiyi"])
def test_importing_every_module_of_a_package_loads_no_heavy_library(package: str) -> None:
    allowed = {"storage": {"qdrant_edge", "qdrant_client", "redis"}}.get(package, set())
    program = (
        "import importlib, pkgutil, sys\n"
        f"package = importlib.import_module({package!r})\n"
        "for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        f"    if not module.name.startswith({APART!r}):\n"
        "        importlib.import_module(module.name)\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT)
    assert set(eval(loaded.stdout)) <= allowed


def test_the_embedded_stores_load_no_client_of_a_server() -> None:
    program = (
        "import sys, deployments.builders.storage.stores; print(sorted({'qdrant_client', 'arango'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT)
    assert loaded.stdout.strip() == "[]"


def test_the_constraints_pin_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    names = {requirement.split(">")[0].split("=")[0].split("[")[0].strip().lower() for requirement in requirements}
    assert {name.replace("_", "-") for name in names} - pinned == set()
