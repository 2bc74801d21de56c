"""What the replicas of each deployment run, built from the settings."""
