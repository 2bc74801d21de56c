"""What every training run needs: the loop, checkpoints, averaging, curves."""
