"""Without what the pages ask before they send something that can never be undone."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, without

_FORMS = "suspensions/pages/closing_forms.py"
_VIEW = "suspensions/pages/views/uncertain.py"
_CLOSING = "tests/pages/test_closing.py"


def _closing(guard: str, file: str, old: str, new: str) -> Mutant:
    return without(guard, file, old, new, _CLOSING)


MUTANTS = (
    _closing("the typed confirmation of a closure", _VIEW, '({"confirm": last_word} if last_word else {})', "{}"),
    _closing(
        "the comparison of the typed characters with the run's",
        _FORMS,
        "if typed.confirm.lower() == six_of(run_id):",
        "if typed.confirm:",
    ),
    _closing("the run's last six characters, rather than any six", _FORMS, "return run_id[-6:]", "return run_id[:6]"),
    _closing(
        "the role operator before the closing page",
        _VIEW,
        "    visit.caller.require(read.run.scope, Role.OPERATOR)\n",
        "",
    ),
    _closing("the difference between checking and closing", _VIEW, 'if posted.get("do") == "close":', "if True:"),
    _closing(
        "the pin of the run's revision in the closing form",
        _FORMS,
        "        run_revision=pins.run_revision,\n",
        "        run_revision=run.revision,\n",
    ),
    _closing(
        "the pin of the start in the closing form",
        _VIEW,
        "view = ClosingView(visit, read, typed, read_pins(posted))",
        "view = ClosingView(visit, read, typed)",
    ),
    _closing(
        "the scope that the closing form carries",
        _VIEW,
        'if posted.get("scope") != read.run.scope.text:',
        "if False:",
    ),
    _closing(
        "the refusal of a text and another file as the proof",
        _FORMS,
        "if typed.proof and typed.proof != text:",
        "if False:",
    ),
    _closing("the bound of a proof's file", _FORMS, "if len(content) > MOST_CHARACTERS:", "if False:"),
    _closing("the refusal of a time that is there twice", _FORMS, "    if once != again:\n", "    if False:\n"),
    _closing(
        "the refusal of a time that the clocks skip",
        _FORMS,
        "if once.astimezone(zone).replace(tzinfo=None) != local:",
        "if False:",
    ),
)
