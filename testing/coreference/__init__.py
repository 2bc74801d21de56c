"""The coreference suite: cases of what a query becomes, and a system that answers them."""
