"""The suspension store of AI agents, its REST API and its pages."""
