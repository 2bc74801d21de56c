"""Erasing what is remembered of users: from every store, with a receipt."""
