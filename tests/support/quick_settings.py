"""The product's settings for a server to whom tests sign in hundreds of times; only its passwords' hash is lighter."""

from cortex_admin.settings import *  # noqa: F403

PASSWORD_HASHERS = ["tests.support.passwords.QuickArgon2"]
