"""Logs, metrics, and what each replica reports."""
