"""Instants: one text of one width, and which texts are read. Source: store.md section 1, "Time"."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspensions.domain import clock
from suspensions.domain.errors import InvalidRequest
from suspensions.domain.instants import format_instant, parse_instant

NOON = datetime(2031, 5, 1, 12, 0, 0, tzinfo=UTC)
instants = st.datetimes(timezones=st.just(UTC))


def test_an_instant_always_has_six_fractional_digits_and_a_z() -> None:
    assert format_instant(NOON) == "2031-05-01T12:00:00.000000Z"
    assert format_instant(NOON.replace(microsecond=1)) == "2031-05-01T12:00:00.000001Z"
    assert format_instant(NOON.replace(microsecond=120_000)) == "2031-05-01T12:00:00.120000Z"
    assert format_instant(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000000Z"


def test_an_instant_of_another_zone_is_written_in_utc() -> None:
    there = datetime(2031, 5, 1, 12, 0, tzinfo=timezone(timedelta(hours=14)))
    assert format_instant(there) == "2031-04-30T22:00:00.000000Z"


def test_a_time_without_a_zone_is_a_defect() -> None:
    with pytest.raises(ValueError, match="zone"):
        format_instant(datetime(2031, 5, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2031-05-01T12:00:00Z", NOON),
        ("2031-05-01t12:00:00z", NOON),
        ("2031-05-01T12:00:00.0Z", NOON),
        ("2031-05-01T12:00:00.000000000Z", NOON),
        ("2031-05-01T12:00:00.5Z", NOON.replace(microsecond=500_000)),
        ("2031-05-01T12:00:00.000001Z", NOON.replace(microsecond=1)),
        ("2031-05-01T12:00:00+00:00", NOON),
        ("2031-05-01T12:00:00-00:00", NOON),
        ("2031-05-01T12:00:00+14:00", datetime(2031, 4, 30, 22, tzinfo=UTC)),
        ("2031-05-01T06:30:00-05:30", NOON),
    ],
)
def test_a_time_with_a_zone_is_the_right_instant(text: str, instant: datetime) -> None:
    parsed = parse_instant(text)
    assert parsed == instant
    assert parsed.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "2031-05-01",
        "2031-05-01T12:00:00",
        "2031-05-01 12:00:00Z",
        "2031-05-01T12:00Z",
        "2031-05-01T12:00:00 Z",
        "2031-05-01T12:00:00Z\n",
        "2031-05-01T12:00:00.Z",
        "2031-05-01T12:00:00.0000001Z",
        "2031-05-01T12:00:00,5Z",
        "2031-05-01T12:00:00+1400",
        "2031-05-01T12:00:00+14",
        "2031-05-01T12:00:00+25:00",
        "0000-00-00T00:00:00Z",
        "2031-02-30T12:00:00Z",
        "2031-05-01T24:00:00Z",
        "2031-05-01T12:60:00Z",
        "2031-05-01T12:00:61Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "٢٠٣١-05-01T12:00:00Z",
        "20310501T120000Z",
        "-5",
        "1e18",
        "",
        -5,
        1e18,
        None,
        NOON,
    ],
)
def test_anything_else_is_refused_with_a_pointer(text: object) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_instant(text, "/expires_at")
    assert [fault.pointer for fault in refusal.value.faults] == ["/expires_at"]


@given(instants)
def test_an_instant_is_read_back_as_it_was_written(instant: datetime) -> None:
    assert parse_instant(format_instant(instant)) == instant


@given(instants, instants)
def test_texts_of_instants_sort_as_the_instants_do(left: datetime, right: datetime) -> None:
    # SQLite compares them as texts.
    assert (format_instant(left) < format_instant(right)) == (left < right)


def test_the_clock_tells_utc_and_can_be_another_inside_a_block() -> None:
    assert clock.now().tzinfo is UTC
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
    with clock.use_clock(lambda: NOON):
        assert clock.now() == NOON
        with clock.use_clock(lambda: NOON + timedelta(days=1)):
            assert clock.now() == NOON + timedelta(days=1)
        assert clock.now() == NOON
    assert clock.now() != NOON
