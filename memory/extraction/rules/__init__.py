"""Names, codes and intents by rules and lists."""
