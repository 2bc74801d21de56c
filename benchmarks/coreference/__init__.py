"""Coreference cases and public sets."""
