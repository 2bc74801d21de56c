"""Writes a character map in the form that the `Precompiled` normaliser of `tokenizers` reads.

The form is SentencePiece's: a u32 with the byte length of a trie, the trie, then the replacements, each ended by a
zero byte. The trie is a double array (darts-clone's units): walking a key, byte by byte, goes from a unit to
`position ^ offset ^ byte`, whose label must be that byte; behind a key's last byte, byte 0 leads to a unit whose
value is the position of its replacement.
"""

import struct
from collections.abc import Mapping

_LEAF = 1 << 31
_HAS_LEAF = 1 << 8
_OFFSET_SHIFT = 10
_PAGE = 256
_OPEN_PAGES = 2
"""Number of last pages that are searched for room: older pages are nearly full, and searching them is slow."""
_Node = dict[int, "_Node | int"]


def compile_charsmap(replacements: Mapping[str, str]) -> bytes:
    """Compiles a map from characters to what replaces them (nothing, or several characters).

    Args:
        replacements: Keys and values hold no NUL.
    """
    texts = bytearray()
    root: _Node = {}
    for key in sorted(replacements):
        node = root
        for byte in key.encode():
            child = node.setdefault(byte, {})
            assert isinstance(child, dict)  # noqa: S101 - byte 0 alone leads to a number, and no key holds it
            node = child
        node[0] = len(texts)
        texts += replacements[key].encode() + b"\0"
    units = _double_array(root)
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + bytes(texts)


def _double_array(root: _Node) -> list[int]:
    units = [0] * _PAGE
    taken = {0}
    bases: set[int] = set()
    waiting: list[tuple[int, _Node]] = [(0, root)]
    while waiting:
        position, node = waiting.pop()
        base = max(1, len(units) - _OPEN_PAGES * _PAGE)
        # One base a node: two nodes on one base would see each other's children.
        while base in bases or any(base ^ byte in taken for byte in node):
            base += 1
        bases.add(base)
        if base >= len(units):
            # The reader looks at any of the 256 places around a base without asking whether the array goes so far.
            units.extend([0] * (_PAGE * (base // _PAGE + 1) - len(units)))
        units[position] |= (position ^ base) << _OFFSET_SHIFT
        for byte, child in node.items():
            place = base ^ byte
            taken.add(place)
            if isinstance(child, int):
                units[position] |= _HAS_LEAF
                units[place] = _LEAF | child
            else:
                units[place] = byte
                waiting.append((place, child))
    return units
