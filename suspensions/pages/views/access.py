"""People and access: grants, tokens that are shown once, proof issuers, webhooks. Forms are an admin's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from suspensions.domain.access import GrantValue, PrincipalValue, TokenValue
from suspensions.domain.digests import sha256_hex
from suspensions.domain.errors import CortexError, InvalidRequest
from suspensions.domain.policy import Role
from suspensions.domain.reach import Reach, reach_of
from suspensions.domain.scopes import Scope
from suspensions.domain.texts import invalid
from suspensions.operations import administration
from suspensions.pages.contexts import AccessPage, Banner, GrantRow, IssuerRow, Link, Option, TokenRow, Typed
from suspensions.pages.lives import actor_words
from suspensions.pages.rendering import render_page
from suspensions.pages.views import webhooks
from suspensions.pages.visits import Visit, signed_in
from suspensions.problems import PROBLEMS
from suspensions.queries import access, issuers
from suspensions.queries.issuers import IssuerValue
from suspensions.queries.people import display_names

Posted = Mapping[str, str]
_DAYS = re.compile(r"[1-9][0-9]{0,3}")


@require_safe
@signed_in
def index(visit: Visit) -> HttpResponse:
    """Who may do what, as far as the reader may know it; the name of a new account stands in the form that is next."""
    account = visit.request.GET.get("account", "")
    return _render(visit, typed=Typed("grant", {"principal": account}) if account else None)


@sensitive_post_parameters("password")
@require_POST
@signed_in
def change(visit: Visit) -> HttpResponse:
    """Do what one of the page's forms asks; a refusal is told beside the form, which keeps what was typed."""
    posted = visit.request.POST.dict() | {"types": " ".join(visit.request.POST.getlist("types"))}
    action = _ACTIONS.get(posted.get("do", ""))
    if action is None:
        raise InvalidRequest("The form is none of this page's.")
    try:
        done = action(visit, posted)
    except CortexError as refusal:
        return _refused(visit, posted, refusal)
    if done.token:
        # Shown by this very answer and never again, so there is no page to go on to.
        return _render(visit, shown_token=done.token, shown_for=posted["principal"])
    if done.answer is not None:
        return done.answer
    messages.success(visit.request, done.words)
    return HttpResponseRedirect(done.href or visit.href("access"), status=303)


class _Done:
    """What to say after a change, and where; a token's text where one was made; a whole answer where there is one."""

    def __init__(self, words: str, token: str = "", answer: HttpResponse | None = None, href: str = "") -> None:
        self.words = words
        self.token = token
        self.answer = answer
        self.href = href


def _refused(visit: Visit, posted: Posted, refusal: CortexError) -> HttpResponse:
    problem = PROBLEMS[refusal.code]
    text = refusal.detail
    field = ""
    if refusal.faults:
        field = refusal.faults[0].pointer.rpartition("/")[2]
        text = refusal.faults[0].detail
        text = f"{text[0].upper()}{text[1:]}."
    elif problem.status == 404:
        field, text = _missing(visit, posted, refusal)
    kept = {name: value for name, value in posted.items() if name not in ("password", "csrfmiddlewaretoken")}
    status = problem.status if problem.status in (403, 409, 503) else 422
    return _render(visit, typed=Typed(posted.get("do", ""), kept, text, field), status=status)


def _missing(visit: Visit, posted: Posted, refusal: CortexError) -> tuple[str, str]:
    """Which of the two was not found, with its field. An admin may know which accounts there are, nobody else may."""
    name = posted.get("principal", "").strip()
    if name and reach_of(visit.caller, Role.ADMIN) and access.find_principal(name) is None:
        return "principal", f"There is no account {name}. Make it first, under Make an account."
    if "scope" in posted:
        return "scope", "No admin grant of yours covers this scope."
    return "", refusal.detail


# -- what the forms do -------------------------------------------------------------------------------------


def _add_principal(visit: Visit, posted: Posted) -> _Done:
    name, service = posted.get("name", "").strip(), posted.get("kind") == "service"
    made = administration.make_principal(visit.caller, name, service=service, password=posted.get("password", ""))
    words = f"{name} was made. It can do nothing yet: grant it a role."
    href = f"{visit.href('access', account=name)}#h-grant"
    return _Done(words if made.fresh else f"{name} was there already, and is left as it is.", href=href)


def _grant(visit: Visit, posted: Posted) -> _Done:
    name, role, scope = posted.get("principal", "").strip(), _role(posted), _scope(posted)
    made = administration.grant_role(visit.caller, name, role, scope)
    words = f"{name} is {role.value} in {scope.text}"
    return _Done(f"{words}." if made.fresh else f"{words} already.")


def _revoke(visit: Visit, posted: Posted) -> _Done:
    name, role, scope = posted.get("principal", ""), _role(posted), _scope(posted)
    administration.revoke_role(visit.caller, name, role, scope)
    return _Done(f"{name} is not {role.value} in {scope.text} any more.")


def _issue(visit: Visit, posted: Posted) -> _Done:
    name, token_name = posted.get("principal", ""), posted.get("token_name", "").strip()
    days = posted.get("days", "").strip()
    if days and not _DAYS.fullmatch(days):
        raise invalid("/days", "must be a whole number of days, or empty for no end")
    expires_in = timedelta(days=int(days)) if days else None
    text = administration.issue_token(visit.caller, name, token_name, expires_in)
    return _Done("", token=text)


def _end_token(visit: Visit, posted: Posted) -> _Done:
    administration.revoke_token(visit.caller, posted.get("principal", ""), posted.get("token_name", ""))
    return _Done(f"Token {posted.get('token_name')} of {posted.get('principal')} works no more.")


def _add_issuer(visit: Visit, posted: Posted) -> _Done:
    name, revision = posted.get("issuer", "").strip(), posted.get("revision", "").strip()
    administration.add_issuer(visit.caller, name, revision, _scope(posted), posted.get("public_key", ""))
    return _Done(f"Proofs signed by {name}/{revision} are taken from now on.")


def _end_issuer(visit: Visit, posted: Posted) -> _Done:
    administration.revoke_issuer(visit.caller, posted.get("issuer", ""), posted.get("revision", ""))
    return _Done(f"{posted.get('issuer')}/{posted.get('revision')} is revoked for good.")


def _add_webhook(visit: Visit, posted: Posted) -> _Done:
    return _Done("", answer=webhooks.add(visit, _scope(posted), posted))


_ACTIONS: Mapping[str, Callable[[Visit, Posted], _Done]] = {
    "principal": _add_principal,
    "grant": _grant,
    "revoke": _revoke,
    "token": _issue,
    "end-token": _end_token,
    "issuer": _add_issuer,
    "end-issuer": _end_issuer,
    "webhook": _add_webhook,
}


_ROW_FORMS = ("revoke", "end-token", "end-issuer")
"""Forms that are one button in a row, so that a refusal has no field to stand at."""


def _role(posted: Posted) -> Role:
    try:
        return Role(posted.get("role", ""))
    except ValueError:
        raise invalid("/role", "must be one of the roles") from None


def _scope(posted: Posted) -> Scope:
    try:
        return Scope.parse(posted.get("scope", "").strip())
    except CortexError as refusal:
        raise invalid("/scope", refusal.detail[0].lower() + refusal.detail[1:].rstrip(".")) from None


# -- what the page shows -------------------------------------------------------------------------------------


def _render(
    visit: Visit,
    *,
    typed: Typed | None = None,
    shown_token: str = "",
    shown_for: str = "",
    status: int = 200,
) -> HttpResponse:
    admin = reach_of(visit.caller, Role.ADMIN)
    everybody = {person.name: person for person in access.list_principals()} if admin else {}
    every_grant = access.list_grants()
    grants = [grant for grant in every_grant if _may_see(grant, admin, visit.caller.principal)]
    beyond = {grant.principal for grant in every_grant if not any(own.covers(grant.scope) for own in admin)}
    mine = set(everybody) - beyond
    held: dict[tuple[str, Role], list[Scope]] = {}
    for grant in every_grant:
        held.setdefault((grant.principal, grant.role), []).append(grant.scope)
    tokens = [
        token for token in access.list_tokens() if token.principal in mine or token.principal == visit.caller.principal
    ]
    registered = [one for one in issuers.list_issuers() if _covered(one.scope, admin)]
    names = display_names(_principals(grants, tokens, registered))
    banner = None
    if not admin:
        text = "Only an admin changes grants and tokens. This is what you hold."
        banner = Banner("info", "You may look at your own.", text, icon="user")
    if typed is not None and typed.fault and (typed.form in _ROW_FORMS or typed.fault_field):
        # The field may lie far below.
        to_field = Link("Go to the field", f"#{typed.form}-{typed.fault_field}")
        links = [] if typed.form in _ROW_FORMS else [to_field]
        banner = Banner("stop", "Nothing was changed.", typed.fault, alert=True, links=links)
    page = AccessPage(
        chrome=visit.chrome("People and access"),
        grants=[_grant_row(visit, grant, names, everybody, admin, held) for grant in grants],
        tokens=[_token_row(visit, token, names, mine) for token in tokens],
        issuers=[_issuer_row(one, names) for one in registered],
        is_admin=bool(admin),
        scopes=[scope.text for scope in admin],
        roles=[Option(role.value, role.value) for role in Role],
        services=sorted(name for name in mine if everybody[name].is_service or name == visit.caller.principal),
        people=sorted(everybody),
        action=visit.href("access_change"),
        typed=typed or Typed(),
        banner=banner,
        shown_token=shown_token,
        shown_for=shown_for,
        shown_idle=bool(shown_for) and all(grant.principal != shown_for for grant in every_grant),
        roleless=[] if not admin else _roleless(everybody, every_grant),
        me_address=visit.request.build_absolute_uri("/api/v1/me"),
        webhooks=webhooks.webhook_rows(visit) if admin else (),
        webhook_types=webhooks.type_options(typed),
    )
    return render_page(visit.request, "suspensions/access.html", page, status=status)


def _roleless(everybody: Mapping[str, PrincipalValue], every_grant: Sequence[GrantValue]) -> list[str]:
    """The accounts that hold no role anywhere: a new one is among them."""
    holders = {grant.principal for grant in every_grant}
    return sorted(name for name, person in everybody.items() if person.is_active and name not in holders)


def _may_see(grant: GrantValue, admin: Reach, reader: str) -> bool:
    """One's own, those within one's reach as an admin, and those that reach into it from above."""
    return grant.principal == reader or any(scope.covers(grant.scope) or grant.scope.covers(scope) for scope in admin)


def _covered(scope: Scope, admin: Reach) -> bool:
    return any(own.covers(scope) or scope.covers(own) for own in admin)


def _principals(grants: list[GrantValue], tokens: list[TokenValue], registered: list[IssuerValue]) -> set[str]:
    """Everybody who is named on the page."""
    actors = [grant.created_by for grant in grants] + [token.created_by for token in tokens]
    actors += [one.created_by for one in registered] + [one.revoked_by for one in registered if one.revoked_by]
    held = {grant.principal for grant in grants} | {token.principal for token in tokens}
    return held | {actor.principal for actor in actors}


def _grant_row(
    visit: Visit,
    grant: GrantValue,
    names: Mapping[str, str],
    everybody: Mapping[str, PrincipalValue],
    admin: Reach,
    held: Mapping[tuple[str, Role], Sequence[Scope]],
) -> GrantRow:
    person = everybody.get(grant.principal)
    return GrantRow(
        principal=grant.principal,
        name=names.get(grant.principal, ""),
        service=person.is_service if person else False,
        active=person.is_active if person else True,
        role=grant.role.value,
        scope=grant.scope.text,
        by=actor_words(grant.created_by, names, "a command"),
        at=grant.created_at,
        own=grant.principal == visit.caller.principal,
        may_revoke=any(scope.covers(grant.scope) for scope in admin),
        lost=_lost(visit, grant, names, held[grant.principal, grant.role]),
    )


_ALLOWS = {
    Role.VIEWER: "read what is",
    Role.AGENT: "create, start or finish runs",
    Role.BUS: "admit agents' replies",
    Role.APPROVER: "decide",
    Role.OPERATOR: "cancel, expire or close runs",
    Role.ADMIN: "manage access",
}


def _lost(visit: Visit, grant: GrantValue, names: Mapping[str, str], alike: Sequence[Scope]) -> str:
    """What the holder cannot do any more without this grant; nothing where another `alike`, of its role, covers it."""
    for scope in alike:
        if scope != grant.scope and scope.covers(grant.scope):
            return f"Nothing changes by it: {grant.role.value} in {scope.text} covers this too."
    own = grant.principal == visit.caller.principal
    who = "You" if own else names.get(grant.principal, grant.principal)
    return f"{who} will not be able to {_ALLOWS[grant.role]} in {grant.scope.text} any more."


def _token_row(visit: Visit, token: TokenValue, names: Mapping[str, str], mine: set[str]) -> TokenRow:
    state = "live" if token.is_live(visit.now) else "revoked" if token.revoked_at else "expired"
    return TokenRow(
        principal=token.principal,
        name=token.name,
        prefix=token.prefix,
        at=token.created_at,
        by=actor_words(token.created_by, names, "a command"),
        expires_at=token.expires_at,
        last_used_at=token.last_used_at,
        state=state,
        may_revoke=state != "revoked" and (token.principal in mine or token.principal == visit.caller.principal),
    )


def _issuer_row(one: IssuerValue, names: Mapping[str, str]) -> IssuerRow:
    return IssuerRow(
        name=one.name,
        revision=one.revision,
        scope=one.scope.text,
        fingerprint=sha256_hex(one.public_key.encode()),
        at=one.created_at,
        by=actor_words(one.created_by, names, "a command"),
        revoked_at=one.revoked_at,
        revoked_by=actor_words(one.revoked_by, names, "a command") if one.revoked_by else "",
        may_revoke=one.revoked_at is None,
    )
