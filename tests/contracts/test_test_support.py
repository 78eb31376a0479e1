"""The tests' own ground holds: emptying a database in spite of triggers, threads that meet."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection

from tests.support.engine import reset_database
from tests.support.threads import together

_GUARD = {
    "sqlite": ["CREATE TRIGGER guarded BEFORE DELETE ON auth_group BEGIN SELECT RAISE(ABORT, '100% insert-only'); END"],
    "postgresql": [
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'insert-only'; END $$",
        "CREATE TRIGGER guarded BEFORE DELETE ON auth_group FOR EACH ROW EXECUTE FUNCTION refuse()",
    ],
}
_UNGUARD = {
    "sqlite": ["DROP TRIGGER guarded"],
    "postgresql": ["DROP TRIGGER guarded ON auth_group", "DROP FUNCTION refuse"],
}


def _run(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def guarded_group() -> Iterator[None]:
    """A row in a table whose trigger refuses to delete anything."""
    Group.objects.create(name="kept")
    _run(_GUARD[connection.vendor])
    yield
    _run(_UNGUARD[connection.vendor])
    Group.objects.all().delete()


def _delete_groups() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM auth_group")


@pytest.mark.usefixtures("guarded_group")
def test_a_reset_empties_a_guarded_table_and_leaves_its_guard_on() -> None:
    with pytest.raises(DatabaseError):
        _delete_groups()
    reset_database()
    assert not Group.objects.exists()
    Group.objects.create(name="new")
    with pytest.raises(DatabaseError):
        _delete_groups()


def test_threads_see_what_others_committed_and_each_gets_its_own_answer() -> None:
    Group.objects.create(name="seen by all")

    def look() -> bool:
        return Group.objects.filter(name="seen by all").exists()

    def fail() -> bool:
        raise LookupError("mine alone")

    seen, also, failed = together([look, look, fail])
    assert (seen, also) == (True, True)
    assert isinstance(failed, LookupError)
    Group.objects.all().delete()
