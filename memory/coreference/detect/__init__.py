"""Which words of a query refer to something, or leave something out."""
