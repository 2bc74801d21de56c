"""The TypeScript client: its generated part is that of this document, and it works against the real app under Node."""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jiyi import cli
from testing.node_tools import node_itself, node_packages
from tests.jiyi.conftest import url

__all__ = ["url"]
CLIENT = Path(__file__).parents[2] / "clients/typescript"
URL = "http://127.0.0.1:8000"


def test_the_generated_part_is_of_this_document() -> None:
    document = CliRunner().invoke(cli.app, ["openapi"]).stdout
    recorded = (CLIENT / "schema.sha256").read_text(encoding="ascii").split()[0]
    assert hashlib.sha256(document.encode()).hexdigest() == recorded, "a route has changed: make typescript"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, compiled, with the packages that it needs, in a folder of its own."""
    packages = node_packages(CLIENT / "package.json")
    folder = tmp_path_factory.mktemp("client")
    for name in ("src", "test"):
        shutil.copytree(CLIENT / name, folder / name)
    for name in ("package.json", "tsconfig.json"):
        shutil.copy(CLIENT / name, folder)
    (folder / "node_modules").symlink_to(packages / "node_modules")
    node(folder, "node_modules/typescript/bin/tsc")
    return folder


def node(folder: Path, *words: str, **variables: str) -> str:
    """What Node.js prints; it must end well."""
    command, environment = node_itself()
    done = subprocess.run([command, *words], cwd=folder, env=environment | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_works_under_node(compiled: Path, url: str) -> None:
    printed = node(compiled, "--test", "--test-reporter=tap", "test/client.test.mjs", JIYI_URL=url)
    assert "# pass 10" in printed


@pytest.mark.slow
def test_the_example_of_its_readme_compiles_and_runs(compiled: Path, url: str) -> None:
    [example] = re.findall(r"```ts\n(.*?)```", (CLIENT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert URL in example
    (compiled / "example.ts").write_text(example.replace(URL, url), encoding="utf-8")
    settings = {
        "extends": "./tsconfig.json",
        "compilerOptions": {"rootDir": ".", "outDir": "."},
        "include": [],
        "files": ["example.ts"],
    }
    (compiled / "example.json").write_text(json.dumps(settings), encoding="utf-8")
    node(compiled, "node_modules/typescript/bin/tsc", "--project", "example.json")
    printed = node(compiled, "example.js")
    assert "Alice manages the Berlin office." in printed
