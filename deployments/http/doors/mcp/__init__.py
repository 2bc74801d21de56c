"""The Model Context Protocol: memory as tools of an agent. `route` is light; the rest loads with the first request."""
