"""A call's arguments as the page shows them."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspensions.pages.arguments import MAX_MISSED, MAX_STEPS, changes, edited_text, read_arguments
from suspensions.pages.contexts import Folded, TextWarning, TreeStep
from suspensions.pages.folding import fold


def shown(steps: list[TreeStep]) -> list[str]:
    lines = []
    for step in steps:
        if step.kind == "leaf":
            inline = [f"{part.key}={part.value.head}" for part in step.inline if part.value]
            lines.append(f"{step.key or step.index}={step.value.head if step.value else ' '.join(inline)}")
    return lines


def test_numbers_stand_as_they_were_written_and_members_keep_their_order() -> None:
    read = read_arguments('{"z": 1.50, "a": 9007199254740993, "n": null, "t": true}')
    assert shown(list(read.steps)) == ["z=1.50", "a=9007199254740993", "n=null", "t=true"]


def test_a_number_that_another_program_would_change_carries_a_flag_that_names_what_it_would_read() -> None:
    [flag] = next(step for step in read_arguments('{"id": 9007199254740993}').steps if step.key == "id").flags
    assert "9007199254740992" in flag


def test_both_values_of_a_doubled_name_are_shown_and_flagged() -> None:
    leaves = [step for step in read_arguments('{"a": 1, "a": 2}').steps if step.kind == "leaf"]
    assert [step.value.head for step in leaves if step.value] == ["1", "2"]
    assert all(step.flags for step in leaves)


TWICE = "This name stands 2 times: programs differ in which they read."
PAD = '"pad":[' + ",".join(["0"] * MAX_STEPS) + "]"
OVER = "9007199254740993"
READ_AS = "Over 2^53: some programs would read it as 9007199254740992. Cortex keeps every digit."


def test_a_hundred_odd_numbers_leave_the_flag_on_a_doubled_name() -> None:
    read = read_arguments('{"ids":[' + ",".join([OVER] * 100) + '],"amount":1,"amount":2}')
    assert [step.flags for step in read.steps if step.key == "amount"] == [(TWICE,), (TWICE,)]
    assert sum(step.flags == (READ_AS,) for step in read.steps) == 100
    assert read.warnings == []


def test_a_doubled_name_where_the_tree_does_not_reach_is_told_above_it() -> None:
    read = read_arguments("{" + PAD + ',"amount":1,"amount":2}')
    assert read.cut
    assert "amount" not in [step.key for step in read.steps]
    assert read.warnings == [TextWarning("amount", TWICE)]


def test_what_the_tree_does_not_reach_is_told_doubled_names_first() -> None:
    read = read_arguments("{" + PAD + ',"id":' + OVER + r',"half":"\ud800","a":{"b/c":1,"b/c":2}}')
    assert read.warnings == [
        TextWarning("a/b~1c", TWICE),
        TextWarning("id", READ_AS),
        TextWarning("half", "Holds half a surrogate pair, which programs read differently."),
    ]


def test_what_many_values_of_one_name_are_warned_of_stands_once_at_each() -> None:
    read = read_arguments("{" + ",".join(['"a":' + OVER] * 3) + "}")
    thrice = TWICE.replace("2", "3")
    assert [step.flags for step in read.steps if step.key] == [(thrice, READ_AS)] * 3
    assert read.warnings == []


def test_what_a_drawn_value_carries_is_not_told_twice() -> None:
    read = read_arguments('{"amount":1,' + PAD + ',"amount":' + OVER + "}")
    assert read.steps[1].flags == (TWICE,)
    assert read.warnings == [TextWarning("amount", READ_AS)]


def test_more_than_a_handful_out_of_the_tree_are_counted() -> None:
    members = ",".join(f'"a{number // 2}":0' for number in range(20))
    read = read_arguments("{" + PAD + ',"ids":[' + ",".join([OVER] * 150) + "]," + members + "}")
    assert read.warnings == [
        *(TextWarning(f"a{number}", TWICE) for number in range(MAX_MISSED)),
        TextWarning("", "155 more places are not marked below."),
    ]


def test_one_more_place_is_said_in_the_singular() -> None:
    read = read_arguments("[" + ",".join([OVER] * 101) + "]")
    assert not read.cut
    assert read.warnings == [TextWarning("", "1 more place is not marked below.")]


def test_thousands_of_doubled_names_are_counted_in_linear_time() -> None:
    """A quadratic reading would take hours; the bound only tells the two apart."""
    members = ",".join(f'"a{number // 2}":0' for number in range(400_000))
    began = time.process_time()
    read = read_arguments("{" + members + "}")
    assert time.process_time() - began < 30
    assert sum(step.flags == (TWICE,) for step in read.steps) == 200
    assert read.warnings == [TextWarning("", "199,900 more places are not marked below.")]


def test_a_long_way_to_a_place_is_shortened_in_the_middle() -> None:
    read = read_arguments("{" + PAD + ',"from' + "x" * 100_000 + 'to":' + OVER + "}")
    [warning] = read.warnings
    assert warning.path.startswith("fromxxx")
    assert warning.path.endswith("xxxto")
    assert len(warning.path) < 300
    assert warning.text == READ_AS


def test_a_doubled_empty_name_has_a_path_that_can_be_seen() -> None:
    assert read_arguments("{" + PAD + ',"":1,"":2}').warnings == [TextWarning("/", TWICE)]


@pytest.mark.parametrize(
    "text",
    [
        '{"amount": 1, "amount": 2, "id": 9007199254740993}',
        '{"a": [{"b": 1, "b": 2}], "half": "\\ud800"}',
        "9007199254740993",
        "[" * 70 + "]" * 70,
        '{"plain": [1, 2, {"x": null}]}',
    ],
)
def test_all_that_is_marked_in_a_small_tree_needs_no_line_above_it(text: str) -> None:
    assert read_arguments(text).warnings == []


def test_a_small_flat_object_in_a_list_stands_on_one_line() -> None:
    steps = read_arguments('{"flights": [{"number": "HAL417", "date": "2026-03-14"}]}').steps
    assert shown(list(steps)) == ['0=number="HAL417" date="2026-03-14"']


def test_empty_lists_and_objects_are_leaves_that_say_what_they_are() -> None:
    leaves = [step for step in read_arguments('{"a": {}, "b": []}').steps if step.kind == "leaf"]
    assert [(step.literal, step.value) for step in leaves] == [("object", None), ("array", None)]


def test_a_text_that_is_no_json_has_no_tree() -> None:
    read = read_arguments("Tier of ravi? {not json")
    assert not read.is_json
    assert not read.steps


@pytest.mark.parametrize("text", ['"text"', "1", "null", "[]", "{}"])
def test_a_root_that_is_no_object_has_a_line_of_its_own(text: str) -> None:
    kinds = [step.kind for step in read_arguments(text).steps]
    assert kinds == ["open", "leaf", "close"]


def test_hidden_and_misleading_characters_are_counted_by_place() -> None:
    warnings = read_arguments(json.dumps({"user": "m\u0430teo", "cmd": "a\u202eb\u200b"}, ensure_ascii=False)).warnings
    assert [warning.path for warning in warnings] == ["user", "cmd"]
    assert "U+0430" in warnings[0].text
    assert "U+202E" in warnings[1].text
    assert "U+200B" in warnings[1].text


def test_a_tree_of_many_values_stops_and_says_so() -> None:
    read = read_arguments(json.dumps([[index] for index in range(5000)]))
    assert read.cut
    assert len(read.steps) <= MAX_STEPS + 64


def test_a_tree_below_a_name_of_millions_of_letters_stops_before_its_pointers_fill_the_memory() -> None:
    read = read_arguments('{"' + "x" * (3 << 20) + '":[' + "0," * 100_000 + "0]}")
    assert read.cut
    assert sum(len(step.pointer) for step in read.steps) <= 20 << 20
    assert [step.kind for step in read.steps[:3]] == ["open", "open", "leaf"]


def test_one_name_as_long_as_a_text_may_be_is_drawn() -> None:
    read = read_arguments('{"' + "x" * (8 << 20) + '":0}')
    assert not read.cut
    assert len(read.steps) == 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=30,
)


@given(json_values)
def test_everything_that_is_opened_is_closed(value: object) -> None:
    depth = 0
    for step in read_arguments(json.dumps(value)).steps:
        depth += (step.kind == "open") - (step.kind == "close")
        assert depth >= 0
    assert depth == 0


def test_nesting_beyond_any_recursion_limit_is_shown() -> None:
    assert read_arguments("[" * 3000 + "]" * 3000).is_json


def test_a_long_text_keeps_its_end_in_sight() -> None:
    text = "select 1 /*" + "x" * 9_900 + "*/; drop table t"
    folded = fold(text)
    assert folded.tail.endswith("drop table t")
    assert folded.head.startswith("select 1")
    assert folded.head + folded.middle + folded.tail == text
    assert folded.total == len(text)


def test_a_short_text_is_not_folded() -> None:
    assert fold("short") == Folded("short")


def test_line_ends_that_a_browser_changed_are_no_edit() -> None:
    assert edited_text('{\r\n "a": 1}', '{\n "a": 1}') is None
    assert edited_text('{\r\n "a": 1}', '{\r "a": 1}') is None
    assert edited_text('{\r\n "a": 2}', '{\n "a": 1}') == '{\n "a": 2}'


def test_changes_name_the_value_before_and_after() -> None:
    [change] = changes('{"cabin": "business", "n": 1.50}', '{"cabin": "economy", "n": 1.50}')
    assert (change.pointer, change.was, change.now) == ("/cabin", '"business"', '"economy"')


@pytest.mark.parametrize(
    ("original", "edited", "aside", "recast"),
    [
        ("60", "61", "", False),
        ("60.0", "60.00", "same value, written differently", False),
        ("60", '"60"', "a text instead of a number", True),
        ('"60"', "60", "a number instead of a text", True),
        ("true", '"true"', "a text instead of true or false", True),
        ("true", "false", "", False),
        ("null", "0", "a number instead of null", True),
        ('["a"]', '"a"', "a text instead of a list", True),
        ('"a"', '{"a": 1}', "an object instead of a text", True),
        ("sixty", "60", "", False),
        ("null and void", "60", "", False),
    ],
)
def test_a_change_of_what_sort_of_value_it_is_says_so(original: str, edited: str, aside: str, recast: bool) -> None:
    [change] = changes(original, edited)
    assert (change.was, change.now, change.aside, change.recast) == (original, edited, aside, recast)


def test_a_value_that_was_not_there_is_of_no_other_sort() -> None:
    assert [change.recast for change in changes('{"a":1}', '{"b":"1"}')] == [False, False]


def test_a_change_of_spacing_alone_says_that_it_is_one() -> None:
    [change] = changes('{"a":1}', '{"a": 1}')
    assert change.aside == "white space or escapes only"
