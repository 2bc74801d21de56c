"""Trains the reader: names, intents, references and facts in one network."""
