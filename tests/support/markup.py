"""What holds for the markup of every page, whatever it says."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class Markup(HTMLParser):
    """Elements with their attributes, in the order of the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def values(self, name: str) -> list[str]:
        return [value for _, attributes in self.elements if (value := attributes.get(name)) is not None]


def beyond_the_policy(page: Markup) -> list[str]:
    """Whatever the Content-Security-Policy would not let through, or would lead away from the host."""
    found = []
    for tag, attributes in page.elements:
        if tag == "style" or "style" in attributes:
            found.append(f"style on {tag}")
        found += [f"{name} on {tag}" for name in attributes if name.startswith(("on", "hx-on"))]
        if tag == "script" and not attributes.get("src"):
            found.append("a script within the page")
        for name in ("href", "src", "action", "hx-get", "hx-post"):
            value = attributes.get(name) or ""
            if not re.match(r"(/(?!/)|#|$)", value):
                found.append(f"{tag} {name}={value} leaves the host")
    return found


def without_a_way_for_browsers(page: Markup) -> list[str]:
    """What htmx does and a browser without scripts could not do."""
    found = []
    for tag, attributes in page.elements:
        address = attributes.get("hx-post")
        form = (tag, attributes.get("action"), attributes.get("method")) == ("form", address, "post")
        button = (tag, attributes.get("type"), attributes.get("formaction")) == ("button", "submit", address)
        if address is not None and not form and not button:
            found.append(f"hx-post on {tag}")
        polls = "data-poll" in attributes
        if "hx-get" in attributes and not polls and (tag, attributes.get("href")) != ("a", attributes["hx-get"]):
            found.append(f"hx-get on {tag}")
    return found


def forms_without_a_token(page: Markup) -> int:
    posts = [1 for tag, attributes in page.elements if tag == "form" and attributes.get("method") == "post"]
    return len(posts) - page.values("name").count("csrfmiddlewaretoken")


def loose_ends(page: Markup) -> list[str]:
    """Ids that stand twice, and references that lead nowhere."""
    ids = page.values("id")
    found = [f"id {one} stands twice" for one in sorted({one for one in ids if ids.count(one) > 1})]
    for name in ("for", "aria-labelledby", "aria-describedby", "popovertarget", "form", "list"):
        found += [f"{name}={value}" for value in page.values(name) if not set(value.split()) <= set(ids)]
    icons = {value.removeprefix("#") for value in page.values("href") if value.startswith("#i-")}
    return found + sorted(icons - set(ids))


def headings(page: Markup) -> int:
    """How many headings of the first level there are."""
    return [tag for tag, _ in page.elements].count("h1")
