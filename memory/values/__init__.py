"""Value types: frozen, checked, and without behaviour that needs a store or a model. Imports nothing else of Jiyi."""
