"""The Python client: each call is described once (`resources/`), and sent by one of two transports."""
