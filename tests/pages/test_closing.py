"""Closing an uncertain resume on its page: faults at their fields, refusals, the receipt, the original one again."""

from __future__ import annotations

import html
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from suspensions.closing.proof import sign_proof
from suspensions.domain import clock
from suspensions.domain.digests import sha256_hex
from suspensions.domain.errors import CommitUnknown
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import SYSTEM, Closure, ClosureRequest, Holder, Reason
from suspensions.operations import access, closures, leases, runs
from suspensions.pages.views import uncertain as uncertain_page
from suspensions.queries.runs import get_run
from tests.support import builders as b
from tests.support import markup
from tests.support.closing import DENYING_AUTHORIZER
from tests.support.markup import Markup
from tests.support.people import make_person
from tests.support.uncertain import WORKER, Uncertain, make_uncertain, revoke


def text(response: Any) -> str:
    content: bytes = response.content
    return html.unescape(re.sub(r"<wbr>", "", content.decode()))


def note(response: Any, field: str) -> str:
    """What stands under a field, where it is a fault."""
    found = re.search(rf'<p id="note-{field}"[^>]*class="fault".*?<span>(.*?)</span></p>', text(response), re.DOTALL)
    return found[1] if found else ""


def closure_of(uncertain: Uncertain) -> Closure:
    version = uncertain.admission.version
    return closures.get_closure(uncertain.operator.caller, uncertain.scope, version.run_id, version.suspension_id)


def is_open(uncertain: Uncertain) -> bool:
    run = get_run(uncertain.scope, uncertain.run_id)
    return run.state is RunState.RUNNING


@pytest.fixture
def uncertain(scope: str) -> Uncertain:
    return make_uncertain(scope)


# -- the form ----------------------------------------------------------------------------------------------


def test_the_form_says_what_closing_does_and_who_held_the_run(uncertain: Uncertain) -> None:
    page = uncertain.operator.client.get(uncertain.address)
    assert page.status_code == 200
    for words in (
        "Close this resume as incomplete",
        f'Started by <span class="data">{WORKER}</span>',
        "Closing does not",
        f'Type <code class="six-of">{uncertain.run_id[-6:]}</code>',
        "Nobody may start it again.",
        uncertain.start.digest,
        uncertain.admission.digest,
    ):
        assert words in text(page)
    assert 'value="close"' in text(page)
    found = Markup(page.content.decode())
    for rule in (markup.beyond_the_policy, markup.without_a_way_for_browsers, markup.loose_ends):
        assert rule(found) == []
    assert markup.forms_without_a_token(found) == 0


def test_the_one_issuer_that_can_vouch_stands_there_already(uncertain: Uncertain) -> None:
    page = text(uncertain.operator.client.get(uncertain.address))
    assert f'value="{uncertain.issuer.name}"' in page
    assert "Newest, not revoked" in page


def test_the_claims_that_the_page_shows_close_it_once_the_issuer_has_signed_them(uncertain: Uncertain) -> None:
    page = text(uncertain.operator.client.get(uncertain.address))
    [shown] = re.findall(r'<pre [^>]*id="claims"[^>]*>(.*?)</pre>', page, re.DOTALL)
    claims = json.loads(shown)
    proof = sign_proof(claims, uncertain.issuer.private_pem, uncertain.issuer.kid)
    request, _ = uncertain.whole()
    said = {name: claims[name] for name in ("observed_at", "expires_at")}
    closed = uncertain.operator.client.post(uncertain.address, uncertain.posted(request, proof) | said)
    assert (closed.status_code, is_open(uncertain)) == (303, False)


def test_the_lists_and_the_run_lead_there_for_an_operator_alone(uncertain: Uncertain, scope: str) -> None:
    victor = make_person(scope, Role.VIEWER)
    for place in ("/uncertain/", f"/runs/{uncertain.run_id}"):
        assert f'href="{uncertain.address}"' in text(uncertain.operator.client.get(place))
        assert f'href="{uncertain.address}"' not in text(victor.client.get(place))


# -- closing -----------------------------------------------------------------------------------------------


def test_it_ends_on_the_receipt_and_a_repeat_shows_the_original_one(uncertain: Uncertain) -> None:
    request, proof = uncertain.whole()
    posted = uncertain.posted(request, proof)
    closed = uncertain.operator.client.post(uncertain.address, posted)
    assert (closed.status_code, closed.headers["Location"]) == (303, uncertain.receipt)
    first = closure_of(uncertain)
    assert (first.request, first.request_digest) == (request, request.digest())
    assert "Closed as incomplete." in text(uncertain.operator.client.get(uncertain.receipt))

    # Also when its proof has expired meanwhile: it is the record, not another closing.
    with b.at(clock.now() + timedelta(hours=2)):
        again = uncertain.operator.client.post(uncertain.address, posted)
    assert (again.status_code, again.headers["Location"]) == (303, uncertain.receipt)
    assert "Here is the original receipt." in text(uncertain.operator.client.get(uncertain.receipt))
    assert closure_of(uncertain) == first


def test_a_repeat_without_authority_is_refused(uncertain: Uncertain) -> None:
    posted = uncertain.posted()
    assert uncertain.operator.client.post(uncertain.address, posted).status_code == 303
    revoke(uncertain.issuer, uncertain.operator)
    refused = uncertain.operator.client.post(uncertain.address, posted)
    assert refused.status_code == 403
    assert "You closed this" in text(refused)
    assert "Your closure was refused: The issuer's revision is revoked." in text(refused)


def test_a_file_is_a_proof_too_and_white_space_around_it_is_left_out(uncertain: Uncertain) -> None:
    request, proof = uncertain.whole()
    file = SimpleUploadedFile("proof.jws", f"{proof}\r\n".encode())
    posted = {**uncertain.posted(request, proof, proof=""), "proof_file": file}
    assert uncertain.operator.client.post(uncertain.address, posted).status_code == 303
    assert closure_of(uncertain).request.proof_digest == sha256_hex(proof.encode())


def test_times_without_an_offset_are_the_readers(uncertain: Uncertain) -> None:
    uncertain.operator.client.post("/profile/", {"time_zone": "Asia/Kathmandu", "theme": "system"})
    request, proof = uncertain.whole()
    times = {}
    for name in ("observed_at", "expires_at"):
        there = getattr(request, name) + timedelta(hours=5, minutes=45)
        times[name] = f"{there:%Y-%m-%d %H:%M:%S}"
    posted = uncertain.posted(request, proof, **times)
    assert uncertain.operator.client.post(uncertain.address, posted).status_code == 303
    assert closure_of(uncertain).request == request


# -- faults of the form ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("issuer", "", "Name who signed the proof"),
        ("issuer", "a\x01b", "This holds a control character."),
        ("issuer_revision", "", "after the slash"),
        ("proof_ref", "", "where the proof is filed"),
        ("proof_ref", "x" * 257, "must have 1 to 256 characters"),
        ("proof_ref", "arun_01kkgx23b0f8n9p4nkypsgrn7m", "form prf_"),
        ("proof", " \n ", "Paste the proof"),
        ("observed_at", "", "seen to be quiet"),
        ("observed_at", "yesterday", "Not a time."),
        ("observed_at", "2026-02-30 12:00", "Not a time."),
        ("expires_at", "", "Until when"),
        ("expires_at", "2026-03-12T13:24:00.1234567Z", "Not a time."),
        ("confirm", "", "Missing. Type"),
        ("confirm", "aaaaaa", "This is not"),
    ],
)
def test_a_fault_stands_at_its_field_and_nothing_is_closed(
    uncertain: Uncertain, field: str, typed: str, words: str
) -> None:
    refused = uncertain.close(**{field: typed})
    assert refused.status_code == 422
    assert words in note(refused, field)
    assert re.search(rf'id="closing-{field}"[^>]*aria-invalid="true"[^>]*autofocus', text(refused))
    assert "1 fault to mend" in text(refused)
    assert is_open(uncertain)


def test_two_faults_are_listed_on_top_too_and_what_was_typed_is_kept(uncertain: Uncertain) -> None:
    refused = uncertain.close(observed_at="yesterday", confirm="nope", proof_ref="OPS <4471>")
    assert "2 things to mend before this can be closed" in text(refused)
    for kept in ('value="yesterday"', 'value="nope"', 'value="OPS <4471>"'):
        assert kept in text(refused)
    assert 'href="#closing-observed_at"' in text(refused)
    assert is_open(uncertain)


def test_the_last_six_characters_may_be_typed_on_a_phone(uncertain: Uncertain) -> None:
    assert uncertain.close(confirm=f" {uncertain.run_id[-6:].upper()} ").status_code == 303


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00", "no text"),
        (b"x" * ((1 << 20) + 1), "larger than a proof may be"),
        (b"another.proof.altogether", "differ"),
    ],
)
def test_a_file_that_is_no_proof_is_a_fault_of_the_proof(uncertain: Uncertain, content: bytes, words: str) -> None:
    posted = {**uncertain.posted(), "proof_file": SimpleUploadedFile("proof.jws", content)}
    refused = uncertain.operator.client.post(uncertain.address, posted)
    assert refused.status_code == 422
    assert words in note(refused, "proof")


@pytest.mark.parametrize(
    ("typed", "words"),
    [("2026-10-25 02:30", "is there twice here"), ("2026-03-29 02:30", "skip this time here")],
)
def test_a_time_that_the_clocks_make_doubtful_needs_its_offset(uncertain: Uncertain, typed: str, words: str) -> None:
    uncertain.operator.client.post("/profile/", {"time_zone": "Europe/Oslo", "theme": "system"})
    assert words in note(uncertain.close(observed_at=typed), "observed_at")


@pytest.mark.parametrize(
    "fields",
    [
        {"do": ""},
        {"do": "anything"},
        {"scope": "w=elsewhere"},
        {"suspension_id": "x"},
        {"version_revision": "-1"},
        {"run_revision": "1e3"},
        {"admission_digest": "A" * 64},
        {"start_digest": ""},
    ],
)
def test_what_no_person_types_must_be_what_was_sent_out(uncertain: Uncertain, fields: dict[str, str]) -> None:
    assert uncertain.close(**fields).status_code == 400
    assert is_open(uncertain)


# -- refusals ----------------------------------------------------------------------------------------------


def test_the_reason_of_a_denial_stands_at_its_field_on_the_operators_page(uncertain: Uncertain) -> None:
    revoke(uncertain.issuer, uncertain.operator)
    refused = uncertain.close()
    assert refused.status_code == 403
    assert note(refused, "issuer_revision") == "The issuer's revision is revoked."
    assert "Nothing was closed" in text(refused)
    assert is_open(uncertain)


def test_a_hosts_own_authorizers_reason_stands_there_too(uncertain: Uncertain, settings: Any) -> None:
    settings.CLOSURE_AUTHORIZER = DENYING_AUTHORIZER
    assert note(uncertain.close(), "proof") == "The key was revoked."


def test_a_proof_that_leaves_a_worker_out_is_told_by_name(uncertain: Uncertain) -> None:
    request = uncertain.request()
    refused = uncertain.operator.client.post(
        uncertain.address, uncertain.posted(request, uncertain.sign(request, "somebody-else"))
    )
    assert refused.status_code == 403
    assert "leaves out 1 worker" in note(refused, "proof")
    assert "not listed" in text(refused)


@pytest.mark.parametrize(
    ("observed", "expires", "field"),
    [
        (timedelta(hours=-2), timedelta(hours=1), "observed_at"),
        (timedelta(minutes=10), timedelta(hours=1), "observed_at"),
        (timedelta(minutes=-9), timedelta(minutes=-1), "expires_at"),
        (timedelta(minutes=-9), timedelta(hours=24), "expires_at"),
    ],
)
def test_times_that_do_not_fit_are_told_at_their_field(
    uncertain: Uncertain, observed: timedelta, expires: timedelta, field: str
) -> None:
    now = clock.now()
    request, proof = uncertain.whole(observed_at=now + observed, expires_at=now + expires)
    refused = uncertain.operator.client.post(uncertain.address, uncertain.posted(request, proof))
    assert refused.status_code == 409
    assert note(refused, field)
    assert "The times of the proof do not fit." in text(refused)
    assert is_open(uncertain)


def test_a_worker_that_lives_again_is_told_and_the_form_stays(uncertain: Uncertain) -> None:
    posted = uncertain.posted()
    leases.reclaim_lease(b.caller(uncertain.scope), uncertain.scope, uncertain.run_id, b.take("osl-4/31", 600))
    request = uncertain.request()
    posted |= {"proof": uncertain.sign(request, WORKER, "osl-4/31")}
    posted |= {name: uncertain.posted(request, "x")[name] for name in ("observed_at", "expires_at", "proof_ref")}
    refused = uncertain.operator.client.post(uncertain.address, posted)
    assert refused.status_code == 409
    assert "A worker holds the run again, so it lives." in text(refused)
    assert posted["proof"] in text(refused)
    page = text(uncertain.operator.client.get(uncertain.address))
    assert "osl-4/31 holds the lease, so nothing can be closed now." in page
    assert 'taken over by <span class="data">osl-4/31</span>' in page


def test_a_reference_that_was_used_is_a_fault_of_the_reference(uncertain: Uncertain, scope: str) -> None:
    other = make_uncertain(scope, operator=uncertain.operator)
    request, proof = other.whole()
    assert other.operator.client.post(other.address, other.posted(request, proof)).status_code == 303
    refused = uncertain.close(proof_ref=request.proof_ref)
    assert refused.status_code == 409
    assert "Used already" in note(refused, "proof_ref")


def test_whoever_is_late_reads_who_closed_it_and_keeps_what_was_typed(uncertain: Uncertain, scope: str) -> None:
    posted = uncertain.posted()
    dana = make_person(scope, Role.OPERATOR, display="Dana Whitlock")
    request, proof = uncertain.whole(actor=dana.name)
    assert dana.client.post(uncertain.address, uncertain.posted(request, proof)).status_code == 303
    refused = uncertain.operator.client.post(uncertain.address, posted)
    assert refused.status_code == 409
    assert re.search(r"Dana Whitlock closed this .* ago\. Your closure was not taken\.", text(refused))
    assert f'href="{uncertain.receipt}"' in text(refused)
    assert posted["proof"] in text(refused)
    assert 'name="do"' not in text(refused)
    shown = uncertain.operator.client.get(uncertain.address)
    assert shown.status_code == 200
    assert "Dana Whitlock closed this" in text(shown)
    assert "not taken" not in text(shown)


def test_a_run_that_finished_meanwhile_is_not_closed(uncertain: Uncertain) -> None:
    posted = uncertain.posted()
    assert uncertain.start.lease_owner is not None and uncertain.start.lease_epoch is not None
    holder = Holder(uncertain.start.lease_owner, uncertain.start.lease_epoch)
    runs.finish_run(b.caller(uncertain.scope), uncertain.scope, uncertain.run_id, RunState.COMPLETED, holder=holder)
    refused = uncertain.operator.client.post(uncertain.address, posted)
    assert refused.status_code == 409
    assert "The run is completed. There is nothing to close. Your closure was not taken." in text(refused)
    assert posted["proof_ref"] in text(refused)
    assert "There is nothing to close." in text(uncertain.operator.client.get(uncertain.address))


def test_a_form_that_was_opened_before_the_run_moved_closes_nothing(uncertain: Uncertain) -> None:
    refused = uncertain.close(run_revision=str(uncertain.admission.claimed_revision - 1))
    assert refused.status_code == 403  # the proof is bound to another moment
    assert is_open(uncertain)


def test_a_closure_that_took_too_long_says_so_and_keeps_what_was_typed(
    uncertain: Uncertain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closures, "LONGEST_CLOSE", -1.0)
    posted = uncertain.posted()
    refused = uncertain.operator.client.post(uncertain.address, posted)
    assert refused.status_code == 503
    assert refused.headers["Retry-After"]
    assert "took longer than 30 seconds; nothing was written" in text(refused)
    assert posted["proof"] in text(refused)
    assert is_open(uncertain)


@pytest.mark.parametrize("committed", [True, False])
def test_where_the_answer_was_lost_the_record_is_looked_for(
    uncertain: Uncertain, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(caller: Caller, request: ClosureRequest, proof: bytes) -> Closure:
        if committed:
            closures.close_resume(caller, request, proof)
        raise CommitUnknown

    monkeypatch.setattr(uncertain_page, "close_resume", lose)
    posted = uncertain.posted()
    answer = uncertain.operator.client.post(uncertain.address, posted)
    if committed:
        assert (answer.status_code, answer.headers["Location"]) == (303, uncertain.receipt)
    else:
        assert answer.status_code == 503
        assert "It is not known whether this was taken" in text(answer)
        assert posted["proof"] in text(answer)


def test_whoever_held_it_from_the_admission_on_did_not_start_it(scope: str) -> None:
    at = Scope.parse(scope)
    olaf = make_person(at, Role.OPERATOR)
    with b.at(clock.now() - timedelta(minutes=30)):
        admission = b.admit(b.make_pause(at, Reason.AGENT_REPLY), lease=b.take("bus-1", 60))
        b.start(admission, lease=b.take(WORKER, 60))
    page = text(olaf.client.get(f"/uncertain/{admission.version.run_id}/close"))
    assert f'Started by <span class="data">{WORKER}</span>' in page
    assert "taken over by" not in page
    assert re.search(r'shut <span class="data">bus-1</span> and <span class="data">osl-2/17</span> out', page)


def test_a_run_that_went_through_many_hands_stays_readable(uncertain: Uncertain) -> None:
    for number in range(5):
        with b.at(clock.now() - timedelta(minutes=20 - number)):
            owner = b.take(f"osl-4/{number}", 1)
            leases.reclaim_lease(b.caller(uncertain.scope), uncertain.scope, uncertain.run_id, owner)
    page = text(uncertain.operator.client.get(uncertain.address))
    assert "taken over by 5 others one after another" in page
    assert "shut all 6 workers out of this run" in page
    assert page.count("no proof to read") == 6


def test_a_run_without_a_start_has_nothing_to_close(scope: str) -> None:
    olaf = make_person(scope, Role.OPERATOR)
    pause = b.make_pause(Scope.parse(scope))
    b.admit(pause)
    page = olaf.client.get(f"/uncertain/{pause.run_id}/close")
    assert page.status_code == 200
    assert "Nothing of this run was started" in text(page)
    waiting = b.make_pause(Scope.parse(scope))
    assert "There is nothing to close" in text(olaf.client.get(f"/uncertain/{waiting.run_id}/close"))


def test_a_run_that_paused_again_has_nothing_to_close(uncertain: Uncertain) -> None:
    posted = uncertain.posted()
    run = get_run(uncertain.scope, uncertain.run_id)
    b.make_pause(uncertain.scope, run=run)
    refused = uncertain.operator.client.post(uncertain.address, posted)
    assert refused.status_code == 409
    assert "The run went on and is paused. There is nothing to close. Your closure was not taken." in text(refused)


def test_one_that_nobody_leased_and_that_was_heard_of_just_now_says_so(scope: str) -> None:
    young = make_uncertain(scope, ago=timedelta(seconds=5), seconds=None)
    page = text(young.operator.client.get(young.address))
    assert re.search(r"This run has been silent for \d+ s only", page)
    assert f"principal:{young.start.started_by.principal}" in page


def test_only_an_operator_of_the_runs_scope_sees_or_sends_the_form(uncertain: Uncertain, scope: str) -> None:
    victor = make_person(scope, Role.VIEWER, Role.APPROVER, Role.AGENT, Role.ADMIN)
    stranger = make_person(b.fresh_scope(), Role.OPERATOR)
    below = make_person(f"{scope}/deeper=x", Role.OPERATOR)
    for person, status in ((victor, 403), (stranger, 404), (below, 404)):
        assert person.client.get(uncertain.address).status_code == status
        for do in ("check", "close"):
            assert uncertain.close(person, do=do).status_code == status
    missing = stranger.client.get("/uncertain/arun_01kkgx23b0f8n9p4nkypsgrn7m/close")
    foreign = stranger.client.get(uncertain.address)
    assert (missing.status_code, foreign.status_code) == (404, 404)
    assert is_open(uncertain)
    assert uncertain.close().status_code == 303
    assert victor.client.get(uncertain.address).status_code == 403


def test_an_operator_whose_grant_ended_meanwhile_is_refused(uncertain: Uncertain) -> None:
    posted = uncertain.posted()
    access.grant_role(uncertain.operator.name, Role.VIEWER, uncertain.scope, SYSTEM)
    access.revoke_role(uncertain.operator.name, Role.OPERATOR, uncertain.scope, SYSTEM)
    assert uncertain.operator.client.post(uncertain.address, posted).status_code == 403
    assert is_open(uncertain)


# -- what is said before anything is closed ----------------------------------------------------------------


def check(uncertain: Uncertain, *, live: bool = True, **fields: str) -> Any:
    headers = {"HX-Request": "true"} if live else {}
    posted = uncertain.posted(**{"do": "check", **fields})
    return uncertain.operator.client.post(uncertain.address, posted, headers=headers)


@pytest.mark.parametrize("live", [True, False], ids=["as one types", "by the button"])
def test_the_digest_is_what_the_store_freezes(uncertain: Uncertain, live: bool) -> None:
    request, proof = uncertain.whole()
    headers = {"HX-Request": "true"} if live else {}
    posted = uncertain.posted(request, proof, do="check", confirm="")
    shown = uncertain.operator.client.post(uncertain.address, posted, headers=headers)
    _, digest = closures.freeze_closure(uncertain.operator.caller, request)
    assert shown.status_code == 200
    assert f'data-digest="{digest}"' in text(shown)
    assert ("<h1>" in text(shown)) is not live
    assert sha256_hex(proof.encode()) in text(shown)
    assert "quiet for good" in text(shown)
    assert note(shown, "confirm") == ""
    assert is_open(uncertain)


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"issuer": "somebody"}, "issuer", "The proof says watchtower"),
        ({"observed_at": "2026-01-01T00:00:00Z"}, "observed_at", "The proof says "),
        ({"expires_at": "tomorrow"}, "expires_at", "Not a time."),
        ({"start_digest": "0" * 64}, "proof", "about another resume: its start_digest"),
    ],
)
@pytest.mark.parametrize("live", [True, False], ids=["as one types", "by the button"])
def test_what_will_be_refused_is_said_beforehand(
    uncertain: Uncertain, live: bool, fields: dict[str, str], field: str, words: str
) -> None:
    assert words in note(check(uncertain, live=live, **fields), field)


def test_a_worker_that_the_proof_leaves_out_is_named_beforehand(uncertain: Uncertain) -> None:
    leases.reclaim_lease(b.caller(uncertain.scope), uncertain.scope, uncertain.run_id, b.take("osl-4/31", 1))
    said = note(check(uncertain), "proof")
    assert said == "The proof lists 1 of the 2 workers that held this run. Missing: osl-4/31."


def test_a_revoked_revision_is_said_beforehand(uncertain: Uncertain) -> None:
    revoke(uncertain.issuer, uncertain.operator)
    assert "Revoked." in note(check(uncertain), "issuer_revision")


def test_an_empty_field_is_missing_and_no_fault_yet(uncertain: Uncertain) -> None:
    shown = check(uncertain, proof="", proof_ref="")
    assert "No digest yet. Missing: proof reference, proof." in text(shown)
    assert 'class="fault"' not in text(shown)


def test_the_proof_fills_fields_that_are_empty_and_no_other(uncertain: Uncertain) -> None:
    request, proof = uncertain.whole()
    posted = uncertain.posted(request, proof, do="check", observed_at="", expires_at="2031-01-01T00:00:00Z")
    shown = text(uncertain.operator.client.post(uncertain.address, posted))
    assert f'id="closing-observed_at" name="observed_at" value="{posted["observed_at"]}' in shown
    assert f'value="{uncertain.posted(request, proof)["observed_at"]}"' in shown
    assert 'value="2031-01-01T00:00:00Z"' in shown


def test_what_is_no_jws_is_said_and_harms_nothing(uncertain: Uncertain) -> None:
    for proof in ("no jws", "a.b.c", "e30.W10.c2ln", "e30.eyJhIjox.c2ln"):
        shown = check(uncertain, proof=proof)
        assert "This is no JWS in compact form" in text(shown)
        assert 'data-digest="' in text(shown)


def test_markup_in_a_proof_stays_text(uncertain: Uncertain) -> None:
    request = uncertain.request()
    proof = uncertain.sign(request, issuer="<img src=x>", observed_at="\u202e<b>")
    content = uncertain.operator.client.post(
        uncertain.address, uncertain.posted(request, proof, do="check", issuer="x"), headers={"HX-Request": "true"}
    ).content.decode()
    assert "<img" not in content
    assert "<b>" not in content


@pytest.mark.parametrize("do", ["check", "close"])
def test_a_form_with_a_fault_says_too_that_all_is_over_and_keeps_what_was_typed(uncertain: Uncertain, do: str) -> None:
    assert uncertain.close().status_code == 303
    shown = uncertain.close(do=do, confirm="nope", proof_ref="OPS-4471")
    assert shown.status_code == 409
    assert "You closed this" in text(shown)
    assert "OPS-4471" in text(shown)


def test_whoever_still_types_learns_beside_the_form_that_all_is_over(uncertain: Uncertain) -> None:
    assert uncertain.close().status_code == 303
    told = check(uncertain)
    assert (told.status_code, told.headers["HX-Retarget"]) == (409, "#problem")
    assert re.search(r'<div id="problem"[^>]*role="alert"', text(told))
    assert "You closed this" in text(told)
    assert f'href="{uncertain.receipt}"' in text(told)


# -- sessions ----------------------------------------------------------------------------------------------


def test_a_form_without_its_token_keeps_what_was_typed(uncertain: Uncertain) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = uncertain.operator.client.cookies
    posted = uncertain.posted()
    refused = strict.post(uncertain.address, posted, headers={"Referer": f"http://testserver{uncertain.address}"})
    assert refused.status_code == 403
    assert "This page was older than your sign-in" in text(refused)
    assert posted["proof"] in text(refused)
    assert is_open(uncertain)
    page = text(strict.get(uncertain.address))
    for name in ("proof", "proof_ref", "observed_at", "confirm"):
        assert posted[name] in page
    assert posted["proof"] not in text(strict.get(uncertain.address))


def test_a_press_after_the_session_ended_leads_to_the_sign_in_and_keeps_what_was_typed(uncertain: Uncertain) -> None:
    nobody = Client()
    headers = {"Referer": f"http://testserver{uncertain.address}"}
    led = nobody.post(uncertain.address, uncertain.posted(), headers=headers)
    assert led.status_code == 303
    assert led.headers["Location"].startswith("/sign-in/?next=%2Funcertain%2F")
    assert is_open(uncertain)
