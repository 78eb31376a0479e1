"""Every template with its samples: what holds for all markup, whatever a page says."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import render_to_string

from tests.support import markup
from tests.support.markup import Markup
from tests.support.page_samples import SAMPLES

TEMPLATES = Path(settings.BASE_DIR) / "templates"
FRAGMENTS = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("_*.html"))


def rendered(name: str) -> str:
    sample = SAMPLES[name]()
    context = {"page": sample.page, "csrf_token": "a-token"} if sample.page else {}
    return render_to_string(sample.template, context)


@pytest.fixture(params=sorted(SAMPLES))
def page(request: pytest.FixtureRequest) -> Markup:
    return Markup(rendered(request.param))


def test_no_page_needs_more_than_the_policy_allows(page: Markup) -> None:
    assert markup.beyond_the_policy(page) == []


def test_everything_that_htmx_does_a_browser_does_without_it(page: Markup) -> None:
    assert markup.without_a_way_for_browsers(page) == []


def test_every_form_that_posts_carries_a_token(page: Markup) -> None:
    assert markup.forms_without_a_token(page) == 0


def test_ids_are_unique_and_every_reference_leads_somewhere(page: Markup) -> None:
    assert markup.loose_ends(page) == []


def test_a_page_has_one_heading_of_the_first_level(page: Markup) -> None:
    assert markup.headings(page) == 1


@pytest.mark.parametrize("name", ["queue", "pause", "pause-faults", "pause-peer"])
def test_a_models_text_is_never_markup(name: str) -> None:
    html = rendered(name)
    assert "<img" not in html
    assert "javascript:p()" not in Markup(html).values("href")
    assert "</script>[go]" not in html


def test_nothing_is_chosen_before_somebody_chooses() -> None:
    page = Markup(rendered("pause"))
    decisions = [attributes for _, attributes in page.elements if (attributes.get("name") or "").endswith("-decision")]
    assert len(decisions) == 6
    assert not [one for one in decisions if "checked" in one]
    assert all("required" in one for one in decisions)


def test_the_decision_form_carries_what_its_contract_names() -> None:
    page = Markup(rendered("pause"))
    fields = [attributes for _, attributes in page.elements if attributes.get("form") != "unsent"]
    names = {name for one in fields if (name := one.get("name")) and not name.startswith("htmx")}
    call = {
        f"call-{index}-{part}"
        for index in (0, 1)
        for part in ("id", "arguments_sha256", "decision", "arguments", "note")
    }
    assert call | {"scope", "run_revision", "csrfmiddlewaretoken", "then"} <= names
    assert names - call <= {"scope", "run_revision", "csrfmiddlewaretoken", "then", "viewport", "color-scheme"}


def test_the_form_of_an_external_tool_asks_for_kind_and_result() -> None:
    names = set(Markup(rendered("pause-external")).values("name"))
    assert {"call-0-kind", "call-0-result", "call-0-note", "call-0-id"} <= names
    assert "call-0-decision" not in names


def test_a_text_area_keeps_a_first_line_end_of_its_text() -> None:
    # The parser of HTML drops one line feed right behind the tag, so the template has to print one.
    for text in re.findall(r"<textarea[^>]*>(.)", rendered("pause-typed"), re.DOTALL):
        assert text == "\n"


@pytest.mark.parametrize("name", FRAGMENTS)
def test_a_fragment_is_named_by_somebody(name: str) -> None:
    sources = [path.read_text() for path in TEMPLATES.rglob("*.html")]
    sources += [path.read_text() for path in (Path(settings.BASE_DIR) / "suspensions").rglob("*.py")]
    assert any(f'"{name}"' in source for source in sources)


@pytest.mark.parametrize("path", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: path.name)
def test_fragments_get_only_what_they_are_given(path: Path) -> None:
    for include in re.findall(r"{% include [^%]* %}", path.read_text()):
        static = include in ('{% include "shared/_icons.html" %}', '{% include "shared/_keys.html" %}')
        assert static or include.endswith(" only %}"), include
