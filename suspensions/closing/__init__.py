"""The two host ports that guard closing: who may close with what proof, and what is held while it is written."""
