"""The HTTP surface: routes, schemas and errors; a plain FastAPI app over the services of the domain (DESIGN §9)."""
