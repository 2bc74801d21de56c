"""Stand-ins, fault proxies and fakes that tests and benchmarks share."""
