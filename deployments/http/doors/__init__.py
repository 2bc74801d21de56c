"""Doors: the protocols of other services over the services of Jiyi."""
