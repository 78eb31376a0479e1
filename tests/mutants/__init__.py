"""The store with one guard taken away at a time: the suite must notice each of them. Run by `make mutants`."""
