"""Facts in tiers: category summaries, then items, then raw entries (002 §4.2, §4.3, §9.2)."""
