"""What is calibrated per encoder."""
