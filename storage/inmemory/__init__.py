"""Every port in memory: the deterministic fakes of the stores."""
