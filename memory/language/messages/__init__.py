"""What kind of message a text is, by closed phrases: greetings, questions about the assistant, requests to forget."""
