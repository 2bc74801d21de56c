"""Items: JSON documents of a user, found by namespace, by filter and by meaning."""
