"""The index that finds waiting pauses by words, agent, scope and who asked, on PostgreSQL.

Made after every migration, as the triggers are: it is of one engine alone. SQLite reads in the queue's order instead.
One inverted index serves the search and every filter that the order does not; only waiting pauses are in it, so that
what was decided costs nothing. The words are `search_text`'s; the other terms begin with a sign that no word holds.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

NAME = "suspension_terms"
AGENT, SCOPE, ASKER = "@", "=", "!"
LONGEST_ASKER = 400
TERMS = (
    "array_to_tsvector(array_remove(string_to_array(suspension.search_text, ' '), '') || ARRAY["
    f"'{AGENT}' || COALESCE(suspension.agent_name, ''),"
    f" '{SCOPE}' || suspension.scope_1, '{SCOPE}' || suspension.scope_2, '{SCOPE}' || suspension.scope,"
    f" '{ASKER}' || lower(left(suspension.created_by, {LONGEST_ASKER}))])"
)
"""Must stand in a query as it stands in the index."""

# Every search reads what was not yet sorted in from end to end, so that must stay short.
_INDEX = (
    f"CREATE INDEX IF NOT EXISTS {NAME} ON suspension USING gin (({TERMS.replace('suspension.', '')}))"
    " WITH (gin_pending_list_limit = 256) WHERE retired_at IS NULL AND claimed_at IS NULL"
)


def install_terms(connection: BaseDatabaseWrapper) -> None:
    """Make the index where it is not there."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_INDEX)


def asker_term(opening: str) -> str:
    """A query for pauses that were asked for by whoever's text begins so."""
    return _quoted(ASKER + opening.lower()[:LONGEST_ASKER]) + ":*"


def phrase_terms(phrase: str) -> str:
    """A query for pauses that hold the words of a phrase, the last of them maybe longer."""
    *whole, last = phrase.split(" ")
    return " & ".join([*map(_quoted, whole), _quoted(last) + ":*"])


def name_terms(words: str) -> str:
    """A query for pauses that hold just these words."""
    return " & ".join(map(_quoted, words.split(" ")))


def agent_term(agent_name: str) -> str:
    return _quoted(AGENT + agent_name)


def scope_terms(scopes: list[str]) -> str:
    """A query for pauses that one of the scopes covers."""
    return "(" + " | ".join(_quoted(SCOPE + scope) for scope in scopes) + ")"


def _quoted(term: str) -> str:
    escaped = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
