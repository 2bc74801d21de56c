"""Who is asking: credentials, the user of a request, operators, and the log of both."""
