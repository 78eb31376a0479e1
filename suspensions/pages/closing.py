"""Makes the page that closes an uncertain resume. Source: pages.md, "Uncertain resumes and closing".

What is wrong is said in two ways. A form that makes no request is stopped here, at its fields. What the store and the
authorizer will judge is said beforehand as well, for whoever still mends it, and stops nothing: a repeated closure must
come through to its receipt, however old its proof is by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from django.utils import timezone

from suspensions.domain.digests import RESUME_CLOSURE, sha256_hex
from suspensions.domain.errors import CortexError
from suspensions.domain.instants import format_instant
from suspensions.domain.proofs import Dispatch, stated_claims, stated_workers, time_faults
from suspensions.domain.standing import Closing
from suspensions.domain.values import Start
from suspensions.operations.closures import freeze_closure, list_holders
from suspensions.pages.closing_banners import doubt, over
from suspensions.pages.closing_forms import (
    LABELS,
    MEMBERS,
    Pins,
    ReadClosing,
    TypedClosing,
    claimed_fields,
    claims_to_sign,
    kept_texts,
    pins_of,
    read_members,
    request_of,
    six_of,
)
from suspensions.pages.contexts import (
    Banner,
    ClosingField,
    ClosingForm,
    ClosingPage,
    Frozen,
    FrozenMember,
    HolderRow,
    Link,
    Note,
    ProofBox,
)
from suspensions.pages.formats import clock_time, duration
from suspensions.pages.visits import Visit
from suspensions.queries.closing_page import ClosingRead

TITLE = "Close this resume as incomplete"
_TITLES_OVER = {Closing.CLOSED: "This resume is closed", Closing.NO_START: "There is nothing to close"}


class ClosingView:
    """A run's last resume before the eyes of somebody who may close it, with what they typed so far."""

    def __init__(
        self, visit: Visit, read: ClosingRead, typed: TypedClosing | None = None, pins: Pins | None = None
    ) -> None:
        self.visit = visit
        self.read = read
        self.stand = read.stand(visit.now)
        self.typed = typed or _first(read)
        self._pins = pins

    @property
    def may_close(self) -> bool:
        """Whether a form stands here: also while a lease is live, since it may lapse while somebody types."""
        return self.stand in (Closing.OPEN, Closing.HELD)

    @property
    def start(self) -> Start:
        assert isinstance(self.read.outcome, Start)
        return self.read.outcome

    @cached_property
    def pins(self) -> Pins:
        assert self.read.admission is not None
        return self._pins or pins_of(self.read.run, self.read.admission, self.start)

    @cached_property
    def members(self) -> ReadClosing:
        return read_members(self.typed, timezone.get_current_timezone())

    @cached_property
    def holders(self) -> tuple[Dispatch, ...]:
        run = self.read.run
        return list_holders(self.visit.caller, run.scope, run.id, self.start.version.suspension_id)

    # -- what will be judged, said beforehand --------------------------------------------------------------

    @cached_property
    def _claims(self) -> Mapping[str, Any] | None:
        return stated_claims(self.typed.proof.encode()) if self.typed.proof else None

    @cached_property
    def advice(self) -> dict[str, str]:
        """By field, why this would be refused as it stands; the last word is the authorizer's and the store's."""
        values = self.members.values
        found = time_faults(self.start.started_at, values.get("observed_at"), values.get("expires_at"), self.visit.now)
        revision = self._issuer_revision()
        if revision is not None and revision.revoked_at is not None:
            found["issuer_revision"] = "Revoked. What it signed is not taken any more."
        return {**found, **self._against_the_proof()}

    def _against_the_proof(self) -> dict[str, str]:
        """Where the proof says something else than the form, or than what it would close."""
        claims = self._claims
        if claims is None:
            return {}
        found = {}
        for name, value in self.members.values.items():
            text = format_instant(value) if isinstance(value, datetime) else value
            if name in claims and claims[name] != text:
                found[name] = f"The proof says {claims[name]}."
        bound = {**dict(self.pins.fields()), "run_id": self.read.run.id, "run_revision": self.pins.run_revision}
        other = [name for name, value in bound.items() if name in claims and claims[name] != value]
        missing = [each.holder for each in self.holders if each.holder not in stated_workers(claims)]
        if other:
            found["proof"] = f"The proof is about another resume: its {other[0]} is not the one on the right."
        elif missing:
            named = len(self.holders) - len(missing)
            found["proof"] = (
                f"The proof lists {named} of the {len(self.holders)} workers that held this run. "
                f"Missing: {', '.join(missing)}."
            )
        return found

    def _issuer_revision(self) -> Any:
        typed = (self.typed.issuer, self.typed.issuer_revision)
        return next((each for each in self.read.issuers if (each.name, each.revision) == typed), None)

    # -- the form --------------------------------------------------------------------------------------------

    def form(self, faults: Mapping[str, str]) -> ClosingForm:
        """The form; `faults` stand at their fields, and the first of one has the focus."""
        run = self.read.run
        focus = next((name for name in LABELS if name in faults), "") if len(faults) == 1 else ""
        names = {name: self._field(name, faults, focus) for name in LABELS}
        return ClosingForm(
            action=self.visit.href("close", run.id),
            leave_href=self.visit.href("uncertain"),
            pins=[("scope", run.scope.text), *self.pins.fields()],
            before=[names["issuer"], names["issuer_revision"], names["proof_ref"]],
            proof=names["proof"],
            proof_box=self.proof_box(),
            after=[names["observed_at"], names["expires_at"]],
            confirm=names["confirm"],
            six=six_of(run.id),
            frozen=self.frozen(faults),
            faults=[(name, LABELS[name]) for name in LABELS if name in faults],
        )

    def _field(self, name: str, faults: Mapping[str, str], focus: str) -> ClosingField:
        return ClosingField(
            name=name,
            label=LABELS[name],
            value=getattr(self.typed, name),
            note=self.note(name, faults),
            aside=_ASIDES.get(name, ""),
            placeholder="2026-03-12 14:24:00" if name.endswith("_at") else "",
            choices=self._choices(name),
            focus=name == focus,
            wide=name == "proof_ref",
        )

    def _choices(self, name: str) -> list[str]:
        live = [each for each in self.read.issuers if each.revoked_at is None]
        if name == "issuer":
            return list(dict.fromkeys(each.name for each in live))
        if name == "issuer_revision":
            return [each.revision for each in live if self.typed.issuer in ("", each.name)]
        return []

    def note(self, name: str, faults: Mapping[str, str]) -> Note:
        if name in faults:
            return Note(name, faults[name], "fault")
        hint = {
            "issuer": self._issuer_hint,
            "issuer_revision": self._revision_hint,
            "proof": self._proof_hint,
            "observed_at": self._time_hint,
            "expires_at": self._time_hint,
        }.get(name)
        return Note(name) if hint is None else hint(name)

    def _issuer_hint(self, name: str) -> Note:
        scopes = [each.scope.text for each in self.read.issuers if each.name == self.typed.issuer]
        if scopes:
            return Note(name, f"Registered for {scopes[0]}")
        if not self.read.issuers:
            return Note(
                name, "No issuer is registered for this scope. An admin registers one under People and access.", "soon"
            )
        if self.typed.issuer:
            return Note(name, "Not registered for this scope.", "soon")
        return Note(name, f"Registered: {', '.join(self._choices(name)) or 'none that is not revoked'}")

    def _revision_hint(self, name: str) -> Note:
        live = [each for each in self.read.issuers if each.name == self.typed.issuer and each.revoked_at is None]
        if not self.typed.issuer or not self.typed.issuer_revision or not self.read.issuers:
            return Note(name)
        if self._issuer_revision() is None:
            return Note(name, "Not registered for this scope.", "soon")
        if live and live[0].revision == self.typed.issuer_revision:
            return Note(name, "Newest, not revoked")
        return Note(name, f"Not revoked; {live[0].revision} is newer" if live else "")

    def _proof_hint(self, name: str) -> Note:
        if self.typed.proof and self._claims is None:
            return Note(name, "This is no JWS in compact form, so what it says cannot be shown here.", "soon")
        return Note(name)

    def _time_hint(self, name: str) -> Note:
        zone, now = self.visit.likes.time_zone, self.visit.now
        value = self.members.values.get(name)
        if value is None:
            return Note(name, f"{zone} time, or with its offset")
        away = f"In {duration(value - now)}." if value > now else f"{duration(now - value)} ago."
        local = clock_time(value, now, timezone.get_current_timezone(), seconds=True)
        there = "" if zone == "UTC" else f" {zone} time {local}."
        return Note(name, f"{away}{there} UTC {clock_time(value, now, UTC, seconds=True)}")

    def proof_box(self) -> ProofBox:
        proof = self.typed.proof.encode()
        workers = None if self._claims is None else stated_workers(self._claims)
        return ProofBox(
            size=len(proof),
            sha256=sha256_hex(proof) if proof else "",
            holders=[
                HolderRow(
                    each.holder,
                    each.since,
                    "" if workers is None else "quiet" if each.holder in workers else "missing",
                )
                for each in self.holders
            ],
            claims=list(claimed_fields(self.typed.proof).items()),
        )

    # -- the frozen request ------------------------------------------------------------------------------------

    def frozen(self, faults: Mapping[str, str], *, live: bool = False) -> Frozen:
        """The request and, once it is whole, the digest that the store's `freeze` gives it. `live`: with the notes of
        every field, for a form that stands there already."""
        run, pins, read = self.read.run, self.pins, self.members
        digest = ""
        if read.whole:
            request = request_of(run, pins, read, self.visit.caller.principal)
            _, digest = freeze_closure(self.visit.caller, request)
        shown = {
            name: format_instant(value) if isinstance(value, datetime) else str(value)
            for name, value in read.values.items()
        }
        if "proof" in shown:
            shown["proof"] = sha256_hex(shown["proof"].encode())
        fixed = [
            ("schema_version", "1"),
            ("scope", run.scope.text),
            ("version.run_id", run.id),
            ("version.suspension_id", pins.suspension_id),
            ("version.run_revision", str(pins.version_revision)),
            ("admission_digest", pins.admission_digest),
            ("start_digest", pins.start_digest),
            ("run_revision", str(pins.run_revision)),
            ("actor", self.visit.caller.principal),
        ]
        return Frozen(
            digest=digest,
            domain=RESUME_CLOSURE,
            members=[
                *(FrozenMember(name, value) for name, value in fixed),
                *(
                    FrozenMember(
                        "proof_digest" if name == "proof" else name,
                        shown.get(name, ""),
                        mine=True,
                        wrong=name in faults,
                        absent="not there yet" if name in read.missing else "not readable",
                    )
                    for name in MEMBERS
                ),
            ],
            missing=[LABELS[name].lower() for name in MEMBERS if name not in shown],
            claims=claims_to_sign(run, pins, self.typed, [each.holder for each in self.holders], self.visit.now),
            notes=[self.note(name, faults) for name in MEMBERS] if live else (),
            proof=self.proof_box() if live else None,
        )

    # -- the whole page ------------------------------------------------------------------------------------------

    def page(
        self, faults: Mapping[str, str], *, banner: Banner | None = None, refusal: CortexError | None = None
    ) -> ClosingPage:
        run = self.read.run
        chrome = self.visit.chrome("Uncertain")
        crumbs = [Link("Uncertain", self.visit.href("uncertain")), Link(run.id, self.visit.href("run", run.id))]
        if not self.may_close:
            kept = kept_texts(self.typed) if refusal is not None else []
            title = _TITLES_OVER.get(self.stand, "There is nothing to close any more")
            return ClosingPage(
                chrome, title, crumbs, banner=over(self.visit, self.read, self.stand, refusal), kept=kept
            )
        form = self.form(faults)
        start, work = self.start, self.read.work
        starter = start.lease_owner or f"principal:{start.started_by.principal}"
        heard = [each.since for each in self.holders] + ([work.updated_at] if work else [])
        done = {each["call_id"] for each in work.done} if work else set()
        return ClosingPage(
            chrome,
            TITLE,
            crumbs,
            started_at=start.started_at,
            starter=starter,
            takers=[each for each in form.proof_box.holders if each.since > start.started_at],
            heard_at=max([start.started_at, *heard]),
            lapsed_at=run.lease.expires_at if run.lease and self.stand is Closing.OPEN else None,
            workers=[each.owner for each in form.proof_box.holders],
            handed_out=[call.name for call in work.started if call.id not in done] if work else (),
            banner=banner or doubt(self.visit, self.read, self.stand),
            form=form,
        )


_ASIDES: Mapping[str, str] = {"proof_ref": "where the proof is filed", "proof": "JWS, as text or file"}


def _first(read: ClosingRead) -> TypedClosing:
    """The form before anybody typed: where one issuer alone can vouch, its newest revision stands there already."""
    live = [each for each in read.issuers if each.revoked_at is None]
    names: Sequence[str] = list(dict.fromkeys(each.name for each in live))
    return TypedClosing(issuer=names[0], issuer_revision=live[0].revision) if len(names) == 1 else TypedClosing()
