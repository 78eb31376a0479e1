"""Ids: their form, their order, and the ones that clients choose. Source: store.md section 1."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspensions.domain import ids
from suspensions.domain.errors import InvalidId, StoredRecordBroken

PREFIXES = [ids.RUN, ids.SUSPENSION, ids.AGENT, ids.SESSION, ids.CHECKPOINT, ids.EVENT, ids.PROOF]
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
NOW = datetime(2031, 5, 1, 12, 0, 0, 123_000, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
TAIL = "01k3vfzq8he5xbrz3n6a9ytj2m"


def number_of(text: str) -> int:
    """The 128 bits of an id, read by hand."""
    number = 0
    for letter in text.partition("_")[2]:
        number = number * 32 + ALPHABET.index(letter)
    return number


def text_of(prefix: str, number: int) -> str:
    letters = ""
    for _ in range(26):
        number, rest = divmod(number, 32)
        letters = ALPHABET[rest] + letters
    return f"{prefix}_{letters}"


def test_the_prefixes_are_the_contracts() -> None:
    assert PREFIXES == ["arun", "sus", "agt", "ses", "acp", "evt", "prf"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_an_id_is_a_prefix_and_26_characters_of_a_uuid_version_7(prefix: str) -> None:
    made = ids.new_id(prefix)

    assert ids.require_id(made, prefix) == made
    assert len(made) == len(prefix) + 27
    uuid = UUID(int=number_of(made))
    assert (uuid.version, uuid.variant) == (7, "specified in RFC 4122")
    age = datetime.now(UTC) - datetime.fromtimestamp((uuid.int >> 80) / 1000, UTC)
    assert abs(age) < timedelta(minutes=1)


def test_ids_made_in_one_process_are_strictly_increasing() -> None:
    made = [ids.new_id(ids.RUN) for _ in range(20_000)]
    assert made == sorted(set(made))


def test_each_threads_ids_are_strictly_increasing_and_nobody_elses() -> None:
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: [ids.new_id(ids.RUN) for _ in range(2_000)], range(4)))

    assert all(part == sorted(part) for part in parts)
    assert len({made for part in parts for made in part}) == 8_000


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "arun_",
        "arun",
        "sus_" + TAIL,
        "ARUN_" + TAIL,
        "arun_" + TAIL.upper(),
        "arun_" + TAIL[:-1],
        "arun_" + TAIL + "0",
        "arun_" + TAIL + "\n",
        " arun_" + TAIL,
        "arun_8" + TAIL[1:],  # 129 bits
        "arun_" + TAIL[:-1] + "i",
        "arun_" + TAIL[:-1] + "l",
        "arun_" + TAIL[:-1] + "o",
        "arun_" + TAIL[:-1] + "u",
        "arun_" + "\N{ARABIC-INDIC DIGIT ONE}" * 26,
        "arun-" + TAIL,
        "_" + TAIL,
        TAIL,
    ],
)
def test_anything_else_is_an_invalid_id(text: object) -> None:
    with pytest.raises(InvalidId):
        ids.require_id(text, ids.RUN)


# -- chosen ids --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [timedelta(days=-4000), timedelta(0), timedelta(minutes=5) - MILLISECOND])
def test_a_client_may_choose_an_id_of_any_past_and_up_to_five_minutes_ahead(ahead: timedelta) -> None:
    chosen = ids.id_at(ids.RUN, NOW + ahead)
    assert ids.require_chosen_id(chosen, ids.RUN, NOW) == chosen


def test_exactly_five_minutes_ahead_may_be_chosen() -> None:
    chosen = ids.id_at(ids.RUN, NOW + timedelta(minutes=5))
    assert ids.require_chosen_id(chosen, ids.RUN, NOW) == chosen


@pytest.mark.parametrize("ahead", [timedelta(minutes=5) + MILLISECOND, timedelta(hours=1), timedelta(days=9000)])
def test_an_id_further_ahead_may_not_be_chosen(ahead: timedelta) -> None:
    with pytest.raises(InvalidId):
        ids.require_chosen_id(ids.id_at(ids.RUN, NOW + ahead), ids.RUN, NOW)


@pytest.mark.parametrize("version", [version for version in range(16) if version != 7])
def test_a_chosen_id_of_another_version_is_refused(version: int) -> None:
    number = number_of(ids.id_at(ids.RUN, NOW)) & ~(15 << 76) | version << 76
    with pytest.raises(InvalidId):
        ids.require_chosen_id(text_of(ids.RUN, number), ids.RUN, NOW)


@pytest.mark.parametrize("variant", [0, 1, 3])
def test_a_chosen_id_of_another_variant_is_refused(variant: int) -> None:
    number = number_of(ids.id_at(ids.RUN, NOW)) & ~(3 << 62) | variant << 62
    with pytest.raises(InvalidId):
        ids.require_chosen_id(text_of(ids.RUN, number), ids.RUN, NOW)


def test_a_chosen_id_of_another_prefix_is_refused() -> None:
    with pytest.raises(InvalidId):
        ids.require_chosen_id(ids.id_at(ids.SUSPENSION, NOW), ids.RUN, NOW)


# -- the next id of a run ----------------------------------------------------------------------------


def test_the_next_id_is_made_now_where_the_latest_lies_behind() -> None:
    latest = ids.id_at(ids.SUSPENSION, datetime.now(UTC) - timedelta(hours=1))
    following = ids.new_id_after(ids.SUSPENSION, latest)

    assert following > latest
    assert abs((number_of(following) >> 80) - datetime.now(UTC).timestamp() * 1000) < 60_000


def test_the_next_id_is_the_latest_plus_one_where_the_latest_lies_ahead() -> None:
    latest = ids.id_at(ids.SUSPENSION, datetime.now(UTC) + timedelta(minutes=4), sequence=41)
    assert number_of(ids.new_id_after(ids.SUSPENSION, latest)) == number_of(latest) + 1


def test_the_first_id_needs_no_latest() -> None:
    assert ids.require_id(ids.new_id_after(ids.SUSPENSION, None), ids.SUSPENSION)


@given(
    ahead=st.integers(min_value=1, max_value=10**9),
    random_a=st.sampled_from([0, 1, 4094, 4095]),
    random_b=st.sampled_from([0, 1, (1 << 62) - 2, (1 << 62) - 1]),
)
def test_the_next_id_is_greater_and_of_version_7_also_where_a_part_is_full(
    ahead: int, random_a: int, random_b: int
) -> None:
    milliseconds = int(datetime.now(UTC).timestamp() * 1000) + 60_000 + ahead
    latest = text_of(ids.SUSPENSION, milliseconds << 80 | 7 << 76 | random_a << 64 | 2 << 62 | random_b)

    following = ids.new_id_after(ids.SUSPENSION, latest)

    assert following > latest
    uuid = UUID(int=number_of(following))
    assert (uuid.version, uuid.variant) == (7, "specified in RFC 4122")


@given(st.integers(min_value=0, max_value=(1 << 128) - 1), st.integers(min_value=0, max_value=(1 << 128) - 1))
def test_ids_sort_as_texts_as_they_do_as_numbers(left: int, right: int) -> None:
    assert (text_of("sus", left) < text_of("sus", right)) == (left < right)


def test_no_id_is_made_after_the_last_one_that_there_can_be() -> None:
    """An import may hold it; looking for a greater one without end would hold the run's lock as long."""
    for last in ("7" + "z" * 25, "7zzzzzzzzz" + "y" * 16):
        with pytest.raises(StoredRecordBroken):
            ids.new_id_after(ids.SUSPENSION, f"sus_{last}")
