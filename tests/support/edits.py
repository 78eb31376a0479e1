"""Arguments and what a person made of them, for whatever tells how the two differ."""

import json
import random
from typing import Any

ORIGINAL = '{"count":5,"id":7300000000000000019,"dry":false,"note":null,"tags":["a",["b"]],"price":1.50}'

EDITS = [
    *(
        (ORIGINAL, ORIGINAL.replace(old, new, 1))
        for old, new in [
            ('"a",', '"c",'), ("1.50", "1.5"), ("1.50", '"1.50"'), ("000019", "000018"), ("false", "0"),
            ("false", "null"), ("false", "true"), ("null", "{}"), ("null", '"null"'), (',"note":null', ""),
            ("{", '{"new":[1, {}],'), ('["b"]', '["b","c"]'), ('["b"]', "[]"), ('"a",["b"]', '["b"]'),
            ('"a",["b"]', '"z","a",["b"]'), ('"a"', '"\u0430"'), ("5", "5e0"), (",", ", "),
        ]
    ),
    ("[1,2,3]", "[1,9,8,3]"), ("[1,2,3]", "[]"), ("[]", "[1,2]"), ("[1,2]", '{"0":1}'), ("[[1,2],3]", "[3]"),
    ('{"a":1,"b":2}', '{"b":2,"a":1}'), ('{"x":[{"a":1,"b":2}]}', '{ "x":[{"b":2,"a":1}]}'),
    ('{"a":1}', '{ "a" : 1 }\n'), (r'"\u0061"', '"a"'), ('{"a":1,"b":2}', '{"b":2,"a":3}'),
    ('{"a":1,"b":2}', '{"b":2,"c":1,"a":1}'),
    # A name that stands twice, as an agent may write it; no edit may hold one.
    ('{"a":1,"a":2}', '{"a":2}'), ('{"a":1,"b":2,"a":1}', '{"a":1,"b":2}'), ('{"a":1,"b":2,"a":3}', '{"b":2}'),
    # Numbers of one value, and of almost one.
    ("1.50", "15e-1"), ("100", "1e2"), ("-0", "0"), ("0.00", "0e7"), ("1e400", "10e399"), ("1e400", "1e401"),
    ("1", "1.0000001"), ("-1", "1"), ("10", "1"), ("0.1", "0.01"), ("1E+2", "100.0"),
    # Names that a pointer must escape, hold half a pair of surrogates, or no letter at all.
    ('{"a/b":1,"m~n":2,"":3}', '{"a/b":2,"m~n":3,"":4}'), ('{"\\ud800":1}', '{"\\ud800":"\\udc00"}'),
    ('{"\\ud83d\\ude00":1}', '{"\U0001f600":2}'), ('{"__proto__":1}', '{"__proto__":2,"toString":3}'),
    ('"\\u2028 \\u007f \\/ \\u00e9"', '"\\t\\b\\u001f"'),
    # As deep as is looked into, with a value at the bottom.
    ("[" * 64 + "1" + "]" * 64, "[" * 64 + "2" + "]" * 64),
    ("rm -rf", '{"a":1}'), ("null and void", "null"), ("", "{}"),
]  # fmt: skip


def random_edits(seed: int, count: int) -> list[tuple[str, str]]:
    """Pairs of JSON texts that differ in a few places; the first may hold a name twice."""
    chance = random.Random(seed)
    pairs = []
    for _ in range(count):
        value = _value(chance, 4)
        edited = value
        for _ in range(chance.randrange(4)):
            edited = _edited(chance, edited)
        pairs.append((_text(chance, value, twice=chance.random() < 0.3), _text(chance, edited, twice=False)))
    return pairs


NAMES = ["a", "b", "c", "d/e", "~"]
LEAVES: list[Any] = [None, True, False, 0, 1, -1, 1.5, 10**20, "", "a", "1", "null", "\u202e", "\U0001f600", [], {}]


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(3) if depth else 0
    if kind == 0:
        return chance.choice(LEAVES)
    if kind == 1:
        return [_value(chance, depth - 1) for _ in range(chance.randrange(5))]
    return {name: _value(chance, depth - 1) for name in chance.sample(NAMES, chance.randrange(5))}


def _edited(chance: random.Random, value: Any) -> Any:
    """The value with one thing in it changed, added, taken away or moved."""
    if isinstance(value, list) and value and chance.random() < 0.9:
        place = chance.randrange(len(value))
        one = [_edited(chance, value[place])] if chance.random() < 0.6 else []
        return [*value[:place], *one, *value[place + (chance.random() < 0.8) :]]
    if isinstance(value, dict) and value and chance.random() < 0.9:
        names = list(value)
        place = chance.randrange(len(names))
        if chance.random() < 0.2:
            return {name: value[name] for name in [*names[place:], *names[:place]]}
        return value | {chance.choice([names[place], *NAMES]): _edited(chance, value[names[place]])}
    return _value(chance, 1)


def _text(chance: random.Random, value: Any, *, twice: bool) -> str:
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, 2]))
    if twice and isinstance(value, dict) and value:
        name = chance.choice(list(value))
        return f"{text.rstrip()[:-1]}, {json.dumps(name)}: {chance.choice(['1', 'null', json.dumps(value[name])])}}}"
    return text
