"""What chat corpora say of lines: questions over them, requests to forget them, and what replaces them."""
