"""Recall and reranking on public sets."""
