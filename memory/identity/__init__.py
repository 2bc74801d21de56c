"""Who may call, and for whom."""
