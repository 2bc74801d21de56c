"""All settings of the service."""
