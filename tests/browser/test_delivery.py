"""A page arrives in a real browser as the production server sends it."""

from playwright.sync_api import Page


def test_the_sign_in_of_the_admin_keeps_to_the_content_security_policy(page: Page) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    response = page.goto("/admin/login/")
    assert response is not None
    assert response.status == 200
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert page.locator("input[name=username]").is_visible()
    assert complaints == []


def test_static_files_are_hashed_compressed_and_kept_for_ever(page: Page) -> None:
    with page.expect_response(lambda response: "/static/admin/css/base." in response.url) as got:
        page.goto("/admin/login/")
    headers = got.value.headers
    assert headers["content-encoding"] in {"br", "gzip"}
    assert "immutable" in headers["cache-control"]
