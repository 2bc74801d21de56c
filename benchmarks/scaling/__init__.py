"""How the embedding path scales."""
