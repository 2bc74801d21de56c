"""The tagger: finds names and says what they name, with exact character offsets (DESIGN §5)."""
