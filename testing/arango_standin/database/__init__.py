"""The storage of the stand-in: documents, the order of values, and transactions."""
