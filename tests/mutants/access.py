"""Without what keeps a scope from being left without anybody who manages access in it."""

from __future__ import annotations

from tests.mutants.mutant import BOTH, POSTGRESQL, Mutant, without

_STORE = "suspensions/store/access.py"
_PRINCIPALS = "tests/access/test_principals.py"

MUTANTS: tuple[Mutant, ...] = (
    without(
        "the refusal to take the last admin of a scope",
        _STORE,
        "        if not has_admin(at):\n",
        "        if False:\n",
        _PRINCIPALS,
        engines=BOTH,
    ),
    without(
        "the order of revocations that meet",
        _STORE,
        '    sql.lock_request("revoke a role")\n',
        "",
        _PRINCIPALS,
        engines=(POSTGRESQL,),
    ),
    without(
        "the person, not a service, as the last admin",
        _STORE,
        "filter(principal__is_service=False, ",
        "filter(",
        _PRINCIPALS,
    ),
    without(
        "the account that is still open as the last admin",
        _STORE,
        ", principal__user__is_active=True)\n    return people",
        ")\n    return people",
        _PRINCIPALS,
    ),
    without(
        "the scope and what is above it as what an admin covers",
        _STORE,
        "people.filter(scope__in=covering, role=",
        "people.filter(role=",
        _PRINCIPALS,
    ),
)
