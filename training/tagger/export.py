"""Writes the weight file that ships, from a checkpoint of training.

python -m training.tagger.export DATA --checkpoint FILE --cache MODELS --chat-names FILE --out FILE.safetensors
"""

import random
import sys
from collections.abc import Sequence
from pathlib import Path

from memory.values.mentions import EntitySubtype, TaggedSpan
from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model
from models.tagger.labels import SUBTYPES
from models.tagger.network import TaggerSettings

from ..shared.data_sets import Part
from ..shared.recipes import export_parser
from ..shared.weight_files import save_weights
from .ner_chat import ChatWriter
from .ner_data import load_sets
from .ner_files import read_chat_names
from .ner_metrics import Key, SpanScores, marked_names
from .ner_sets import NER_SETS
from .networks import LoadedTagger, load_tagger

_CHAT_SENTENCES = 500
_CHOICES = (0.3, 0.4, 0.5, 0.6, 0.7)
LEAST = dict.fromkeys(SUBTYPES, min(_CHOICES))
"""Thresholds of the names that `choose_thresholds` reads."""


def main() -> None:
    """Chooses the thresholds on the tuning rows, and writes the file."""
    parser = export_parser("data sets of names")
    parser.add_argument("--chat-names", type=Path, required=True, help="the hand-labelled chat set: barred names")
    arguments = parser.parse_args()
    loaded = load_tagger(arguments.checkpoint, arguments.cache)
    thresholds = tuned_thresholds(loaded, arguments.data, arguments.chat_names)
    settings = TaggerSettings(
        shape=loaded.network.shape, sources=loaded.sources, thresholds=thresholds, body=DEFAULT_MODEL
    )
    size = save_weights(arguments.out, loaded.network, settings, prepare_model(DEFAULT_MODEL, arguments.cache))
    rounded = {subtype.value: least for subtype, least in thresholds.items()}
    sys.stdout.write(f"{arguments.out}: {size / 1e6:.2f} MB, {rounded}\n")


def tuned_thresholds(loaded: LoadedTagger, data: Path, chat_names: Path) -> dict[EntitySubtype, float]:
    """Thresholds chosen on the tuning rows of the sources, and on written chat sentences."""
    sets = [data_set for data_set in NER_SETS if data_set.name in loaded.sources]
    parts = load_sets(data, NER_SETS)
    texts: list[str] = []
    marked: list[set[Key]] = []
    covered: list[frozenset[EntitySubtype]] = []
    for data_set in sets:
        rows = parts[data_set.name][Part.TUNE]
        texts += [row.text for row in rows]
        marked += marked_names(rows, data_set)
        covered += [frozenset(subtype for subtype, weight in data_set.coverage.items() if weight == 1.0)] * len(rows)
    barred = [row.text[span.start : span.end] for row in read_chat_names(chat_names) for span in row.spans]
    writer = ChatWriter([row for data_set in sets for row in parts[data_set.name][Part.TRAIN]], barred)
    for seed in range(_CHAT_SENTENCES):
        row = writer.write(random.Random(f"tune/{seed}"))
        texts.append(row.text)
        marked.append({(span.start, span.end, span.label) for span in row.spans})
        covered.append(frozenset(SUBTYPES))
    return choose_thresholds(marked, loaded.names(texts, thresholds=LEAST), covered)


def choose_thresholds(
    marked: Sequence[set[Key]], predictions: Sequence[Sequence[TaggedSpan]], covered: Sequence[frozenset[EntitySubtype]]
) -> dict[EntitySubtype, float]:
    """Chooses the threshold with the best F1 of each subtype, over the tuning rows that mark all its names.

    Args:
        marked: Names of each row, with their subtypes.
        predictions: What was found with `LEAST`.
        covered: Subtypes of which each row marks all names.
    """
    chosen = {}
    for subtype in SUBTYPES:
        rows = [number for number, subtypes in enumerate(covered) if subtype in subtypes]
        expected = [{key for key in marked[number] if key[2] == subtype.value} for number in rows]

        def quality(
            least: float, subtype: EntitySubtype = subtype, rows: list[int] = rows, expected: list[set[Key]] = expected
        ) -> tuple[float, float]:
            predicted = [
                {
                    (span.start, span.end, subtype.value)
                    for span in predictions[number]
                    if span.subtype is subtype and span.score > least
                }
                for number in rows
            ]
            return SpanScores.of(expected, predicted).f1, -abs(least - 0.5)  # of equal ones the nearest to a half

        chosen[subtype] = max(_CHOICES, key=quality)
    return chosen


if __name__ == "__main__":
    main()
