"""Data-deletion requests: what cannot be undone, and a question to a peer agent."""

from datetime import timedelta

from suspensions.demo.script import Call, Case, Step

_PROMPT = (
    "You carry out requests of people about their own data.\n"
    "Deleting waits for a person, always. Keep what the law wants kept, and say which and for how long."
)
_CONFIG = {
    "model": "sample-large",
    "temperature": 0.1,
    "max_steps": 16,
    "max_tokens": 4096,
    "tools": ["find_records", "ask_agent", "delete_records", "confirm_deletion"],
    "persona_ref": "privacy-officer",
}
_PEOPLE = (
    {"who": "Oda Marchetti", "customer": "C-20418", "records": "1,284", "kept": "14"},
    {"who": "Ravi Holmqvist", "customer": "C-77002", "records": "306", "kept": "3"},
    {"who": "Leila Brandstätter", "customer": "C-51377", "records": "5,017", "kept": "61"},
)

ERASURE = Case(
    name="erasure",
    agent_name="privacy",
    system_prompt=_PROMPT,
    config=_CONFIG,
    history=(
        {"role": "user", "content": "I am $who, customer $customer. Please send me all that you hold about me."},
        {"role": "assistant", "content": "It is on its way to the address on file: $records records."},
    ),
    opening=(
        {"role": "user", "content": "Thank you. Now please delete all of it, and my account."},
        {
            "role": "assistant",
            "content": "I look up what that touches.",
            "tool_calls": [
                {
                    "id": "call_records_1",
                    "type": "function",
                    "function": {"name": "find_records", "arguments": '{"customer": "$customer", "count_only": true}'},
                }
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "call_records_1",
            "content": "$records records in 5 systems; $kept invoices must be kept for 10 years.",
        },
    ),
    steps=(
        Step(
            says="$records records go, $kept invoices stay under lock as the law wants it. This cannot be undone.",
            calls=(
                Call(
                    "call_delete_1",
                    "delete_records",
                    '{\n  "customer": "$customer",\n  "systems": ["crm", "shop", "mail", "search", "files"],\n'
                    '  "keep": [{"kind": "invoice", "count": $kept, "years": 10}],\n'
                    '  "backups": "expire with the next cycle",\n  "dry_run": false\n}',
                    "Deleted. $kept invoices are kept, locked.",
                    "The identity was checked by letter on file. A dry run found nothing unexpected.",
                ),
            ),
            deadline=None,
        ),
        Step(
            says="What is left is to tell $who.",
            calls=(
                Call(
                    "call_confirm_1",
                    "confirm_deletion",
                    '{"customer": "$customer", "to": "$who", "kept": "invoices, 10 years", "language": "en"}',
                    "Sent by letter.",
                ),
            ),
            deadline=timedelta(days=3),
        ),
    ),
    closing="The request of $who is done.",
    choices=_PEOPLE,
)

PEER_QUESTION = Case(
    name="peer-question",
    agent_name="privacy",
    system_prompt=_PROMPT,
    config=_CONFIG,
    history=(),
    opening=(
        {"role": "user", "content": "$who asks whether the support recordings of last year are still there."},
        {"role": "assistant", "content": "The archive is another agent's. I ask it."},
    ),
    steps=(
        Step(
            says="I wait for the archive's answer.",
            calls=(
                Call(
                    "call_ask_1",
                    "ask_agent",
                    '{"agent": "archive", "question": "Must recordings of $customer over 12 months old be kept?"}',
                    reply_with="archive-$seed",
                ),
            ),
            reason="agent_reply",
            deadline=timedelta(hours=1),
        ),
        Step(
            says="Then they can go as well.",
            calls=(
                Call(
                    "call_delete_2",
                    "delete_records",
                    '{"customer": "$customer", "systems": ["recordings"], "older_than_months": 12, "dry_run": false}',
                    "Deleted 4 recordings.",
                    "The archive agent says that nothing requires them.",
                ),
            ),
            deadline=timedelta(hours=4),
        ),
    ),
    closing="No recordings of $who are left.",
    choices=_PEOPLE,
)

CASES = (ERASURE, PEER_QUESTION)
