"""What operators run and watch: health, the index, runs, keys, users, exports and erasures."""
