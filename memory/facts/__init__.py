"""Facts that change: their times, their categories, what ends them and what hangs on them (document 002)."""
