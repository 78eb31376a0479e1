"""URLs of the REST API, below /api/v1/: the table of routes. Source: api.md "Routes"."""

from __future__ import annotations

from suspensions.api import closures, interactions, leases, me, resumes, runs, suspensions
from suspensions.api.routes import endpoint

_RUN = "runs/<str:run_id>"
_SUSPENSION = "suspensions/<str:suspension_id>"
_RESUME = f"{_RUN}/{_SUSPENSION}"
_INTERACTION = "interactions/<str:interaction_id>"

urlpatterns = [
    endpoint("runs", POST=runs.create_run, GET=runs.list_runs),
    endpoint(_RUN, GET=runs.get_run),
    endpoint(f"{_RUN}/events", GET=runs.list_events),
    endpoint(f"{_RUN}/finish", POST=runs.finish_run),
    endpoint(f"{_RUN}/cancel", POST=runs.cancel_run),
    endpoint(f"{_RUN}/wait", GET=runs.wait_for_run),
    endpoint("suspensions", POST=suspensions.create_suspension, GET=suspensions.list_suspensions),
    endpoint("suspensions/expired", GET=suspensions.list_expired),
    endpoint(_SUSPENSION, GET=suspensions.read_suspension),
    endpoint(f"{_SUSPENSION}/decision", POST=suspensions.decide),
    endpoint(f"{_RUN}/suspension", GET=suspensions.get_suspension, DELETE=suspensions.delete_suspension),
    endpoint(f"{_RUN}/claim", POST=suspensions.claim_suspension),
    endpoint(f"{_RUN}/claim-continuation", POST=leases.claim_continuation),
    endpoint("resume-admissions", POST=resumes.admit_resume, GET=resumes.list_admissions),
    endpoint(f"{_RUN}/resume-admissions/latest", GET=resumes.latest_admission),
    endpoint(f"{_RESUME}/admission", GET=resumes.get_admission),
    endpoint(f"{_RESUME}/start", GET=resumes.get_start),
    endpoint(f"{_RESUME}/expiry", GET=resumes.get_expiry),
    endpoint(f"{_RESUME}/closure", GET=closures.get_closure),
    endpoint("resume-starts", POST=resumes.start_resume, GET=resumes.list_starts),
    endpoint("resume-starts/next", POST=resumes.start_next),
    endpoint("resume-expiries", POST=resumes.expire_resume, GET=resumes.list_expiries),
    endpoint("resume-closures", POST=closures.close_resume, GET=closures.list_closures),
    endpoint("resume-closures/freeze", POST=closures.freeze_closure),
    endpoint("receipts/verify", POST=closures.verify_receipt),
    endpoint("uncertain-resumes", GET=closures.list_uncertain),
    endpoint("agent-reply-runs", GET=resumes.list_agent_reply_runs),
    endpoint(f"{_RUN}/progress", PUT=leases.save_progress, GET=leases.get_progress, DELETE=leases.delete_progress),
    endpoint(f"{_RUN}/lease/renew", POST=leases.renew_lease),
    endpoint(f"{_RUN}/lease/release", POST=leases.release_lease),
    endpoint(f"{_RUN}/lease/reclaim", POST=leases.reclaim_lease),
    endpoint("interactions", POST=interactions.save_interaction, GET=interactions.list_interactions),
    endpoint(_INTERACTION, GET=interactions.load_interaction),
    endpoint(f"{_INTERACTION}/answer", POST=interactions.answer_interaction),
    endpoint(f"{_INTERACTION}/resume-messages", POST=interactions.resume_messages),
    endpoint(f"{_INTERACTION}/resolve", POST=interactions.resolve_interaction),
    endpoint(f"{_INTERACTION}/mark-resolved", POST=interactions.mark_resolved),
    endpoint("me", GET=me.get_me),
]
