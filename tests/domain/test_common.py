"""What several calls share, and where they differ."""

import pytest

from suspensions.domain.common import compare


def test_what_all_share_is_said_once_and_the_rest_for_each() -> None:
    found = compare(['{"a": 1, "b": [1], "c": "x"}', '{"c": "x", "b": [2], "a": 1}'])
    assert found.same == (("a", "1"), ("c", '"x"'))
    assert found.differing == ((("b", "[1]"),), (("b", "[2]"),))


def test_a_member_that_one_lacks_and_a_number_written_otherwise_differ() -> None:
    found = compare(['{"a": 1.50, "b": null}', '{"a": 1.5}'])
    assert found.same == ()
    assert found.differing == ((("a", "1.50"), ("b", "null")), (("a", "1.5"),))


def test_arguments_that_cannot_be_compared_by_members_are_shown_whole() -> None:
    for text in ("no json", "[1]", '{"a": 1, "a": 2}'):
        found = compare(['{"a": 1}', text])
        assert found.whole
        assert found.differing[1] == (("", text),)


def test_two_names_of_one_look_in_one_call_hide_neither_value() -> None:
    one = r'{"\ud800":"rm -rf /","\\ud800":"ls","x":1}'
    other = one.replace("rm -rf /", "rm -rf /home")
    found = compare([one, other])
    assert found.whole
    assert found.same == ()
    assert found.differing == ((("", one),), (("", other),))


@pytest.mark.parametrize("value", ["1", "2"])
def test_two_names_of_one_look_in_two_calls_are_never_the_same_name(value: str) -> None:
    texts = [r'{"\ud800":1}', rf'{{"\\ud800":{value}}}']
    found = compare(texts)
    assert found.whole
    assert found.differing == tuple((("", text),) for text in texts)


def test_half_a_pair_in_a_name_alone_is_compared_and_shown_as_its_escape() -> None:
    found = compare([r'{"\ud800":1,"x":2}', r'{"\ud800":1,"x":3}'])
    assert not found.whole
    assert found.same == ((r"\ud800", "1"),)
    assert found.differing == ((("x", "2"),), (("x", "3"),))


def test_one_call_shares_everything_with_itself() -> None:
    assert compare(['{"a": 1}']).differing == ((),)
    assert compare([]).differing == ()
