"""Corpora by their names, as commands are given them."""

import typer

from .client import JiyiClient


def corpus_id_of(client: JiyiClient, name: str) -> str | None:
    """The id of the corpus of this name; None where there is none."""
    return next((str(each["corpus_id"]) for each in client.corpora() if each["name"] == name), None)


def known_corpus(client: JiyiClient, name: str) -> str:
    """The id of the corpus of this name.

    Raises:
        typer.BadParameter: There is none.
    """
    corpus_id = corpus_id_of(client, name)
    if corpus_id is None:
        raise typer.BadParameter(f"There is no corpus {name!r}.")
    return corpus_id
