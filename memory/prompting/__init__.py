"""What is asked of a language model, and the checks of its answers."""
