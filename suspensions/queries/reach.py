"""The condition that some scopes cover a row: equality on stored prefix columns, one for each depth."""

from __future__ import annotations

from django.db.models import Q

from suspensions.domain.reach import Reach


def within(reach: Reach, prefix: str = "") -> Q:
    """Rows that one of the scopes covers; no row where there is no scope. `prefix` leads to the scoped table.

    A scope of the last depth covers itself alone, which `scope` says as well, and `scope` has the index.
    """
    condition = Q(pk__in=())
    for depth, column in ((1, "scope_1"), (2, "scope_2"), (3, "scope")):
        texts = [scope.text for scope in reach if scope.depth == depth]
        if texts:
            condition |= Q(**{f"{prefix}{column}__in": texts})
    return condition
