"""The reader: names, intents, references and facts of a message in its conversation, in one pass (DESIGN §5)."""
