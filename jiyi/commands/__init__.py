"""The commands of `jiyi`; a module a group."""
