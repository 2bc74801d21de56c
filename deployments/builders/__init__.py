"""Builds the objects that the replicas of each deployment run, from the settings."""
