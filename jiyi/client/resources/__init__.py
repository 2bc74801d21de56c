"""The calls of the API, described once each; a module a resource."""
