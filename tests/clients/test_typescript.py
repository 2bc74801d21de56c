"""The TypeScript client: its generated part is that of this document, and it works against the real app under Node."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jiyi import cli
from tests.jiyi.conftest import url

__all__ = ["url"]
CLIENT = Path(__file__).parents[2] / "clients/typescript"


def test_the_generated_part_is_of_this_document() -> None:
    document = CliRunner().invoke(cli.app, ["openapi"]).stdout
    recorded = (CLIENT / "schema.sha256").read_text(encoding="ascii").split()[0]
    assert hashlib.sha256(document.encode()).hexdigest() == recorded, "a route has changed: make typescript"


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("node") is None or not (CLIENT / "node_modules").is_dir(), reason="make typescript installs packages"
)
def test_it_works_under_node(url: str) -> None:
    path = {"PATH": str(Path(shutil.which("node") or "").parent), "JIYI_URL": url}
    subprocess.run(["node", "node_modules/typescript/bin/tsc"], cwd=CLIENT, env=path, check=True)
    command = ["node", "--test", "--test-reporter=tap", "test/client.test.mjs"]
    done = subprocess.run(command, cwd=CLIENT, env=path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 6" in done.stdout
