"""Data sets of query rewriting: how they are read, what edits they ask for, and how rewrites are measured."""
