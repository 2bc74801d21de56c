"""`python -m dependencies.sbom FILE`: the runtime dependencies as a CycloneDX bill of materials, validated."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from .installed import ROOT, read_pins, runtime_dependencies


class InvalidBom(Exception):
    """The document does not follow the schema of CycloneDX."""


def bill_of_materials() -> dict[str, Any]:
    """What is installed here and belongs to an installation without extras.

    Raises:
        InvalidBom: The result is not valid.
    """
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--pyproject"]
    made = subprocess.run([*command, str(ROOT / "pyproject.toml"), sys.executable], check=True, capture_output=True)
    document: dict[str, Any] = json.loads(made.stdout)
    _keep_runtime(document)
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document))
    if problem is not None:
        raise InvalidBom(str(problem))
    return document


def _keep_runtime(document: dict[str, Any]) -> None:
    """Removes what only tests and documentation need; versions are the pins', without a build's local part."""
    wanted, pins = runtime_dependencies(), read_pins()
    document["components"] = [part for part in document["components"] if canonicalize_name(part["name"]) in wanted]
    for part in document["components"]:
        part["version"] = str(pins[canonicalize_name(part["name"])])
    kept = {part["bom-ref"] for part in document["components"]} | {document["metadata"]["component"]["bom-ref"]}
    document["dependencies"] = [
        {**node, "dependsOn": [name for name in node.get("dependsOn", ()) if name in kept]}
        for node in document["dependencies"]
        if node["ref"] in kept
    ]


def main() -> None:
    """Writes the file."""
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    document = bill_of_materials()
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: CycloneDX {document['specVersion']}, {len(document['components'])} components")


if __name__ == "__main__":
    main()
