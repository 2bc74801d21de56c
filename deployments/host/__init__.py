"""The service on one machine: supervisor, cluster, ports."""
