"""The living demo: sample agents that speak the REST API alone, with transcripts of our own making, and a past."""
