"""Pieces of SQL that are written by hand: what is given comes back as it was."""

from __future__ import annotations

from django.db import connection

from suspensions.queries.fragments import array, sql

HARD = ['a"b', "c\\d", "e,f", "{}", "NULL", "", " g ", "emoji 😀"]


def test_an_array_s_text_holds_each_member_as_it_was_given() -> None:
    made = array("text", HARD)
    assert made.params == ('{"a\\"b","c\\\\d","e,f","{}","NULL",""," g ","emoji 😀"}',)
    if connection.vendor == "postgresql":
        read = sql("SELECT {made}", made=made)
        with connection.cursor() as cursor:
            cursor.execute(read.text, read.params)
            assert cursor.fetchone() == (HARD,)
