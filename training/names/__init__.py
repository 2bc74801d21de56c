"""Data sets of names: how they are read, mapped to one label set, and measured."""
