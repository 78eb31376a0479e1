"""Template tags: icons, instants in the reader's zone, durations, digests, ids, marked odd text.

Every tag that prints markup builds it with `format_html`, so a text from a model is always escaped.
"""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from suspensions.domain.limits import MAX_NOTE
from suspensions.domain.odd_text import segments
from suspensions.pages import formats
from suspensions.pages.contexts import Deadline, Folded, Typed

register = template.Library()

register.filter("duration", formats.duration)
register.filter("rough", formats.rough)
register.filter("grouped", formats.grouped)
register.filter("short_digest", formats.short_digest)
register.filter("short_id", formats.short_id)

_STATE_ICONS = {
    "created": "circle-dashed",
    "running": "circle-play",
    "paused": "circle-pause",
    "completed": "circle-check",
    "failed": "circle-x",
    "cancelled": "ban",
    "incomplete": "contrast",
    "uncertain": "triangle-alert",
}
_RECEIPT_ICONS = {"admission": "ticket-check", "start": "play", "expiry": "timer-off", "closure": "lock"}
_REASONS = {
    "approval": ("hand", "Approval"),
    "external_tool": ("wrench", "External tool"),
    "agent_reply": ("bot", "Agent reply"),
}


@register.simple_tag
def icon(name: str) -> SafeString:
    """One of the page's symbols. It says nothing to a screen reader: the word stands beside it."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="#i-{}"/></svg>', name)


@register.simple_tag
def instant(value: datetime, now: datetime | None = None, seconds: bool = False) -> SafeString:
    """The time in the reader's zone, the date too when it is not today; the UTC instant on hover."""
    zone = timezone.get_current_timezone()
    text = formats.clock_time(value, now or timezone.now(), zone, seconds=seconds)
    utc = formats.utc_text(value)
    return format_html('<time datetime="{}" title="{}">{}</time>', utc, utc, text)


@register.simple_tag
def by(deadline: Deadline, now: datetime) -> SafeString:
    """The instant of a deadline, with seconds once they matter."""
    return instant(deadline.at, now, seconds=formats.urgency(deadline.at - now) == "now")


@register.simple_tag
def clock_face(value: datetime, seconds: bool, now: datetime) -> str:
    """The time as plain text, for a drawing: no element of HTML may stand in an SVG's text."""
    return formats.clock_time(value, now, timezone.get_current_timezone(), seconds=seconds)


@register.simple_tag
def utc(value: datetime) -> SafeString:
    """The instant in full in UTC, as receipts show it."""
    text = formats.utc_text(value)
    return format_html('<time class="data" datetime="{}">{}</time>', text, text)


@register.filter
def ago(value: datetime, now: datetime) -> str:
    """How long ago, as a duration without needless seconds: "28 min"."""
    return formats.rough(now - value)


@register.simple_tag
def left(deadline: Deadline | None, now: datetime) -> SafeString:
    """The time left, in the shape its urgency gives it. A script counts it down without a request."""
    if deadline is None:
        return format_html('<span class="{}">No deadline</span>', "left muted")
    remaining = deadline.at - now
    urgency = formats.urgency(remaining)
    text = "Time is up" if urgency == "past" else formats.duration(remaining)
    suffix = "" if urgency == "past" else f" left {deadline.after}".rstrip()
    return format_html(
        '<span class="left{}" data-until="{}">{}<span data-text>{}</span><span class="vh" data-suffix>{}</span></span>',
        f" left-{urgency}" if urgency else "",
        formats.utc_text(deadline.at),
        icon("clock"),
        text,
        suffix,
    )


@register.simple_tag
def clock(deadline: Deadline, now: datetime) -> SafeString:
    """The one large number of a page: the time left, counted down by the same script."""
    remaining = deadline.at - now
    urgency = formats.urgency(remaining)
    text = "Time is up" if urgency == "past" else formats.duration(remaining)
    return format_html(
        '<p class="clock{}" data-until="{}" data-shape="clock"><span data-text>{}</span></p>',
        f" clock-{urgency}" if urgency else "",
        formats.utc_text(deadline.at),
        text,
    )


@register.simple_tag
def digest(value: str) -> SafeString:
    """A digest in eight groups of eight, for comparing by eye."""
    groups = format_html_join("", "<span>{}</span>", ((group,) for group in formats.digest_groups(value)))
    return format_html('<span class="digest">{}</span>', groups)


@register.filter
def broken(value: str) -> SafeString:
    """A long digest that may break in its middle; copied text is unchanged. Other texts stay whole."""
    if len(value) != 64 or not value.isalnum():
        return odd(value)
    return format_html("{}<wbr>{}", value[:32], value[32:])


@register.filter
def scope(value: str) -> SafeString:
    """A scope that may break after its slashes."""
    return format_html_join(mark_safe("/<wbr>"), "{}", ((level,) for level in value.split("/")))


@register.filter
def odd(text: str) -> SafeString:
    """The text with every character that hides or misleads made visible in place."""
    if text.isascii() and text.isprintable():
        return format_html("{}", text)
    return format_html_join(
        "",
        "{}",
        (
            (format_html('<span class="odd">{}</span>', part.label) if part.odd else part.text,)
            for part in segments(text)
        ),
    )


@register.simple_tag
def folded(value: Folded, unit: str = "characters") -> SafeString:
    """A text whose middle is one press away. It works without a script."""
    if not value.middle:
        return odd(value.head)
    return format_html(
        '{}<details class="fold"><summary>{} {} folded, show</summary>{}</details>{}',
        odd(value.head),
        formats.grouped(len(value.middle)),
        unit,
        odd(value.middle),
        odd(value.tail),
    )


@register.simple_tag
def run_state(name: str) -> SafeString:
    """A run's state: a round sign and the word, no box."""
    return format_html(
        '<span class="state state-{}">{}{}</span>', name, icon(_STATE_ICONS.get(name, "circle-dashed")), name
    )


@register.simple_tag
def receipt(kind: str, href: str = "", words: str = "") -> SafeString:
    """A receipt: a box with a capital, and a link where it leads somewhere; `words` say it to who may not know it."""
    inside = format_html("{}{}", icon(_RECEIPT_ICONS[kind]), words or kind.capitalize())
    if href:
        return format_html('<a class="receipt" href="{}">{}</a>', href, inside)
    return format_html('<span class="receipt">{}</span>', inside)


@register.simple_tag
def note_limit() -> int:
    """How many characters a note may have."""
    return MAX_NOTE


@register.simple_tag
def reason(name: str, calls: int = 1) -> SafeString:
    """A pause's reason with its sign, and the number of calls where there are several."""
    sign, word = _REASONS[name]
    return format_html('<span class="reason">{}{}</span>', icon(sign), word if calls < 2 else f"{word}, {calls} calls")


@register.simple_tag
def typed_value(typed: Typed, form: str, name: str) -> str:
    """What a field was sent with, where its form was refused."""
    return (typed.values or {}).get(name, "") if typed.form == form else ""


@register.simple_tag
def typed_fault(typed: Typed, form: str, name: str) -> str:
    """What is wrong with a field."""
    return typed.fault if typed.form == form and typed.fault_field == name else ""
