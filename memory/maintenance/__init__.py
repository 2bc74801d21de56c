"""The nightly, weekly and monthly jobs over facts (002 §5)."""
