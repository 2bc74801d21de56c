"""The domain of Jiyi: values, rules and ports; it knows no store, no model library and no Ray."""
