"""What a reference may mean: candidates, and which of them ranks first."""
