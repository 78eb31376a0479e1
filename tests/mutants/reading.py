"""Without what makes the reading of JSON strict, and of lists and texts bounded."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, without

_JSON = "suspensions/domain/strict_json.py"
_CURSORS = "suspensions/domain/cursors.py"
_TEXTS = "suspensions/domain/texts.py"
_TEST = "tests/domain/test_strict_json.py"


def _reading(guard: str, old: str, new: str) -> Mutant:
    return without(guard, _JSON, old, new, _TEST)


MUTANTS = (
    _reading(
        "the refusal of a member name that stands twice",
        "    if len(members) != len(pairs):\n        raise _Suspect\n",
        "",
    ),
    _reading("the bound of depth", "    if depth_exceeds(raw, max_depth):", "    if False:"),
    _reading(
        "the refusal of NaN and Infinity",
        "def _refused_constant(_name: str) -> NoReturn:\n    raise _Suspect",
        "def _refused_constant(_name: str) -> Any:\n    return 0",
    ),
    _reading(
        "the refusal of a number beyond the largest double",
        "    value = float(lexeme)\n    if not isfinite(value):\n        raise _Suspect\n    return value",
        "    return float(lexeme)",
    ),
    _reading("the refusal of half a surrogate pair", '    if "\\\\ud" in text or "\\\\uD" in text:', "    if False:"),
    _reading("the refusal of a byte order mark", '    if text.startswith("\\ufeff"):', "    if False:"),
    without(
        "the binding of a cursor to its list, scope and filters",
        _CURSORS,
        "if tag != _tag(binding, payload):",
        "if False:",
        "tests/domain/test_cursors.py",
        "tests/store/test_read_admissions.py",
    ),
    without(
        "the bounds of a limit",
        _TEXTS,
        " and 1 <= value <= limits.MAX_LIMIT:",
        ":",
        "tests/store/test_read_admissions.py",
    ),
    without(
        "the refusal of control characters in ids",
        _TEXTS,
        "if _ALL_CONTROLS.search(text):",
        "if False:",
        "tests/domain",
        "tests/store/test_interactions.py",
    ),
    without(
        "the refusal of a blank id",
        _TEXTS,
        "    if not text.strip():\n",
        "    if False:\n",
        "tests/domain",
    ),
)
