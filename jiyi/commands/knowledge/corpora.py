"""Corpora by their names, as commands are given them."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ...client.clients import Client


def corpus_id_of(client: "Client", name: str) -> str | None:
    """The id of the corpus of this name; None where there is none."""
    return next((found.corpus_id for found in client.knowledge.corpora().results if found.name == name), None)


def known_corpus(client: "Client", name: str) -> str:
    """The id of the corpus of this name.

    Raises:
        typer.BadParameter: There is none.
    """
    corpus_id = corpus_id_of(client, name)
    if corpus_id is None:
        raise typer.BadParameter(f"There is no corpus {name!r}.")
    return corpus_id
