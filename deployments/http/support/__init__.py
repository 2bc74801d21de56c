"""What routes share: services, errors, limits."""
