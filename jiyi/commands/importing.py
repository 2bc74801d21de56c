"""`jiyi import`: files of `jiyi export`, and exports of other services."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from memory.portability.foreign.entries import ForeignExport, NotThisFormat
from memory.portability.foreign.readers import READERS, ForeignFormat

from .output import USAGE, fail

_HEADER_BYTES = 4096


def user_of(file: Path) -> str:
    """The user of a file of `jiyi export`; ends the command where it is none."""
    with file.open("rb") as lines:
        try:
            return str(json.loads(lines.readline(_HEADER_BYTES))["user_id"])
        except (ValueError, KeyError, TypeError):
            fail(
                f"{file} is no export: it does not begin with a header",
                advice=f"For a file of another service give --from {'|'.join(ForeignFormat)}.",
            )


def read_foreign(file: Path, source: ForeignFormat, *, user: str) -> ForeignExport:
    """What the file of another service holds; ends the command where it is not of that service."""
    try:
        return READERS[source](json.loads(file.read_text(encoding="utf-8")), user=user)
    except NotThisFormat as error:
        fail(f"{file}: {error}", code=USAGE)
    except (ValueError, RecursionError) as error:
        fail(f"{file} is no JSON: {error}", code=USAGE)


@contextmanager
def as_export(export: ForeignExport, *, user: str) -> Iterator[BinaryIO]:
    """A temporary file with the entries as an export of this user, which an import takes."""
    with tempfile.TemporaryFile() as file:
        file.writelines(export.lines(user_id=user, version=version("jiyi"), now=datetime.now(UTC)))
        file.seek(0)
        yield file
