"""What the words of a message say whose kind is known: which date it asks for, what an overview names, to forget."""
