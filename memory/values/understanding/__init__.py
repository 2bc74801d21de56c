"""What a message means: turns, mentions, readings, extractions and resolutions of references."""
