"""Without the rules of who may answer what, and of what an answer must be."""

from __future__ import annotations

from tests.mutants.mutant import without

_DECISIONS = "suspensions/domain/decisions.py"
_POLICY = "suspensions/domain/policy.py"
_REPLIES = "suspensions/domain/replies.py"

_DECIDE = "tests/store/test_decide.py"
_ADMIT = "tests/store/test_admit_resume.py"
_INTERACTIONS = "tests/store/test_interactions.py"

MUTANTS = (
    without(
        "self_approval", _DECISIONS, "if not created_by or same_principal(principal, created_by):", "if False:", _DECIDE
    ),
    without(
        "self_approval under another case",
        _POLICY,
        "return left.casefold() == right.casefold()",
        "return left == right",
        _DECIDE,
        "tests/domain/test_policy.py",
    ),
    without(
        "self_approval of a pause that nobody made",
        _DECISIONS,
        "if not created_by or same",
        "if created_by and same",
        _DECIDE,
    ),
    without(
        "the freedom to deny one's own",
        _DECISIONS,
        ' or not any(decision.decision == "approve" for decision in decisions):',
        ":",
        _DECIDE,
    ),
    without(
        "arguments_changed",
        _DECISIONS,
        "if not same_digest(by_id[call.id].arguments_sha256, call.arguments_sha256):",
        "if False:",
        _DECIDE,
    ),
    without("the refusal of an unanswered call", _DECISIONS, "if missing or extra or len", "if extra or len", _DECIDE),
    without("the refusal of an unknown call", _DECISIONS, "if missing or extra or len", "if missing or len", _DECIDE),
    without("the refusal of a call answered twice", _DECISIONS, " or len(by_id) != len(decisions):", ":", _DECIDE),
    without(
        "the form of an answer, which goes with the reason",
        _DECISIONS,
        "if any((decision.decision is not None) != (reason is Reason.APPROVAL) for decision in decisions):",
        "if False:",
        _DECIDE,
    ),
    without(
        "the role approver",
        _DECISIONS,
        "if reason is Reason.APPROVAL and Role.APPROVER not in roles:",
        "if False:",
        _DECIDE,
    ),
    without(
        "the refusal of a human's answer for a peer",
        _DECISIONS,
        "    if reason is Reason.AGENT_REPLY:\n"
        "        raise NotAgentReplyResumable\n    if reason is Reason.APPROVAL and",
        "    if reason is Reason.APPROVAL and",
        _DECIDE,
    ),
    without(
        "the refusal of a bus's answer to an approval",
        _DECISIONS,
        "    if reason is Reason.APPROVAL:\n        raise RequiresApproval\n    if reason is not Reason.AGENT_REPLY:\n",
        "    if reason is not Reason.AGENT_REPLY:\n",
        _ADMIT,
    ),
    without(
        "the refusal of a bus's answer to an external tool",
        _DECISIONS,
        "    if reason is not Reason.AGENT_REPLY:\n        raise NotAgentReplyResumable\n",
        "",
        "tests/domain/test_decisions.py",
    ),
    without(
        "the refusal of a plain claim of an approval",
        _DECISIONS,
        '''Raises: RequiresApproval, NotAgentReplyResumable."""
    if reason is Reason.APPROVAL:
        raise RequiresApproval
    if reason is Reason.AGENT_REPLY:''',
        '''Raises: RequiresApproval, NotAgentReplyResumable."""
    if reason is Reason.AGENT_REPLY:''',
        "tests/store/test_claim_suspension.py",
    ),
    without(
        "the echo of reply addresses",
        _REPLIES,
        "if self.reply_with != {call.reply_with for call in pending}:",
        "if False:",
        _ADMIT,
    ),
    without(
        "the bound of an input",
        "suspensions/store/admissions.py",
        "if len(value) > limits.MAX_INPUT_BYTES:",
        "if False:",
        _ADMIT,
    ),
    without(
        "the refusal of an empty input",
        "suspensions/store/admissions.py",
        "    if not value:\n",
        "    if False:\n",
        _ADMIT,
    ),
    without(
        "the scope of a grant",
        _POLICY,
        "for grant in self.grants if grant.scope.covers(scope))",
        "for grant in self.grants)",
        "tests/domain/test_policy.py",
        "tests/store",
    ),
    without(
        "the role of a caller",
        _POLICY,
        "if roles and not held.intersection(roles):",
        "if False:",
        "tests/domain/test_policy.py",
    ),
    # -- questions
    without(
        "the one tool use of a question",
        "suspensions/domain/interactions.py",
        'if len(uses) != 1 or uses[0].get("id") != tool_use_id:',
        'if uses[0].get("id") != tool_use_id:',
        _INTERACTIONS,
    ),
    without(
        "the pairing of a question and its result",
        "suspensions/domain/interactions.py",
        ' or result.get("tool_use_id") != tool_use_id:',
        ":",
        _INTERACTIONS,
    ),
    without(
        "the one answer to a question",
        "suspensions/store/interactions.py",
        "        if row.answer_sha256 != answer_sha256:\n",
        "        if False:\n",
        _INTERACTIONS,
    ),
    without(
        "the one content of a question",
        "suspensions/store/interactions.py",
        "    if row.content_sha256 != content_sha256:\n",
        "    if False:\n",
        _INTERACTIONS,
    ),
    without(
        "the once of resolving",
        "suspensions/store/interactions.py",
        "def _messages(row: InteractionRow, result: Any) -> list[Any]:\n    if row.resolved_at is not None:",
        "def _messages(row: InteractionRow, result: Any) -> list[Any]:\n    if False:",
        _INTERACTIONS,
    ),
)
