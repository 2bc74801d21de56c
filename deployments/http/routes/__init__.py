"""One router per resource, by what it is about."""
