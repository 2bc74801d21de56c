"""The gaps between languages in the vectors of the models of the catalogue, as `training.encoder.language_gap` writes.

`language_gaps.json` has for each model the texts that its gap was computed from, and the vector.
"""

import json
from functools import cache
from importlib.resources import files

import numpy as np

from memory.retrieval.legs import LanguageGap

FILE = "language_gaps.json"


@cache
def language_gaps() -> dict[str, LanguageGap]:
    """The gaps by the id of the model; a model that is not multilingual, or was not measured, has none."""
    stored = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return {
        model_id: LanguageGap(np.array(entry["vector"], dtype=np.float32))  # (dimension,)
        for model_id, entry in stored.items()
    }
