"""mem0's hosted API under `/mem0`, for its unmodified clients."""
