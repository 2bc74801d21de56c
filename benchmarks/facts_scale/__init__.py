"""What facts cost as conversations grow: learning, retrieval, jobs and disk from a thousand messages on."""
