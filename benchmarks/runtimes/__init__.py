"""Other runtimes for the encoder's weights, beside the engine that is served."""
