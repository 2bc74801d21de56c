"""Code that routes share: services, errors, limits."""
