"""Who asks: apps, users, API keys and their secrets."""
