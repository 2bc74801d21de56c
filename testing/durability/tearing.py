"""What a power cut does to the ends of write-ahead logs: the last bytes never reached the disk.

SQLite's log grows, so its end is cut off. The vector engine's log has its full length from the beginning, so its end
turns into zeros. What was there before the run is left alone: it was synced when the files were created.
"""

import os
from pathlib import Path

from .processes import record_path

_BLOCK = 2**20


def lengths(home: Path) -> dict[Path, int]:
    """The number of bytes written to each log of the index."""
    return {log: _written(log) for log in _index_logs(home)}


def tear(home: Path, kept: dict[Path, int], *, record_bytes: int, index_bytes: int) -> None:
    """Takes the last bytes off every log.

    Args:
        home: The stores, which nobody has open.
        kept: What `lengths` was before the run.
        record_bytes: How much to take off SQLite's log.
        index_bytes: How much to take off each log of the index.
    """
    log = record_path(home).with_name(f"{record_path(home).name}-wal")
    if log.exists():
        os.truncate(log, max(log.stat().st_size - record_bytes, 0))
    for log, end in lengths(home).items():
        begin = max(end - index_bytes, kept.get(log, 0))
        with log.open("r+b") as file:
            file.seek(begin)
            file.write(b"\0" * (end - begin))


def _index_logs(home: Path) -> list[Path]:
    return sorted((home / "vectors").glob("*/wal/open-*"))


def _written(log: Path) -> int:
    """The length up to the last byte that is not zero; skips holes, which are most of a log."""
    end = 0
    with log.open("rb") as file:
        while True:
            try:
                begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                break
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
        written = 0
        file.seek(0)
        for place in range(0, end, _BLOCK):
            block = file.read(min(_BLOCK, end - place)).rstrip(b"\0")
            written = place + len(block) if block else written
    return written
