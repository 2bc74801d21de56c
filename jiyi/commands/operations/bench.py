"""`jiyi bench`: lists and runs the benchmarks of the source repository; they are not part of the wheel."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..output import USAGE, Json, fail, print_json

app = typer.Typer()
_console = Console()
_PACKAGE = "benchmarks"
_ROOT = Path(__file__).parents[3]


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def bench(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which one; all are listed where it is not given.")] = None,
    as_json: Json = False,
) -> None:
    """Runs a benchmark with the arguments that follow its name (`--help` names them); each ends with a line of JSON."""
    found = _benchmarks()
    if name is None:
        if as_json:
            print_json(found)
            return
        table = Table("benchmark", "measures")
        for each, purpose in found.items():
            table.add_row(each, purpose)
        _console.print(table)
        return
    if name == "--help":
        typer.echo(context.get_help())
        return
    if name not in found:
        fail(f"There is no benchmark {name!r}.", advice="See them all with: jiyi bench", code=USAGE)
    command = [sys.executable, "-m", f"{_PACKAGE}.{name}", *context.args]
    raise typer.Exit(subprocess.run(command, env=os.environ | {"PYTHONPATH": str(_ROOT)}).returncode)


def _benchmarks() -> dict[str, str]:
    """What can be run, by name, with the first sentence that each says of itself."""
    folder = _ROOT / _PACKAGE
    if not folder.is_dir():
        fail("The benchmarks are not here.", advice="They are in the source repository of Jiyi; run it from there.")
    found = {}
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in text or path.name == "__main__.py":
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__main__")
            found[name] = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    return found
