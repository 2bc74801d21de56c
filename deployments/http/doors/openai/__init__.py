"""OpenAI's API: `/v1/…`."""
