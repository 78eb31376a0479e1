"""A call's arguments: nothing is lost, what misleads is warned of, an edit is explained."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from suspensions.domain.arguments import (
    MAX_LETTERS,
    MAX_WARNINGS,
    ArgumentsTree,
    ArgumentsWarning,
    Change,
    ChangeKind,
    Node,
    NodeKind,
    NotJson,
    WarningKind,
    check_edit,
    diff,
    normalise_typed,
    parse_arguments,
)
from suspensions.domain.errors import MalformedJson
from suspensions.domain.json_as_written import reads_as, written

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def tree_of(text: str) -> ArgumentsTree:
    tree = parse_arguments(text)
    assert isinstance(tree, ArgumentsTree)
    return tree


def warnings_of(text: str) -> list[tuple[WarningKind, str]]:
    return [(warning.kind, warning.pointer) for warning in tree_of(text).warnings]


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from walk(child)


def at(text: str, pointer: str) -> Node:
    return next(node for node in walk(tree_of(text).root) if node.pointer == pointer)


# --- the tree ------------------------------------------------------------------------------------


def test_the_tree_keeps_order_and_numbers_as_written() -> None:
    text = '{"b":1.50,"a":[7300000000000000019,-0,1E2,true,null,""],"":{"x/y~z":false}}'
    rows = [(node.pointer, node.kind, node.text, node.key) for node in walk(tree_of(text).root)]
    assert rows == [
        ("", NodeKind.OBJECT, "", None),
        ("/b", NodeKind.NUMBER, "1.50", "b"),
        ("/a", NodeKind.ARRAY, "", "a"),
        ("/a/0", NodeKind.NUMBER, "7300000000000000019", None),
        ("/a/1", NodeKind.NUMBER, "-0", None),
        ("/a/2", NodeKind.NUMBER, "1E2", None),
        ("/a/3", NodeKind.LITERAL, "true", None),
        ("/a/4", NodeKind.LITERAL, "null", None),
        ("/a/5", NodeKind.STRING, "", None),
        ("/", NodeKind.OBJECT, "", ""),
        ("//x~1y~0z", NodeKind.LITERAL, "false", "x/y~z"),
    ]


def test_lengths_are_members_items_and_characters() -> None:
    text = '{"o":{"a":1},"l":[1,2],"s":"e\u0301\U0001f9e9","n":123,"t":true}'
    lengths = {node.pointer: node.length for node in tree_of(text).root.children}
    assert lengths == {"/o": 1, "/l": 2, "/s": 3, "/n": 3, "/t": 0}


def test_items_know_their_place_and_the_first_can_be_had_alone() -> None:
    root = tree_of("[" + "0," * 100_000 + "0]").root
    assert [(node.index, node.pointer) for node in root.first(2)] == [(0, "/0"), (1, "/1")]
    assert next(root.each()) == root.first(1)[0]
    assert root.length == 100_001


@pytest.mark.parametrize("text", ["{}", "[]", "0", "false", '""', "null", ' {"a": 1}\n'])
def test_every_json_value_has_a_tree(text: str) -> None:
    assert tree_of(text).warnings == ()


@pytest.mark.parametrize(
    "text",
    ["", "not json", '{"a":1', "{'a':1}", "[NaN]", "-Infinity", "[1]]", '{"a":"\n"}', "\ufeff{}",
     "[" * 70, "[" * 1_000_000, "]" * 99 + "[" * 2_000, "[" * 70 + "-Infinity" + "]" * 70,
     "[" * 70 + "]" * 70 + "]", "[" * 70 + "]" * 70 + " Infinity", '["' + "[" * 99],
)  # fmt: skip
def test_what_is_no_json_is_said_to_be_none(text: str) -> None:
    found = parse_arguments(text)
    assert isinstance(found, NotJson)
    assert found.detail


def test_a_fault_has_its_offset() -> None:
    assert parse_arguments('{"a": tru}') == NotJson("a value is missing, at line 1, column 7", 6)


@given(VALUES)
def test_a_tree_writes_back_to_the_same_value(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert json.loads(written(tree_of(text).root.raw)) == value


@given(st.text(st.characters(), max_size=30))
@example("\ud800")
@example('"\ud800"')
def test_any_text_is_read_and_shown_as_something_that_can_be_sent(text: str) -> None:
    found = parse_arguments(text)
    if isinstance(found, ArgumentsTree):
        for node in walk(found.root):
            (node.text + node.pointer + (node.key or "")).encode()


# --- warnings ------------------------------------------------------------------------------------


def test_a_name_that_stands_twice_keeps_both_values() -> None:
    text = '{"amount":10,"to":"acct-1","amount":9000}'
    children = tree_of(text).root.children
    assert [(n.key, n.text, n.duplicate) for n in children] == [
        ("amount", "10", True),
        ("to", "acct-1", False),
        ("amount", "9000", True),
    ]
    assert tree_of(text).warnings == (
        ArgumentsWarning(
            WarningKind.DUPLICATE,
            "/amount",
            "this name stands 2 times: programs differ in which they read",
        ),
    )


def test_duplicates_are_found_at_any_depth_and_through_escapes() -> None:
    assert warnings_of(r'{"a":[{"b":1,"\u0062":2,"b":3}],"c":1}') == [(WarningKind.DUPLICATE, "/a/0/b")]


@pytest.mark.parametrize(
    ("lexeme", "other"),
    [
        ("9007199254740993", "9007199254740992"),
        ("-9007199254740993", "-9007199254740992"),
        ("7300000000000000019", "7300000000000000000"),
        ("12345678901234567168", "12345678901234567000"),
        ("0.1000000000000000055511151231257827", "0.1"),
        ("1e400", "infinity"),
        ("-1e400", "-infinity"),
        ("1e-400", "0"),
        ("1" * 5000, "infinity"),
        ("0." + "0" * 400 + "1", "0"),
        ("9007199254740992", None),
        ("9007199254740994", None),
        ("9007199254740993.0", "9007199254740992.0"),
        ("0.1", None),
        ("1.50", None),
        ("1.000000000000000000000", None),
        ("100000000000000000000", None),
        ("1e23", None),
        ("1E+2", None),
        ("0e99999999999999999999", None),
        ("-0.000000000000000000000", None),
        ("0." + "0" * 400 + "1e401", None),
        ("1e99999999999999999999999", "infinity"),
    ],
)
def test_what_a_double_would_make_of_a_number(lexeme: str, other: str | None) -> None:
    assert reads_as(lexeme) == other
    found = tree_of(f'{{"n":[{lexeme}]}}')
    assert at(f'{{"n":[{lexeme}]}}', "/n/0").reads_as == other
    assert [warning.pointer for warning in found.warnings] == ["/n/0"] * (other is not None)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_as_it_prints_is_never_warned_of(number: float) -> None:
    assert reads_as(repr(number)) is None


@given(st.integers(-(10**25), 10**25))
def test_an_integer_is_warned_of_where_a_double_prints_another(number: int) -> None:
    same = Decimal(repr(float(number))) == number
    assert (reads_as(str(number)) is None) == same


def test_warnings_say_what_is_the_matter() -> None:
    details = [w.detail for w in tree_of("[9007199254740993,1e400,1e-400]").warnings]
    assert details == [
        "over 2^53: some programs would read it as 9007199254740992",
        "beyond the largest double: some programs would read it as infinity",
        "written with more digits than some programs keep: some programs would read it as 0",
    ]


def test_half_a_surrogate_pair_is_warned_of_and_shown_as_its_escape() -> None:
    text = r'{"\ud800":"x\udde9","ok":"\ud83e\udde9","no":"\\ud800"}'
    assert warnings_of(text) == [
        (WarningKind.HALF_PAIR, r"/\ud800"),
        (WarningKind.HALF_PAIR, r"/\ud800"),
    ]
    assert [node.text for node in tree_of(text).root.children] == [
        r"x\udde9",
        "\U0001f9e9",
        r"\ud800",
    ]


@pytest.mark.parametrize("levels", [65, 2_000, 1_000_000])
def test_what_nests_too_deep_is_kept_as_written(levels: int) -> None:
    inner = "[" * (levels - 1) + '"]"' + "]" * (levels - 1)
    text = '{"a":' + inner + ',"b":9007199254740993,"a":1}'
    kinds = [kind for kind, _ in warnings_of(text)]
    assert kinds == [WarningKind.DUPLICATE, WarningKind.DEPTH, WarningKind.NUMBER]
    deep = next(node for node in walk(tree_of(text).root) if node.kind is NodeKind.DEEP)
    assert deep.pointer == "/a" + "/0" * 63
    assert deep.text == "[" * (levels - 64) + '"]"' + "]" * (levels - 64)
    assert deep.length == len(deep.text)


def test_64_levels_are_all_looked_into() -> None:
    assert tree_of("[" * 64 + "]" * 64).warnings == ()


def test_several_deep_values_come_back_each_in_its_place() -> None:
    deep = ["[" * 3 + str(number) + "]" * 3 for number in range(3)]
    text = "[" * 63 + ",".join(deep) + "]" * 63
    assert written(tree_of(text).root.raw).replace(" ", "") == text


def test_a_thousand_warnings_are_counted_not_listed() -> None:
    tree = tree_of("[" + ",".join(["1e400"] * 1_000) + "]")
    assert len(tree.warnings) == MAX_WARNINGS
    assert tree.more_warnings == 1_000 - MAX_WARNINGS


def test_no_other_kind_crowds_out_a_name_that_stands_twice() -> None:
    halves, deep = r'"\ud800",' * 1_000, ("[" * 64 + "]" * 64 + ",") * 1_000
    tree = tree_of('{"pad":[' + halves + deep + "1e400," * 1_000 + '0],"amount":1,"amount":2}')
    kinds = [warning.kind for warning in tree.warnings]
    assert tree.warnings[-1].pointer == "/amount"
    assert kinds.count(WarningKind.DUPLICATE) == 1
    assert len(kinds) == 3 * MAX_WARNINGS + 1
    assert tree.more_warnings == 3 * (1_000 - MAX_WARNINGS)


def test_thousands_of_names_that_stand_twice_crowd_out_no_number() -> None:
    members = "".join(f'"{number // 2}":0,' for number in range(10_000))
    tree = tree_of("{" + members + '"id":1e400}')
    assert [warning.pointer for warning in tree.warnings] == [f"/{number}" for number in range(MAX_WARNINGS)] + ["/id"]
    assert tree.more_warnings == 5_000 - MAX_WARNINGS


def test_pointers_below_a_name_of_millions_of_letters_are_bounded_together() -> None:
    tree = tree_of('{"' + "x" * (4 << 20) + '":[' + "1e400," * 50 + '0],"a":1,"a":2}')
    assert sum(len(warning.pointer) for warning in tree.warnings) < MAX_LETTERS + (5 << 20)
    assert tree.warnings[-1].pointer == "/a"
    assert len(tree.warnings) + tree.more_warnings == 51


def test_the_warnings_stand_in_the_order_of_the_text() -> None:
    assert warnings_of('{"n":1e400,"a":1,"l":[{"b/~":1,"b/~":[1e400]}],"a":2}') == [
        (WarningKind.NUMBER, "/n"),
        (WarningKind.DUPLICATE, "/a"),
        (WarningKind.DUPLICATE, "/l/0/b~1~0"),
        (WarningKind.NUMBER, "/l/0/b~1~0/0"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"sql":"' + "x" * (8 << 20) + '"}',
        '["' + r"\"" * (4 << 20),
        "[" + "[]," * (1 << 20) + "0]",
        "9" * (8 << 20),
        "[" * (4 << 20) + "]" * (4 << 20),
        '{"' + "x" * (1 << 20) + '":[' + "1e400," * (1 << 20) + "0]}",
    ],
    ids=["text", "quotes", "lists", "digits", "deep", "name"],
)
def test_eight_mib_are_read_in_linear_time(text: str) -> None:
    """A quadratic reading would take hours; the bound only tells the two apart."""
    began = time.process_time()
    parse_arguments(text)
    assert time.process_time() - began < 30


# --- edits ---------------------------------------------------------------------------------------

CHANGED, ADDED, REMOVED = ChangeKind.CHANGED, ChangeKind.ADDED, ChangeKind.REMOVED
ORIGINAL = '{"count":5,"id":7300000000000000019,"dry":false,"note":null,"tags":["a",["b"]],"price":1.50}'


def test_editing_one_field_changes_that_field_alone() -> None:
    edited = ORIGINAL.replace('"count":5', '"count":6')
    assert diff(ORIGINAL, edited) == (Change(CHANGED, "/count", "5", "6"),)


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ('"a",', '"c",', Change(CHANGED, "/tags/0", '"a"', '"c"')),
        ("1.50", "1.5", Change(CHANGED, "/price", "1.50", "1.5", same_value=True)),
        ("1.50", '"1.50"', Change(CHANGED, "/price", "1.50", '"1.50"')),
        ("000019", "000018", Change(CHANGED, "/id", "7300000000000000019", "7300000000000000018")),
        ("false", "0", Change(CHANGED, "/dry", "false", "0")),
        ("null", "{}", Change(CHANGED, "/note", "null", "{}")),
        (',"note":null', "", Change(REMOVED, "/note", "null", None)),
        ("{", '{"new":[1, {}],', Change(ADDED, "/new", None, "[1, {}]")),
        ('["b"]', '["b","c"]', Change(ADDED, "/tags/1/1", None, '"c"')),
        ('["b"]', "[]", Change(REMOVED, "/tags/1/0", '"b"', None)),
        ('"a",["b"]', '["b"]', Change(REMOVED, "/tags/0", '"a"', None)),
        ('"a",["b"]', '"z","a",["b"]', Change(ADDED, "/tags/0", None, '"z"')),
        ('"a"', '"\u0430"', Change(CHANGED, "/tags/0", '"a"', '"\u0430"')),
    ],
)
def test_a_change_is_told_by_pointer_and_as_written(old: str, new: str, change: Change) -> None:
    edited = ORIGINAL.replace(old, new, 1)
    assert diff(ORIGINAL, edited) == (change,)


def test_a_changed_item_among_new_ones_is_told_as_such() -> None:
    assert diff("[1,2,3]", "[1,9,8,3]") == (
        Change(CHANGED, "/1", "2", "9"),
        Change(ADDED, "/2", None, "8"),
    )


def test_the_same_text_has_no_change() -> None:
    assert diff(ORIGINAL, ORIGINAL) == ()


@pytest.mark.parametrize(
    ("original", "edited", "changes"),
    [
        ('{"a":1,"b":2}', '{"b":2,"a":1}', [(ChangeKind.ORDER, "")]),
        ('{"x":[{"a":1,"b":2}]}', '{ "x":[{"b":2,"a":1}]}', [(ChangeKind.ORDER, "/x/0")]),
        ('{"a":1}', '{ "a" : 1 }\n', [(ChangeKind.SPACING, "")]),
        (r'"\u0061"', '"a"', [(ChangeKind.SPACING, "")]),
        ('{"a":1,"b":2,"a":3}', '{"a":1,"a":3,"b":2}', [(ChangeKind.ORDER, "")]),
        ('{"a":1,"b":2}', '{"b":2,"a":3}', [(CHANGED, "/a")]),
        ('{"a":1,"b":2}', '{"b":2,"c":1,"a":1}', [(ADDED, "/c")]),
        ('{"a":1,"a":2}', '{"a":2}', [(CHANGED, "/a"), (REMOVED, "/a")]),
        ("1e400", "1e401", [(CHANGED, "")]),
    ],
)
def test_order_and_spacing_are_told_only_where_nothing_else_changed(
    original: str, edited: str, changes: list[tuple[ChangeKind, str]]
) -> None:
    assert [(change.kind, change.pointer) for change in diff(original, edited)] == changes


@pytest.mark.parametrize(("one", "other", "same"), [
    ("1.50", "1.5", True), ("100", "1e2", True), ("-0", "0", True), ("1e400", "10e399", True),
    ("1e99999999999999999999", "1e99999999999999999998", False), ("1", "1.0000001", False),
])  # fmt: skip
def test_a_number_written_otherwise_is_marked_as_one_value(one: str, other: str, same: bool) -> None:
    assert diff(one, other) == (Change(CHANGED, "", one, other, same_value=same),)


def test_where_a_text_is_no_json_the_whole_text_is_the_change() -> None:
    assert diff("rm -rf", '{"a":1}') == (Change(ChangeKind.TEXT, "", "rm -rf", '{"a":1}'),)


def test_deep_values_are_compared_as_written() -> None:
    deep = "[" * 100 + "]" * 100
    (change,) = diff('{"a":' + deep + "}", '{"a":' + deep.replace("[]", "[1]") + "}")
    assert change.pointer == "/a" + "/0" * 63
    assert diff("[" + deep + "]", "[ " + deep + "]") == (Change(ChangeKind.SPACING, ""),)


@given(VALUES, VALUES)
def test_a_diff_is_empty_of_values_exactly_where_the_values_are_equal(one: object, other: object) -> None:
    texts = [json.dumps(value, sort_keys=True) for value in (one, other)]
    real = [c for c in diff(*texts) if c.kind in (CHANGED, ADDED, REMOVED)]
    assert (not real) == (texts[0] == texts[1])


@given(st.dictionaries(st.text(max_size=3), LEAVES), st.dictionaries(st.text(max_size=3), LEAVES))
def test_a_diff_of_two_objects_turns_one_into_the_other(one: dict[str, object], other: dict[str, object]) -> None:
    patched = {name: json.dumps(value) for name, value in one.items()}
    for change in diff(json.dumps(one), json.dumps(other)):
        if change.kind is ChangeKind.ORDER:
            continue
        name = change.pointer[1:].replace("~1", "/").replace("~0", "~")
        if change.after is None:
            del patched[name]
        else:
            patched[name] = change.after
    assert {name: json.loads(value) for name, value in patched.items()} == json.loads(json.dumps(other))


@pytest.mark.parametrize("text", ["{}", "[]", "0", "false", '""', "null", ORIGINAL])
def test_every_strict_value_may_be_an_edit(text: str) -> None:
    check_edit(text)


@pytest.mark.parametrize(
    ("text", "pointer", "offset"),
    [
        ("", None, 0),
        ('{"a":1,"a":2}', "/a", None),
        ('{"n":[NaN]}', "/n/0", None),
        ('{"a":tru}', None, 5),
        (r'"\ud800"', None, 1),
        ("[" * 65 + "]" * 65, None, 64),
    ],
)
def test_an_edit_that_is_not_strict_json_is_refused_with_its_place(
    text: str, pointer: str | None, offset: int | None
) -> None:
    with pytest.raises(MalformedJson) as caught:
        check_edit(text)
    assert (caught.value.pointer, caught.value.offset) == (pointer, offset)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("  line 1\r\nline 2  ", "  line 1\nline 2  "),
        ("a\rb\r\n\rc\n", "a\nb\n\nc\n"),
        ("", ""),
        ("\t a\u00a0 ", "\t a\u00a0 "),
    ],
)
def test_typed_text_has_one_line_end_and_keeps_its_spaces(typed: str, text: str) -> None:
    assert normalise_typed(typed) == text
    assert normalise_typed(text) == text
