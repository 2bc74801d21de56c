"""Writes the weight file that ships, from a checkpoint of training.

python -m training.tagger.export DATA --checkpoint FILE --cache MODELS --chat-names FILE --out FILE.safetensors
"""

import argparse
import random
import sys
from pathlib import Path

from memory.values.mentions import EntitySubtype
from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model
from models.tagger.labels import SUBTYPES
from models.tagger.network import TaggerSettings

from ..rewriter.data import Part
from ..shared.weight_files import save_weights
from .chat_names import read_chat_names
from .files import LoadedTagger, load_tagger
from .ner_chat import ChatWriter
from .ner_data import load_sets
from .ner_metrics import Key
from .ner_scores import marked_names
from .ner_sets import NER_SETS
from .thresholds import LEAST, choose_thresholds

_CHAT_SENTENCES = 500


def main() -> None:
    """Chooses the thresholds on the tuning rows, and writes the file."""
    parser = argparse.ArgumentParser(description="Writes the weight file that ships, from a checkpoint of training.")
    parser.add_argument("data", type=Path, help="folder of the data sets of names")
    parser.add_argument("--checkpoint", type=Path, required=True, help="sources.json lies beside it")
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--chat-names", type=Path, required=True, help="the hand-labelled chat set: barred names")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    loaded = load_tagger(arguments.checkpoint, arguments.cache)
    thresholds = tuned_thresholds(loaded, arguments.data, arguments.chat_names)
    settings = TaggerSettings(
        shape=loaded.network.shape, sources=loaded.sources, thresholds=thresholds, body=DEFAULT_MODEL
    )
    size = save_weights(arguments.out, loaded.network, settings, prepare_model(DEFAULT_MODEL, arguments.cache))
    shown = {subtype.value: least for subtype, least in thresholds.items()}
    sys.stdout.write(f"{arguments.out}: {size / 1e6:.2f} MB, {shown}\n")


def tuned_thresholds(loaded: LoadedTagger, data: Path, chat_names: Path) -> dict[EntitySubtype, float]:
    """Thresholds chosen on the tuning rows of the sources, and on written chat sentences."""
    sets = [one for one in NER_SETS if one.name in loaded.sources]
    parts = load_sets(data, NER_SETS)
    texts: list[str] = []
    marked: list[set[Key]] = []
    covered: list[frozenset[EntitySubtype]] = []
    for one in sets:
        rows = parts[one.name][Part.TUNE]
        texts += [row.text for row in rows]
        marked += marked_names(rows, one)
        covered += [frozenset(subtype for subtype, weight in one.coverage.items() if weight == 1.0)] * len(rows)
    barred = [row.text[one.start : one.end] for row in read_chat_names(chat_names) for one in row.spans]
    writer = ChatWriter([row for one in sets for row in parts[one.name][Part.TRAIN]], barred)
    for seed in range(_CHAT_SENTENCES):
        row = writer.write(random.Random(f"tune/{seed}"))
        texts.append(row.text)
        marked.append({(span.start, span.end, span.label) for span in row.spans})
        covered.append(frozenset(SUBTYPES))
    return choose_thresholds(marked, loaded.names(texts, thresholds=LEAST), covered)


if __name__ == "__main__":
    main()
