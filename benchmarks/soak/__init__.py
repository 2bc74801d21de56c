"""An hour of load while the processes of the service are killed."""
