"""Checks packages of Office Open XML before a library unpacks them."""

import zipfile
import zlib
from io import BytesIO

from .limits import Limits, Unreadable

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DECLARATIONS = tuple("<!DOCTYPE".encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))
_PIECE_BYTES = 2**20


def check_package(content: bytes, part: str, limits: Limits) -> None:
    """Refuses what is no package with this part, too large when unpacked, or declares types of its own.

    Zip libraries unpack no more of a part than it says itself, so that the sum of what the parts say is a bound.
    Office writes no document type declarations, and where there are none, no entities can be expanded.

    Raises:
        Unreadable: With the reason.
    """
    if content.startswith(_OLE):
        raise Unreadable("it is locked by a password, or of a version before 2007")
    try:
        package = zipfile.ZipFile(BytesIO(content))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable("it is damaged, or no file of its type") from error
    with package:
        entries = package.infolist()
        if len(entries) > limits.parts:
            raise Unreadable(f"it has more than {limits.parts} parts")
        if sum(entry.file_size for entry in entries) > limits.unpacked_bytes:
            raise Unreadable(f"it unpacks to more than {limits.unpacked_bytes >> 20} MiB")
        if part not in package.namelist():
            raise Unreadable("it is no file of its type")
        for entry in entries:
            if entry.flag_bits & 1:
                raise Unreadable("it is locked by a password")
            if entry.filename.lower().endswith((".xml", ".rels", ".vml")) and _declares_types(package, entry):
                raise Unreadable("its XML declares types of its own")


def _declares_types(package: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bool:
    try:
        with package.open(entry) as part:
            before = b""
            while piece := part.read(_PIECE_BYTES):
                text = before + piece
                if any(declaration in text for declaration in _DECLARATIONS):
                    return True
                before = piece[-32:]
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, OSError, zlib.error) as error:
        raise Unreadable("it is damaged") from error
    return False
