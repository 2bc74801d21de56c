"""Documents that the users of an app share: corpora, chunks and their graph (004)."""
