"""Every lock and every write. Functions here require an open transaction and assert it; operations open it."""
