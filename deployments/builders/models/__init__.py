"""Builds what computes with models, in the deployments that run them."""
