"""The knowledge graph of a corpus: extracted from its chunks, in versions, with evidence (004 §2, §8, §11.2)."""
