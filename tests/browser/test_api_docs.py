"""The page of the OpenAPI document: it draws itself under the site's policy, and asks no outside host."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def test_the_document_is_readable_without_any_outside_host(page: Page, base_url: str) -> None:
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/api/docs/")

    expect(page.locator(".opblock").first).to_be_visible()
    assert page.locator(".opblock").count() == 48
    page.get_by_role("button", name="POST /api/v1/suspensions/{suspension_id}/decision").first.click()
    expect(page.get_by_text("Role: approver or agent.")).to_be_visible()

    assert said == []
    assert [address for address in asked if not address.startswith((base_url, "data:"))] == []
