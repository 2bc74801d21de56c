"""Load on a running service: an open-loop generator for truth, locust for people who know it, and a capacity model."""
