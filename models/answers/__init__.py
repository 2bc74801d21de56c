"""The answer reader: which of several dated lines answer a question, in which words, and whether any does."""
