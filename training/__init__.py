"""Training of the models that ship with Jiyi: one command an artefact, from the data folder (needs the dev extras)."""
