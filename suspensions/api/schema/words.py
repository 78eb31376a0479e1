"""What the OpenAPI document says in prose."""

from __future__ import annotations

TAGS = {
    "runs": "Runs",
    "suspensions": "Pauses",
    "resumes": "Resumes",
    "leases": "Leases and progress",
    "closures": "Closures and verification",
    "interactions": "Interactions",
    "me": "The caller",
}

DESCRIPTION = """\
A run of an AI agent pauses, somebody answers, and the answer is admitted exactly once and started exactly once.

**Who calls.** `Authorization: Bearer <token>`, or a signed-in browser session with the header `X-CSRFToken`.

**Where.** The working scope stands in the header `Cortex-Scope: workspace=acme/project=web`. It may be left out where
all of the caller's grants name one and the same scope. A row of another scope looks exactly like a missing one.

**Repeating.** Send an `id` with a new run or pause. The same request again finds the record: 201 where it was made,
200 where it was there, the same body but for `fresh`. Other content under the same id is a conflict.

**Refusals.** Always `application/problem+json` with a `code`; `/problems/<code>` explains each. A conflict tells what
it was lost to. After a 503 `commit_unknown` or a lost connection, repeat the identical request.

**Lists.** `{"items": [...], "next": ...}`; give `next` as `cursor` to go on, with the filters as they were.

**Exactness.** Arguments, inputs and message contents come back character for character. Times are UTC with six
fractional digits and `Z`. A body is strict JSON in UTF-8: no member name twice, no NaN, at most 64 levels, 32 MiB.
"""
