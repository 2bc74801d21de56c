"""The ports: small abstract roles that models, stores and deployments implement (DESIGN §1, STYLE §1)."""
