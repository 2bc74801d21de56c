"""Deployments behind handles, as the domain's ports."""
