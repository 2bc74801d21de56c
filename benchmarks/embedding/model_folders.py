"""The model's folder as each library reads it: the same weights and tokenizer in all."""

import json
from pathlib import Path

_CONFIG = "sentence_bert_config.json"


def plain_folder(model: Path, into: Path) -> Path:
    """A folder of links to the model's files, with a configuration that sentence-transformers before 4 can read.

    Args:
        model: The prepared folder.
        into: A new folder.

    Returns:
        `into`.
    """
    into.mkdir(parents=True)
    for entry in model.iterdir():
        if entry.name != _CONFIG:
            (into / entry.name).symlink_to(entry)
    config = json.loads((model / _CONFIG).read_text())
    (into / _CONFIG).write_text(json.dumps({"max_seq_length": config["max_seq_length"], "do_lower_case": False}))
    return into
