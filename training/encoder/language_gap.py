"""Computes the gap between languages in the vectors of a model (DESIGN §6), and writes it for the catalogue.

    python -m training.encoder.language_gap --cache MODELS [--model ID]

The texts are the memory lines of our own chat corpus (`training/data/chat_corpus/answers`), on which no search is
measured: in Chinese, in both scripts, and in English. They are encoded as passages, as memories are stored. The gap is
the mean of the Chinese ones less the mean of the others. It replaces the model's entry in
`models/assets/language_gaps.json`, which also says how many texts it comes from.
"""

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from memory.ports.models.language import TextKind
from memory.values.vectors import LanguageGroup
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.language_gaps import FILE
from models.assets.prepare import prepare_model

from ..shared.chat_corpus import blocks, files_of
from ..shared.data_sets import Part

_CORPUS = Path(__file__).parents[1] / "data" / "chat_corpus"
_OUT = Path(__file__).parents[2] / "models" / "assets" / FILE
_LINE = re.compile(r"\d+ \d{4}-\d\d-\d\d (?:\(\w[^)]*\) )?(.+)")
_SEED = 1
_DIGITS = 5


def read_lines(corpus: Path, *, limit: int) -> dict[LanguageGroup, list[str]]:
    """The memory lines of a chat corpus by language, at most `limit` of each, in random but repeatable order."""
    lines: dict[LanguageGroup, list[str]] = defaultdict(list)
    for part in Part:
        for path in files_of([corpus], "answers", part):
            for _, line in (row for block in blocks(path) for row in block):
                if match := _LINE.fullmatch(line):
                    lines[LanguageGroup.of(match[1])].append(match[1])
    rng = random.Random(_SEED)
    return {group: rng.sample(texts, min(limit, len(texts))) for group, texts in lines.items()}


def entry_of(vectors: Mapping[LanguageGroup, Sequence[np.ndarray]]) -> dict[str, object]:
    """What `language_gaps.json` says of a model.

    Args:
        vectors: Of the texts by language; each of shape (dimension,).
    """
    means = {group: np.stack(rows).astype(np.float64).mean(axis=0) for group, rows in vectors.items()}
    gap = means[LanguageGroup.CHINESE] - means[LanguageGroup.OTHER]  # (dimension,)
    return {
        "made_by": "python -m training.encoder.language_gap",
        "texts": {group.value: len(rows) for group, rows in vectors.items()},
        "source": "memory lines of training/data/chat_corpus/answers",
        "vector": [round(float(number), _DIGITS) for number in gap.tolist()],
    }


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--limit", type=int, default=700, help="texts of a language, at most")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    from models.encoder.open_engine import open_engine

    entry = get_model(arguments.model)
    folder = prepare_model(arguments.model, arguments.cache)
    engine = open_engine(entry, folder, threads=arguments.threads)
    texts = read_lines(_CORPUS, limit=arguments.limit)
    vectors = {group: list(engine.encode(lines, TextKind.PASSAGE)) for group, lines in texts.items()}
    stored = json.loads(_OUT.read_text(encoding="utf-8")) if _OUT.exists() else {}
    stored[entry.id] = entry_of(vectors)
    _OUT.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
