"""The template tags: what they print, and that no text becomes markup."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from suspensions.pages.contexts import Deadline
from suspensions.pages.folding import fold
from suspensions.templatetags import cortex

NOW = datetime(2026, 3, 12, 13, 32, 8, tzinfo=UTC)
HOSTILE = "</script><img src=x onerror=p()>"


@pytest.fixture(autouse=True)
def _oslo() -> Iterator[None]:
    with timezone.override(ZoneInfo("Europe/Oslo")):
        yield


def test_an_instant_shows_the_readers_time_and_keeps_utc_on_hover() -> None:
    assert cortex.instant(NOW, NOW) == (
        '<time datetime="2026-03-12T13:32:08.000000Z" title="2026-03-12T13:32:08.000000Z">14:32</time>'
    )


def test_the_time_left_has_a_shape_a_word_and_the_instant_to_count_down_to() -> None:
    shown = cortex.left(Deadline(NOW + timedelta(seconds=86)), NOW)
    assert 'class="left left-now"' in shown
    assert ">1 min 26 s<" in shown
    assert 'data-until="2026-03-12T13:33:34.000000Z"' in shown
    assert "Time is up" in cortex.left(Deadline(NOW), NOW)
    assert "No deadline" in cortex.left(None, NOW)


def test_seconds_of_a_deadline_are_shown_once_they_matter() -> None:
    assert ">14:33:34<" in cortex.by(Deadline(NOW + timedelta(seconds=86)), NOW)
    assert ">14:44<" in cortex.by(Deadline(NOW + timedelta(seconds=712)), NOW)


def test_odd_characters_are_printed_as_what_they_are() -> None:
    shown = cortex.odd("a\u202eb<i>")
    assert "\u202e" not in shown
    assert "U+202E" in shown
    assert "&lt;i&gt;" in shown


@pytest.mark.parametrize(
    "shown",
    [
        cortex.odd(HOSTILE),
        cortex.folded(fold(HOSTILE * 40)),
        cortex.icon('"' + HOSTILE),
        cortex.receipt("start", '"' + HOSTILE),
        cortex.digest(HOSTILE),
        cortex.broken(HOSTILE),
        cortex.scope(HOSTILE + "/x"),
    ],
)
def test_no_tag_lets_a_text_become_markup(shown: str) -> None:
    assert "<img" not in shown
    assert "</script>" not in shown
    assert '""' not in shown


def test_a_folded_text_says_how_much_is_hidden_and_shows_both_ends() -> None:
    shown = cortex.folded(fold("start " + "x" * 5000 + " end"))
    assert shown.startswith("start ")
    assert shown.endswith(" end")
    assert "characters folded, show</summary>" in shown
