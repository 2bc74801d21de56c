"""Wrappers that go on while a store is away."""
