"""Memory for agents of other frameworks, one module each; its framework is an optional extra of the same name."""
