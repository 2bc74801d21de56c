"""What runs in the background: tasks and schedules."""
