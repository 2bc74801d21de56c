"""Opens the stores, encrypted or not, and checks them."""
