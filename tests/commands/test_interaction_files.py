"""``import_interactions`` and ``export_interactions``: questions as files, safe against whatever lies in the folder."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from suspensions.domain.errors import InteractionConflict
from suspensions.domain.interaction_files import MAX_FILE_BYTES, file_name
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import Interaction, NewInteraction
from suspensions.management.folders import open_folder
from suspensions.operations import interactions, runs
from suspensions.operations.verification import verify_receipts
from tests.commands.test_access_commands import refused, run
from tests.support.builders import caller, make_run

ASSISTANT = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "", "signature": "c2ln=="},
        {"type": "tool_use", "id": "toolu_1", "name": "ask_user", "input": {"question": "Which one?"}},
    ],
}
ORIGIN: dict[str, Any] = {
    "version": 1,
    "session_id": "s-41",
    "run_id": "nightly-7",
    "interaction_id": "ask-1",
    "tool_use_id": "toolu_1",
    "tool_name": "ask_user",
    "tool_input": {"question": "Which one?"},
    "assistant": ASSISTANT,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Plan it \u0000 \U0001f600"}]}, ASSISTANT],
    "created_at": "2025-06-01T12:00:00.123456789+02:00",
    "resolved": False,
}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "The second."}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "questions"
    made.mkdir()
    return made


def put(folder: Path, document: Any = ORIGIN, name: str = "", **changes: Any) -> Path:
    """A file as the origin writes it; a change to None leaves the member out."""
    if isinstance(document, dict):
        members = {**document, **changes}
        document = {member: value for member, value in members.items() if value is not None}
        name = name or f"{document.get('interaction_id')}.json"
    file = folder / name
    file.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return file


def take(folder: Path, scope: str) -> str:
    return run("import_interactions", str(folder), "--scope", scope)[0]


def refuse(folder: Path, scope: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What was said of the files that were not taken."""
    with pytest.raises(CommandError, match="not taken"):
        call_command("import_interactions", str(folder), "--scope", scope)
    return capsys.readouterr().err


def give(folder: Path, scope: str) -> str:
    return run("export_interactions", str(folder), "--scope", scope)[0]


def read(scope: str, interaction_id: str = "ask-1") -> Interaction:
    at = Scope(scope)
    return interactions.read_interaction(caller(at), at, interaction_id)


def all_of(scope: str) -> list[str]:
    at = Scope(scope)
    return [
        each.interaction_id for each in interactions.list_interactions(caller(at), at, None, 50, resolved=True).items
    ]


# -- there and back ----------------------------------------------------------------------------------


def test_a_file_of_the_origin_comes_back_as_it_was(folder: Path, scope: str) -> None:
    put(folder)
    assert take(folder, scope) == "made 1, resolved 0, 0 were there already\n"
    kept = read(scope)
    assert (kept.session_id, kept.run_id, kept.origin_run_id, kept.resolved) == ("s-41", None, "nightly-7", False)
    assert kept.created_by.principal == "system"
    before = json.loads((folder / "ask-1.json").read_bytes())
    assert give(folder, scope) == "wrote 1 interactions\n"
    after = json.loads((folder / "ask-1.json").read_bytes())
    assert after == {**before, "created_at": "2025-06-01T10:00:00.123456Z"}
    assert list(after) == list(ORIGIN)
    assert list(verify_receipts(Scope(scope))) == []


def test_doing_it_again_changes_nothing(folder: Path, scope: str) -> None:
    put(folder)
    put(folder, interaction_id="ask-2", messages=None, session_id=None, run_id=None, tool_name=None, tool_input=None)
    take(folder, scope)
    events = read(scope)
    for _ in range(2):
        assert take(folder, scope) == "made 0, resolved 0, 2 were there already\n"
        give(folder, scope)
    assert read(scope) == events


def test_a_folder_is_worked_through_and_written_back(folder: Path, scope: str) -> None:
    put(folder)
    put(folder, interaction_id="ask-2")
    take(folder, scope)
    at = Scope(scope)
    interactions.answer_interaction(caller(at), at, "ask-1", RESULT)
    give(folder, scope)
    written = json.loads((folder / "ask-1.json").read_bytes())
    assert (written["resolved"], written["answer"]) == (False, RESULT)
    assert "answer" not in json.loads((folder / "ask-2.json").read_bytes())
    # An answer in a file is nobody's word: only a person's counts.
    assert take(folder, f"{scope}/p=other") == "made 2, resolved 0, 0 were there already\n"
    assert read(f"{scope}/p=other").answer is None

    interactions.resolve_interaction(caller(at), at, "ask-1")
    give(folder, scope)
    assert json.loads((folder / "ask-1.json").read_bytes())["resolved"] is True
    assert take(folder, scope) == "made 0, resolved 0, 2 were there already\n"


def test_what_was_resolved_there_is_resolved_here(folder: Path, scope: str) -> None:
    put(folder)
    take(folder, scope)
    put(folder, resolved=True)
    put(folder, interaction_id="ask-2", resolved=True)
    assert take(folder, scope) == "made 1, resolved 1, 0 were there already\n"
    assert read(scope).resolved and read(scope, "ask-2").resolved
    # What was resolved here is not opened again by an older file.
    put(folder)
    assert take(folder, scope) == "made 0, resolved 0, 2 were there already\n"
    assert read(scope).resolved
    assert list(verify_receipts(Scope(scope))) == []


def test_a_run_of_this_scope_is_bound(folder: Path, scope: str) -> None:
    at = Scope(scope)
    mine, elsewhere = make_run(at), make_run(Scope(f"{scope}/p=x"))
    put(folder, run_id=mine.id)
    put(folder, interaction_id="ask-2", run_id=elsewhere.id)
    take(folder, scope)
    assert (read(scope).run_id, read(scope).origin_run_id) == (mine.id, None)
    assert (read(scope, "ask-2").run_id, read(scope, "ask-2").origin_run_id) == (None, elsewhere.id)
    give(folder, scope)
    assert json.loads((folder / "ask-1.json").read_bytes())["run_id"] == mine.id
    assert json.loads((folder / "ask-2.json").read_bytes())["run_id"] == elsewhere.id
    runs.finish_run(caller(at), at, mine.id, RunState.COMPLETED, output="", error="")
    assert read(scope).resolved and not read(scope, "ask-2").resolved


def test_a_question_from_the_api_goes_through_a_file_unchanged(folder: Path, scope: str) -> None:
    body = {"interaction_id": "ask-1", "tool_use_id": "toolu_1", "assistant": ASSISTANT, "tool_input": None}
    new = NewInteraction(Scope(scope), "ask-1", "toolu_1", dumps(ASSISTANT))
    interactions.save_interaction(caller(Scope(scope)), new, content_digest(dumps(body)))
    give(folder, scope)
    assert take(folder, scope) == "made 0, resolved 0, 1 were there already\n"
    give_back = folder / "ask-1.json"
    assert take(folder, f"{scope}/p=1") == "made 1, resolved 0, 0 were there already\n"
    assert set(json.loads(give_back.read_bytes())) == {
        *("version", "interaction_id", "tool_use_id", "assistant", "created_at", "resolved")
    }


def test_what_was_imported_is_the_record_of_the_same_save(folder: Path, scope: str) -> None:
    put(folder, session_id=None, run_id=None, tool_name=None, messages=None)
    take(folder, scope)
    at = Scope(scope)
    body = {name: ORIGIN[name] for name in ("interaction_id", "tool_use_id", "tool_input", "assistant")}
    new = NewInteraction(at, "ask-1", "toolu_1", dumps(ASSISTANT), tool_input=dumps(ORIGIN["tool_input"]))
    assert not interactions.save_interaction(caller(at), new, content_digest(dumps(body))).fresh
    with pytest.raises(InteractionConflict):
        interactions.save_interaction(caller(at), new, content_digest(dumps({**body, "tool_name": "x"})))


@pytest.mark.parametrize("created_at", ["0001-01-01T00:00:00Z", None, "2999-01-01T00:00:00Z"])
def test_a_time_that_cannot_be_is_the_imports(created_at: str | None, folder: Path, scope: str) -> None:
    put(folder, created_at=created_at)
    take(folder, scope)
    assert read(scope).created_at.year not in (1, 2999)


# -- what is no such file ----------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another version": ({"version": 2}, "/version"),
    "no version": ({"version": None}, "/version"),
    "no id": ({"interaction_id": None}, "/interaction_id"),
    "another's name": ({"interaction_id": "other"}, "named after"),
    "no tool use": ({"tool_use_id": None}, "/tool_use_id"),
    "another tool use": ({"tool_use_id": "toolu_2"}, "tool use"),
    "two tool uses": ({"assistant": {"content": [*ASSISTANT["content"], *ASSISTANT["content"]]}}, "tool use"),
    "no assistant": ({"assistant": None}, "/assistant"),
    "an assistant of texts": ({"assistant": "hello"}, "/assistant"),
    "messages of texts": ({"messages": "hello"}, "/messages"),
    "a session that is a number": ({"session_id": 7}, "/session_id"),
    "a time without a zone": ({"created_at": "2025-06-01T12:00:00"}, "/created_at"),
    "a resolved that is a text": ({"resolved": "no"}, "/resolved"),
    "an unknown member": ({"resolve": True}, "/resolve"),
    "a tool's name with a control character": ({"tool_name": "a\u0007"}, "/tool_name"),
}


@pytest.mark.parametrize(("changes", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_a_file_says_wrongly_is_reported_and_the_others_are_taken(
    changes: dict[str, Any], says: str, folder: Path, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, name="ask-1.json", **changes)
    put(folder, interaction_id="ask-2")
    told = refuse(folder, scope, capsys)
    assert "'ask-1.json': " in told and says in told and told.count("\n") == 1
    assert all_of(scope) == ["ask-2"]


def test_half_written_files_are_reported(folder: Path, scope: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = put(folder).read_bytes()
    for number, content in enumerate(
        (b"", whole[:1], whole[: len(whole) // 2], whole[:-1], whole + b"x", b"\xff" + whole, b"[]", b"null")
    ):
        put(folder, content, f"half-{number}.json")
    put(folder, b'{"version":1,"version":1}', "doubled.json")
    told = refuse(folder, scope, capsys)
    assert told.count("half-") == 8 and "doubled" in told
    assert all_of(scope) == ["ask-1"]


def test_no_link_is_followed(folder: Path, scope: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    put(outside)
    (folder / "ask-1.json").symlink_to(outside / "ask-1.json")
    (folder / "dangling.json").symlink_to(outside / "nothing")
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    told = refuse(folder, scope, capsys)
    assert all(f"'{name}.json'" in told for name in ("ask-1", "dangling", "folder", "pipe"))
    assert all_of(scope) == []
    linked = tmp_path / "linked"
    linked.symlink_to(outside)
    for path in (linked, f"{linked}/"):
        assert str(path) in refused("import_interactions", str(path), "--scope", scope)
        assert str(path) in refused("export_interactions", str(path), "--scope", scope)
    assert all_of(scope) == []


def test_a_file_beyond_the_limit_is_reported_and_not_read_whole(
    folder: Path, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.truncate(put(folder, b"", "large.json"), MAX_FILE_BYTES + 1)
    assert "larger than 33,554,432 bytes" in refuse(folder, scope, capsys)


def test_other_files_are_left_alone(folder: Path, scope: str) -> None:
    for name in ("README", "ask.json.tmp", ".ask-1.json", "ask-1.JSON"):
        put(folder, b"{", name)
    assert take(folder, scope) == "made 0, resolved 0, 0 were there already\n"


def test_another_question_under_the_same_id_is_reported(
    folder: Path, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder)
    take(folder, scope)
    kept = read(scope)
    others: tuple[dict[str, Any], ...] = (
        {"session_id": "s-42"},
        {"run_id": "other"},
        {"tool_input": {}},
        {"messages": None},
    )
    for changes in others:
        put(folder, **changes)
        assert "ask-1.json" in refuse(folder, scope, capsys)
    assert read(scope) == kept


def test_a_question_of_a_run_that_has_ended_is_reported(
    folder: Path, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at = Scope(scope)
    ended = make_run(at)
    runs.finish_run(caller(at), at, ended.id, RunState.COMPLETED, output="", error="")
    put(folder, run_id=ended.id)
    assert "ask-1.json" in refuse(folder, scope, capsys)


@pytest.mark.parametrize("command", ["import_interactions", "export_interactions"])
def test_what_makes_no_sense_is_refused(command: str, folder: Path, scope: str) -> None:
    assert "No such file" in refused(command, str(folder / "nothing"), "--scope", scope)
    assert "Not a directory" in refused(command, str(put(folder)), "--scope", scope)
    assert "key=value" in refused(command, str(folder), "--scope", "acme")


# -- writing -----------------------------------------------------------------------------------------


def save(scope: str, interaction_id: str) -> None:
    new = NewInteraction(Scope(scope), interaction_id, "toolu_1", dumps(ASSISTANT))
    interactions.save_interaction(caller(Scope(scope)), new, "0" * 64)


@pytest.mark.parametrize(
    "interaction_id", [".hidden", "with space", "caf\u00e9", "a:b", "a\\b", "$HOME", "x" * 201, "*", "\u202egpj"]
)
def test_an_id_that_is_no_safe_file_name_is_reported_not_written(
    interaction_id: str, folder: Path, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert file_name(interaction_id) is None
    save(scope, interaction_id)
    save(scope, "fine")
    with pytest.raises(CommandError, match="1 were not written"):
        call_command("export_interactions", str(folder), "--scope", scope)
    assert f"{interaction_id!a}: its id is no safe file name" in capsys.readouterr().err
    assert [file.name for file in folder.iterdir()] == ["fine.json"]


@pytest.mark.parametrize(
    "interaction_id", ["a", "-rf", "7", "evt_01kb9x6q3hf5trm0c8zv2w4yej", "toolu_1A-b.c@d+e~f=g", "x" * 200]
)
def test_ordinary_ids_are(interaction_id: str) -> None:
    assert file_name(interaction_id) == f"{interaction_id}.json"


def test_ids_that_differ_in_case_alone_do_not_take_each_others_file(
    folder: Path, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(scope, "Ask")
    save(scope, "ask")
    with pytest.raises(CommandError):
        call_command("export_interactions", str(folder), "--scope", scope)
    assert "'ask': " in capsys.readouterr().err
    assert [file.name for file in folder.iterdir()] == ["Ask.json"]


def test_only_exactly_this_scope_is_written(folder: Path, scope: str) -> None:
    save(scope, "here")
    save(f"{scope}/p=below", "below")
    give(folder, scope)
    assert [file.name for file in folder.iterdir()] == ["here.json"]


def test_a_link_in_the_way_is_replaced_not_followed(folder: Path, scope: str, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (folder / "ask-1.json").symlink_to(precious)
    save(scope, "ask-1")
    give(folder, scope)
    assert precious.read_text() == "kept"
    assert not (folder / "ask-1.json").is_symlink()
    assert (folder / "ask-1.json").stat().st_mode & 0o777 == 0o600


def test_a_folder_in_the_way_is_reported(folder: Path, scope: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ask-1.json").mkdir()
    save(scope, "ask-1")
    save(scope, "ask-2")
    with pytest.raises(CommandError, match="1 were not written"):
        call_command("export_interactions", str(folder), "--scope", scope)
    assert "ask-1.json: Is a directory" in capsys.readouterr().err
    assert sorted(file.name for file in folder.iterdir()) == ["ask-1.json", "ask-2.json"]


def test_a_file_reaches_the_disk_before_its_name_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def note_fsync(descriptor: int) -> None:
        done.append("fsync folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "fsync file")  # noqa: PTH112
        fsync(descriptor)

    def note_rename(source: str, target: str, **where: int) -> None:
        done.append("rename")
        rename(source, target, **where)

    monkeypatch.setattr("os.fsync", note_fsync)
    monkeypatch.setattr("os.rename", note_rename)
    with open_folder(str(folder)) as opened:
        opened.write("a.json", b"{}")
    assert done == ["fsync file", "rename", "fsync folder"]


@pytest.mark.parametrize("step", ["os.fsync", "os.rename"])
def test_an_end_in_the_middle_leaves_the_old_file_whole(
    step: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_folder(str(folder)) as opened:
        opened.write("a.json", b"old")

        def fail(*args: Any, **more: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(step, fail)
        with pytest.raises(OSError, match="No space"):
            opened.write("a.json", b"new")
    assert [(file.name, file.read_bytes()) for file in folder.iterdir()] == [("a.json", b"old")]


def test_a_folder_that_is_swapped_for_a_link_leads_nowhere_else(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    put(elsewhere, b"secret", "a.json")
    with open_folder(str(folder)) as opened:
        moved = folder.rename(tmp_path / secrets.token_hex(4))
        folder.symlink_to(elsewhere)
        assert opened.names(".json") == []
        opened.write("b.json", b"{}")
    assert [file.name for file in moved.iterdir()] == ["b.json"]
    assert [file.name for file in elsewhere.iterdir()] == ["a.json"]
