"""Signing in and out, and how a person likes the pages."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from suspensions.operations import preferences
from suspensions.pages.contexts import Option, ProfilePage, SignInPage
from suspensions.pages.ended_sessions import safe_place
from suspensions.pages.formats import duration
from suspensions.pages.refusals import bare_chrome
from suspensions.pages.rendering import render_page
from suspensions.pages.visits import Visit, signed_in
from suspensions.queries.people import Preferences

WRONG = "Name or password is wrong."


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in and go back to where one was."""
    place = safe_place(request.POST.get("next") or request.GET.get("next") or "/")
    if request.method != "POST":
        return HttpResponseRedirect(place) if request.user.is_authenticated else _form(request, place)
    name, password = request.POST.get("username", ""), request.POST.get("password", "")
    # No account's name holds a NUL, and PostgreSQL fails on being asked for one.
    user = None if "\0" in name else authenticate(request, username=name, password=password)
    if user is None:
        return _form(request, place, WRONG, status=422)
    login(request, user)
    return HttpResponseRedirect(place, status=303)


def locked_out(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any] | None) -> HttpResponse:
    """The sign-in after too many failures: said in its place, with how long to wait."""
    wait = duration(settings.AXES_COOLOFF_TIME)
    place = safe_place(request.POST.get("next") or "/")
    return _form(request, place, f"Too many failed attempts for this name. Try again in {wait}.", status=429)


def _form(request: HttpRequest, place: str, fault: str = "", status: int = 200) -> HttpResponse:
    page = SignInPage(
        chrome=bare_chrome(),
        action=reverse("pages:sign_in"),
        next=place,
        username=request.POST.get("username", ""),
        fault=fault,
        ended="ended" in request.GET or "ended" in request.POST,
        typed_kept="kept" in request.session,
    )
    return render_page(request, "registration/sign_in.html", page, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return HttpResponseRedirect(reverse("pages:sign_in"), status=303)


THEMES = (("system", "As the system has it"), ("light", "Light"), ("dark", "Dark"))


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def profile(visit: Visit) -> HttpResponse:
    """Time zone, theme, single keys; the way to a new password."""
    likes, fault = visit.likes, ""
    if visit.request.method == "POST":
        posted = visit.request.POST
        likes = Preferences(posted.get("time_zone", ""), posted.get("theme", ""), "single_keys" in posted)
        if likes.time_zone in available_timezones():
            preferences.change_preferences(visit.caller, likes)
            messages.success(visit.request, "Saved.")
            return HttpResponseRedirect(reverse("pages:profile"), status=303)
        fault = "This is no time zone that is known here. Choose one of the list, such as Europe/Oslo."
    return _profile(visit, likes, fault)


def _profile(
    visit: Visit, likes: Preferences, zone_fault: str = "", passwords: PasswordChangeForm | None = None
) -> HttpResponse:
    faults = {} if passwords is None else {name: " ".join(map(str, said)) for name, said in passwords.errors.items()}
    page = ProfilePage(
        chrome=visit.chrome(),
        name=visit.caller.principal,
        action=reverse("pages:profile"),
        password_action=reverse("pages:password"),
        zone=likes.time_zone,
        zones=sorted(available_timezones()),
        zone_fault=zone_fault,
        themes=[Option(value, label, selected=likes.theme == value) for value, label in THEMES],
        single_keys=likes.single_keys,
        grants=[(grant.scope.text, grant.role.value) for grant in visit.caller.grants],
        old_fault=faults.get("old_password", ""),
        new_fault=faults.get("new_password1", ""),
        again_fault=faults.get("new_password2", ""),
    )
    faulty = bool(zone_fault or faults)
    return render_page(visit.request, "registration/profile.html", page, status=422 if faulty else 200)


@sensitive_post_parameters()
@require_POST
@signed_in
def password(visit: Visit) -> HttpResponse:
    """Change the password; every other session of the person ends."""
    request = visit.request
    form = PasswordChangeForm(request.user, request.POST)
    if not form.is_valid():
        return _profile(visit, visit.likes, passwords=form)
    update_session_auth_hash(request, form.save())
    messages.success(request, "Your password was changed. Other sessions of yours have ended.")
    return HttpResponseRedirect(reverse("pages:profile"), status=303)
