"""What several calls share, and where they differ."""

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


def test_one_call_shares_everything_with_itself() -> None:
    assert compare(['{"a": 1}']).differing == ((),)
    assert compare([]).differing == ()
