"""The machine: cluster, ports, supervisor."""
