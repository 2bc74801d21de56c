"""`kill -9` at random points of random write sequences: what is lost, doubled or torn (issue of the stores, item 5)."""
