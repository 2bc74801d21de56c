"""The roles of models: they hold no data of users."""
