"""What the stand-in stores: documents, values in their order, and transactions over them."""
