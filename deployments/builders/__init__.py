"""What each deployment runs, built from the settings."""
