"""The closing form as it was posted, and the request that it makes. Source: pages.md, "Uncertain resumes"; store.md 6.

A request has thirteen members. Six are typed; the others were read when the page was opened and travel with the form
as its pins, so that the same form sent again is the same request, and an old page closes nothing that came later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from suspensions.domain import ids
from suspensions.domain.arguments import normalise_typed
from suspensions.domain.digests import sha256_hex
from suspensions.domain.errors import CortexError, InvalidId, InvalidRequest
from suspensions.domain.instants import format_instant, parse_instant
from suspensions.domain.proofs import MOST_CHARACTERS, require_proof_ref, stated_claims
from suspensions.domain.texts import invalid, require_identifier, require_text
from suspensions.domain.values import Admission, ClaimVersion, ClosureRequest, Run, Start
from suspensions.pages.contexts import KeptText

LABELS = {
    "issuer": "Issuer",
    "issuer_revision": "Issuer revision",
    "proof_ref": "Proof reference",
    "proof": "Proof",
    "observed_at": "Observed at",
    "expires_at": "Expires at",
    "confirm": "Last six characters",
}
MEMBERS = tuple(name for name in LABELS if name != "confirm")
"""The fields that become members of the request, `proof` by its digest."""
_MISSING = {
    "issuer": "Missing. Name who signed the proof.",
    "issuer_revision": "Missing. It stands in the proof's key id, after the slash.",
    "proof_ref": "Missing. Say where the proof is filed.",
    "proof": "Missing. Paste the proof, or choose its file.",
    "observed_at": "Missing. When was everything seen to be quiet?",
    "expires_at": "Missing. Until when does the proof hold?",
}
NOT_A_TIME = "Not a time. Write it like 2026-03-12 14:24:00, or with its offset like 2026-03-12T13:24:00Z."
_AROUND = " \t\r\n"
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LOCAL = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class TypedClosing:
    """What stands in the fields. The proof is without the white space around it, which no JWS has."""

    issuer: str = ""
    issuer_revision: str = ""
    proof_ref: str = ""
    proof: str = ""
    observed_at: str = ""
    expires_at: str = ""
    confirm: str = ""
    file_fault: str = ""
    """What is wrong with the file that was chosen."""


@dataclass(frozen=True, slots=True)
class Pins:
    """What the form was opened with."""

    suspension_id: str
    version_revision: int
    admission_digest: str
    start_digest: str
    run_revision: int

    def fields(self) -> list[tuple[str, str]]:
        return [(each.name, str(getattr(self, each.name))) for each in fields(self)]


@dataclass(frozen=True, slots=True)
class ReadClosing:
    """The typed members as values, as far as they could be read, and by field what must be mended."""

    values: dict[str, Any] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return not self.faults and not self.missing

    def all_faults(self) -> dict[str, str]:
        """With what is missing, once the form is meant to be whole."""
        return {**{name: _MISSING[name] for name in self.missing}, **self.faults}


def pins_of(run: Run, admission: Admission, start: Start) -> Pins:
    version = admission.version
    return Pins(version.suspension_id, version.run_revision, admission.digest, start.digest, run.revision)


def read_pins(posted: Mapping[str, str]) -> Pins:
    """Raises: InvalidRequest, InvalidId where what no person types is not what was sent out."""

    def whole(name: str) -> int:
        text = posted.get(name, "")
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise invalid(f"/{name}", "must be a whole number")
        return int(text)

    def digest(name: str) -> str:
        if not _SHA256.fullmatch(posted.get(name, "")):
            raise invalid(f"/{name}", "must be 64 lower-case hex digits")
        return posted[name]

    return Pins(
        ids.require_id(posted.get("suspension_id"), ids.SUSPENSION),
        whole("version_revision"),
        digest("admission_digest"),
        digest("start_digest"),
        whole("run_revision"),
    )


def read_typed(posted: Mapping[str, str], file: UploadedFile | None = None) -> TypedClosing:
    """The fields; a file's text stands for the proof's."""
    typed = TypedClosing(
        **{name: posted.get(name, "").strip(_AROUND) for name in LABELS if name != "proof"},
        proof=normalise_typed(posted.get("proof", "")).strip(_AROUND),
    )
    return typed if file is None else _with_file(typed, file)


def _with_file(typed: TypedClosing, file: UploadedFile) -> TypedClosing:
    content = file.read(MOST_CHARACTERS + 1)
    if len(content) > MOST_CHARACTERS:
        return replace(typed, file_fault="The file is larger than a proof may be (1 MiB).")
    try:
        text = content.decode().strip(_AROUND)
    except UnicodeDecodeError:
        return replace(typed, file_fault="The file is no text, so it is no proof in compact form.")
    if typed.proof and typed.proof != text:
        return replace(typed, file_fault="The text and the chosen file differ. Leave one of them out.")
    return replace(typed, proof=text)


def with_claims(typed: TypedClosing) -> TypedClosing:
    """What the proof says of itself, in the fields that are empty; who closes still sees each and may change it."""
    said = claimed_fields(typed.proof)
    return replace(typed, **{name: text for name, text in said.items() if not getattr(typed, name)})


def claimed_fields(proof: str) -> dict[str, str]:
    """The proof's own words for the form's fields, as far as they can be read. Nothing vouches for them here."""
    claims = stated_claims(proof.encode()) or {}
    said = {}
    for name in ("issuer", "issuer_revision", "observed_at", "expires_at"):
        value = claims.get(name)
        if isinstance(value, str) and (name.startswith("issuer") or _is_instant(value)):
            said[name] = value
    return said


_HOLDS_FOR = timedelta(hours=1)


def claims_to_sign(run: Run, pins: Pins, typed: TypedClosing, holders: Sequence[str], now: datetime) -> str:
    """What the issuer would sign to close just this, as JSON; whether it is true the issuer alone can say."""
    claims = {
        "issuer": typed.issuer,
        "issuer_revision": typed.issuer_revision,
        "admission_digest": pins.admission_digest,
        "start_digest": pins.start_digest,
        "run_id": run.id,
        "suspension_id": pins.suspension_id,
        "run_revision": pins.run_revision,
        "observed_at": format_instant(now),
        "expires_at": format_instant(now + _HOLDS_FOR),
        "workers": [{"owner": holder, "permanent": True} for holder in holders],
    }
    return json.dumps(claims, indent=2, ensure_ascii=False)


def _is_instant(text: str) -> bool:
    try:
        return format_instant(parse_instant(text)) == text
    except InvalidRequest:
        return False


def read_members(typed: TypedClosing, zone: tzinfo) -> ReadClosing:
    """The typed members as values. Times without an offset are of the reader's zone."""
    readers: dict[str, Callable[[str], Any]] = {
        "issuer": lambda text: require_identifier(text, "/issuer"),
        "issuer_revision": lambda text: require_identifier(text, "/issuer_revision"),
        "proof_ref": lambda text: require_proof_ref(text, "/proof_ref"),
        "proof": lambda text: require_text(text, "/proof", shortest=1, longest=MOST_CHARACTERS),
        "observed_at": lambda text: read_time(text, zone),
        "expires_at": lambda text: read_time(text, zone),
    }
    read = ReadClosing()
    for name in MEMBERS:
        text = getattr(typed, name)
        if not text:
            read.missing.append(name)
            continue
        try:
            read.values[name] = readers[name](text)
        except (InvalidRequest, InvalidId) as refusal:
            read.faults[name] = _words(refusal)
    if typed.file_fault:
        read.faults["proof"] = typed.file_fault
    return read


def _words(refusal: CortexError) -> str:
    return f"This {refusal.faults[0].detail}." if refusal.faults and refusal.faults[0].pointer else refusal.detail


def read_time(text: str, zone: tzinfo) -> datetime:
    """An instant with its offset, or a time of the zone. Raises: InvalidRequest."""
    if _LOCAL.fullmatch(text):
        try:
            return _of_zone(datetime.fromisoformat(text.replace(" ", "T")), zone)
        except ValueError:
            raise InvalidRequest(NOT_A_TIME) from None
    try:
        return parse_instant(text.replace(" ", "T", 1))
    except InvalidRequest:
        raise InvalidRequest(NOT_A_TIME) from None


def _of_zone(local: datetime, zone: tzinfo) -> datetime:
    """Where clocks are changed a time may be there twice or never: then it must be written with its offset."""
    once, again = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if once.astimezone(zone).replace(tzinfo=None) != local:
        raise InvalidRequest("The clocks skip this time here. Write it with its offset, as 2026-03-29T03:30:00+02:00.")
    if once != again:
        raise InvalidRequest("This time is there twice here. Write it with its offset, as 2026-10-25T02:30:00+01:00.")
    return once


def request_of(run: Run, pins: Pins, read: ReadClosing, principal: str) -> ClosureRequest:
    """The request of a form that is whole."""
    values = read.values
    return ClosureRequest(
        schema_version=1,
        scope=run.scope,
        version=ClaimVersion(run.id, pins.suspension_id, pins.version_revision),
        admission_digest=pins.admission_digest,
        start_digest=pins.start_digest,
        run_revision=pins.run_revision,
        actor=principal,
        issuer=values["issuer"],
        issuer_revision=values["issuer_revision"],
        proof_ref=values["proof_ref"],
        proof_digest=sha256_hex(values["proof"].encode()),
        observed_at=values["observed_at"],
        expires_at=values["expires_at"],
    )


def six_of(run_id: str) -> str:
    """What is typed to say that this very run is meant."""
    return run_id[-6:]


def confirm_fault(typed: TypedClosing, run_id: str) -> str:
    """What is wrong with the last word before the end; nothing where the run's last six characters stand there."""
    if typed.confirm.lower() == six_of(run_id):
        return ""
    if not typed.confirm:
        return f"Missing. Type {six_of(run_id)}, so that it is this run and no other."
    return f"This is not {six_of(run_id)}. Look whether this is the run that you mean."


def kept_closing(posted: Mapping[str, str]) -> list[KeptText]:
    """What was typed into a closing form and not taken, to be copied."""
    if "admission_digest" not in posted:
        return []
    return kept_texts(read_typed(posted))


def kept_texts(typed: TypedClosing) -> list[KeptText]:
    return [KeptText(LABELS[name], text) for name in MEMBERS if (text := getattr(typed, name))]
