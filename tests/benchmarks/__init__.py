"""How fast the hot writes are, against the leanest transaction that writes the same rows. Run by `make bench`."""
