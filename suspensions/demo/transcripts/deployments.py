"""Deployments: three calls that belong together, a short deadline, and a key that may wait for ever."""

from datetime import timedelta

from suspensions.demo.script import Call, Case, Step

_PROMPT = (
    "You release and watch the services of a payments platform.\n"
    "Whatever changes production waits for a person. Name the way back for everything you propose."
)
_CONFIG = {
    "model": "sample-large",
    "temperature": 0.0,
    "max_steps": 30,
    "max_tokens": 8192,
    "budget": {"tokens": 200000, "minutes": 90},
    "tools": ["read_metrics", "drain_node", "run_migration", "deploy_release", "set_traffic", "rotate_key"],
}
_RELEASES = (
    {"service": "ledger", "version": "4.18.0", "before": "4.17.6", "node": "ledger-eu-2"},
    {"service": "payouts", "version": "2.9.1", "before": "2.9.0", "node": "payouts-eu-1"},
    {"service": "statements", "version": "7.0.0", "before": "6.42.3", "node": "statements-eu-4"},
)

RELEASE = Case(
    name="release",
    agent_name="release-engineer",
    system_prompt=_PROMPT,
    config=_CONFIG,
    history=(),
    opening=(
        {"role": "user", "content": "$service $version passed staging. Please bring it to production."},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "thinking",
                    "thinking": "The migration adds a column with a default; it must run before the new code.",
                    "signature": "c2FtcGxlLXNpZ25hdHVyZQ==",
                },
                {"type": "text", "text": "I look at the load first."},
            ],
            "tool_calls": [{"id": "call_metrics_1", "name": "read_metrics", "arguments": '{"service":"$service"}'}],
        },
        {"role": "tool", "tool_call_id": "call_metrics_1", "content": "p99 84 ms, 0.02 % errors, load 31 %."},
    ),
    steps=(
        Step(
            says="The load is low. One node first: drain it, migrate, deploy. The way back is $before.",
            calls=(
                Call("call_drain_1", "drain_node", '{"node":"$node","timeout_s":120}', "Drained in 41 s."),
                Call(
                    "call_migrate_1",
                    "run_migration",
                    '{"service":"$service","migration":"0042_add_settled_at","statements":'
                    '["ALTER TABLE entry ADD COLUMN settled_at timestamptz",'
                    '"CREATE INDEX CONCURRENTLY entry_settled ON entry (settled_at)"],"lock_timeout_s":3}',
                    "Done in 6.2 s, no lock waited for.",
                    "Adds a column and an index; the old release works on with both.",
                ),
                Call(
                    "call_deploy_1",
                    "deploy_release",
                    '{"service":"$service","version":"$version","nodes":["$node"],"rollback_to":"$before"}',
                    "$node runs $version.",
                    "One node of four.",
                ),
            ),
            deadline=timedelta(minutes=15),
        ),
        Step(
            says="Ten minutes on one node without a new error. I would move half of the traffic.",
            calls=(
                Call(
                    "call_traffic_1",
                    "set_traffic",
                    '{"service":"$service","split":{"$version":50,"$before":50}}',
                    "The split is 50 to 50.",
                    "Back in seconds with the same call.",
                ),
            ),
            deadline=timedelta(minutes=10),
        ),
        Step(
            says="Half of the traffic is fine. I would finish the release.",
            calls=(
                Call(
                    "call_traffic_2",
                    "set_traffic",
                    '{"service":"$service","split":{"$version":100}}',
                    "All traffic goes to $version.",
                ),
            ),
            deadline=timedelta(minutes=30),
        ),
    ),
    closing="$service runs $version everywhere.",
    choices=_RELEASES,
)

KEY_ROTATION = Case(
    name="key-rotation",
    agent_name="release-engineer",
    system_prompt=_PROMPT,
    config=_CONFIG,
    history=(),
    opening=(
        {"role": "user", "content": "The signing key of $service is 300 days old. Rotate it when it suits you."},
        {"role": "assistant", "content": "I prepared it. Both keys stay valid for a day, so no caller breaks."},
    ),
    steps=(
        Step(
            says="Nothing presses. Say when.",
            calls=(
                Call(
                    "call_key_1",
                    "rotate_key",
                    '{"service":"$service","key":"signing","overlap_hours":24,"retire_old":true}',
                    "Rotated. The old key ends in 24 hours.",
                    "No deadline: it waits until somebody decides.",
                ),
            ),
            deadline=None,
        ),
    ),
    closing="The new key of $service is in use.",
    choices=_RELEASES,
)

CASES = (RELEASE, KEY_ROTATION)
