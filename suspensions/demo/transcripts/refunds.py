"""Refunds: an identifier beyond 2^53, a payee that is not who it looks like, and a job for somebody's hands."""

from datetime import timedelta

from suspensions.demo.script import Call, Case, Step

_PROMPT = (
    "You handle returns and refunds of an online shop.\n"
    "A refund over EUR 50, and every change of bank details, waits for a person. Quote order numbers exactly."
)
_CONFIG = {
    "model": "sample-small",
    "temperature": None,
    "max_steps": 8,
    "max_tokens": 2048,
    "tools": ["find_order", "inspect_return", "issue_refund", "update_payee", "send_message"],
}
_ORDERS = (
    {"who": "Salome Kvist", "order": "9007199254740993", "amount": "129.90", "item": "espresso machine"},
    {"who": "Bilal Fontaine", "order": "10152847593021447261", "amount": "74.50", "item": "desk lamp"},
    {"who": "Mirja Okonkwo", "order": "9876543210987654321", "amount": "219.00", "item": "cycling jacket"},
)

RETURNED_ITEM = Case(
    name="returned-item",
    agent_name="refunds",
    system_prompt=_PROMPT,
    config=_CONFIG,
    history=(),
    opening=(
        {"role": "user", "content": "I sent the $item back ten days ago and nothing happened. Order $order. $who"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_order_1", "name": "find_order", "arguments": '{"order":$order}'}],
        },
        {"role": "tool", "tool_call_id": "call_order_1", "content": "$item, EUR $amount, parcel arrived, not opened."},
    ),
    steps=(
        Step(
            says="The parcel lies in the warehouse unopened. Somebody there must look at the $item.",
            calls=(
                Call(
                    "call_inspect_1",
                    "inspect_return",
                    '{"order":$order,"item":"$item","look_for":["complete","damage","signs of use"]}',
                    note="Parcel shelf R-14. One sentence on its condition is enough.",
                ),
            ),
            reason="external_tool",
            deadline=timedelta(hours=6),
        ),
        Step(
            says="With that report the refund is due in full.",
            calls=(
                Call(
                    "call_refund_1",
                    "issue_refund",
                    # Key order, spacing and the number's every digit are the model's, and stay so.
                    '{"order":$order,"amount":$amount,"currency":"EUR","to":"original payment",  "notify":true}',
                    "Refunded EUR $amount on order $order.",
                    "Over EUR 50. The order number does not fit a 53-bit integer.",
                ),
            ),
            deadline=timedelta(minutes=45),
        ),
    ),
    closing="EUR $amount are on their way back to you.",
    choices=_ORDERS,
)

CHANGED_PAYEE = Case(
    name="changed-payee",
    agent_name="refunds",
    system_prompt=_PROMPT,
    config={**_CONFIG, "tools_restricted": True},
    history=(
        {"role": "user", "content": "Invoice 2207 from Nordlicht Supply is due on Friday, EUR 8,430."},
        {"role": "assistant", "content": "Noted; it goes out with Friday's run to the account on file."},
    ),
    opening=(
        {
            "role": "user",
            "content": "Forwarded message: we have moved banks, please use the new account from now on. Urgent! "
            "Accounts team, Nordlicht Supply",
        },
    ),
    steps=(
        Step(
            says="The supplier asks for a new account before Friday's payment. I can change it if you agree.",
            calls=(
                Call(
                    "call_payee_1",
                    "update_payee",
                    # The o of the name is Cyrillic, and the account holds a zero-width space and a right-to-left mark.
                    '{"payee": "N\u043erdlicht Supply", "account": "QX76 0400\u200b 2391 \u200f5501 83",'
                    ' "reason": "moved banks", "invoice": "2207-$seed"}',
                    "Changed. The next payment goes to the new account.",
                    "The request came by mail; nobody has called the supplier back.",
                ),
            ),
            deadline=timedelta(minutes=25),
        ),
    ),
    closing="The new account is in place.",
    choices=({},),
)

GOODWILL = Case(
    name="goodwill",
    agent_name="refunds",
    system_prompt=_PROMPT,
    config=_CONFIG,
    history=(),
    opening=(
        {
            "role": "user",
            "content": "The $item came scratched. I would keep it for a fair discount. $who, order $order",
        },
        {"role": "assistant", "content": "Thank you for the photo. I will ask for a discount that is fair."},
    ),
    steps=(
        Step(
            says="A third of the price is usual for a scratch that does not show in use.",
            calls=(
                Call(
                    "call_discount_1",
                    "issue_refund",
                    '{"order": $order, "amount": 60.00, "currency": "EUR", "to": "original payment",'
                    ' "reason": "goodwill, scratched $item"}',
                    "Refunded EUR 60.00 on order $order.",
                    "Change the amount if you find it too much.",
                ),
                Call(
                    "call_message_1",
                    "send_message",
                    '{"to": "$who", "text": "We are sorry about the scratch. We have refunded a part of the price.\\n'
                    'Keep the $item, and tell us if anything else is wrong with it. \U0001f331"}',
                    "Sent.",
                ),
            ),
            deadline=timedelta(minutes=7),
        ),
    ),
    closing="The matter is settled.",
    choices=_ORDERS,
)

CASES = (RETURNED_ITEM, CHANGED_PAYEE, GOODWILL)
