"""How the pages write durations, instants, ids, digests and counts."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from suspensions.pages import formats

OSLO = ZoneInfo("Europe/Oslo")
NOW = datetime(2026, 3, 12, 13, 32, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (50, "50 s"),
        (60, "1 min"),
        (86, "1 min 26 s"),
        (899, "14 min 59 s"),
        (900, "15 min"),
        (34 * 60 + 59, "34 min"),
        (3600, "1 h"),
        (3 * 3600 + 12 * 60, "3 h 12 min"),
        (24 * 3600, "1 day"),
        (52 * 3600, "2 days 4 h"),
    ],
)
def test_a_duration_names_seconds_below_fifteen_minutes_and_none_above(seconds: int, text: str) -> None:
    assert formats.duration(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("seconds", "shape"), [(0, "past"), (-1, "past"), (1, "now"), (119, "now"), (120, "soon"), (899, "soon"), (900, "")]
)
def test_the_shape_of_the_time_left_changes_at_fifteen_and_two_minutes(seconds: int, shape: str) -> None:
    assert formats.urgency(timedelta(seconds=seconds)) == shape


def test_a_time_is_in_the_readers_zone_with_its_date_when_that_is_not_today() -> None:
    assert formats.clock_time(NOW, NOW, OSLO) == "14:32"
    assert formats.clock_time(NOW, NOW, OSLO, seconds=True) == "14:32:08"
    assert formats.clock_time(NOW - timedelta(days=1), NOW, OSLO) == "11 Mar 14:32"
    assert formats.clock_time(NOW.replace(year=2025), NOW, OSLO) == "12 Mar 2025 14:32"


def test_today_is_the_readers_day_and_not_that_of_utc() -> None:
    late = datetime(2026, 3, 12, 23, 30, tzinfo=UTC)
    assert formats.clock_time(late, late + timedelta(minutes=5), OSLO) == "00:30"
    assert formats.clock_time(late - timedelta(hours=1), late, OSLO) == "12 Mar 23:30"


def test_an_instant_in_full_is_utc_with_six_digits() -> None:
    assert formats.utc_text(NOW.astimezone(OSLO)) == "2026-03-12T13:32:08.000000Z"


def test_the_groups_of_a_digest_are_the_digest() -> None:
    digest = "0123456789abcdef" * 4
    groups = formats.digest_groups(digest)
    assert len(groups) == 8
    assert {len(group) for group in groups} == {8}
    assert "".join(groups) == digest


def test_short_forms_keep_what_is_short_already() -> None:
    assert formats.short_digest("6ff79f693be5d1daf45cfc32774dfb83cde") == "6ff79f69…3cde"
    assert formats.short_digest("6ff79f69") == "6ff79f69"
    assert formats.short_id("arun_01kkh398sjf4ta6reh0vbnd8dx") == "arun_…bnd8dx"
    assert formats.short_id("call_b7Qe") == "call_b7Qe"
    assert formats.grouped(1904) == "1,904"
