"""A travel desk: several calls in one pause, money, and a traveller who waits."""

from datetime import timedelta

from suspensions.demo.script import Call, Case, Step

_PROMPT = (
    "You are the travel desk of a mid-sized company. You find and change bookings for travellers.\n"
    "Anything that books, cancels or costs money waits for a person. Say what it will cost before you ask."
)
_CONFIG = {
    "model": "sample-large",
    "temperature": 0.2,
    "max_steps": 12,
    "max_tokens": 4096,
    "tools": [
        "find_trip",
        "search_flights",
        "cancel_reservation",
        "book_flight",
        "issue_refund",
        "change_seat",
        "upgrade_cabin",
        "send_voucher",
        "book_hotel",
    ],
}
_TRAVELLERS = (
    {"who": "Ines Albrecht", "code": "KQ7TZ2", "city": "Lisbon", "fare": "412.80", "flight": "TQ 4471"},
    {"who": "Tomás Oyelaran", "code": "M4XW9B", "city": "Riga", "fare": "268.10", "flight": "BX 0917"},
    {"who": "Yuki Sandoval", "code": "P9RRL3", "city": "Porto", "fare": "355.00", "flight": "TQ 4453"},
    {"who": "Farid Nyström", "code": "C2HV8N", "city": "Oslo", "fare": "521.45", "flight": "NK 1206"},
)

REBOOKING = Case(
    name="rebooking",
    agent_name="travel-desk",
    system_prompt=_PROMPT,
    config=_CONFIG,
    history=(
        {"role": "user", "content": "Hello, this is $who. Can you keep an eye on my trip to $city?"},
        {"role": "assistant", "content": "Of course. I have your reservation $code and will write if it changes."},
    ),
    opening=(
        {
            "role": "user",
            "content": "My outbound flight to $city was just cancelled. I must be there tomorrow by noon.",
        },
        {
            "role": "assistant",
            "content": "I am sorry. Let me look at your trip and at what still flies.",
            "tool_calls": [
                {
                    "id": "call_find_1",
                    "type": "function",
                    "function": {"name": "find_trip", "arguments": '{"reservation": "$code"}'},
                },
                {
                    "id": "call_search_1",
                    "type": "function",
                    "function": {"name": "search_flights", "arguments": '{"to": "$city", "arrive_before": "12:00"}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "call_find_1", "content": "One passenger, economy, one bag, refundable."},
        {
            "role": "tool",
            "tool_call_id": "call_search_1",
            "content": "$flight at 06:55, arrives 09:40, 3 seats, EUR $fare. The next one arrives at 14:10.",
        },
    ),
    steps=(
        Step(
            says="$flight arrives at 09:40 for EUR $fare. To take it I must give up the old reservation first.",
            calls=(
                Call(
                    "call_cancel_1",
                    "cancel_reservation",
                    '{"reservation": "$code", "refund_to": "original_payment", "reason": "flight cancelled"}',
                    "Cancelled. The fare goes back in 5 to 7 days.",
                    "Cannot be taken back once it is done.",
                ),
                Call(
                    "call_book_1",
                    "book_flight",
                    '{"flight": "$flight", "passengers": [{"name": "$who", "bags": 1}], "cabin": "economy",'
                    ' "price": {"amount": $fare, "currency": "EUR"}, "payment": "company card"}',
                    "Booked. The ticket was sent to $who.",
                    "3 seats are left at this price.",
                ),
            ),
            deadline=timedelta(minutes=12),
        ),
        Step(
            says="$who waits at the airport. Our rules allow a meal voucher for a cancelled flight.",
            calls=(
                Call(
                    "call_voucher_1",
                    "send_voucher",
                    '{"to": "$who", "kind": "meal", "amount": 25, "currency": "EUR", "valid_hours": 24}',
                    "Sent.",
                    "Within the limit of EUR 30.",
                ),
            ),
            deadline=timedelta(hours=2),
        ),
    ),
    closing="You are on $flight. Have a good trip.",
    choices=_TRAVELLERS,
)

TEAM_HOTEL = Case(
    name="team-hotel",
    agent_name="travel-desk",
    system_prompt=_PROMPT,
    config={**_CONFIG, "reasoning_loop": "plan-act"},
    history=(),
    opening=(
        {
            "role": "user",
            "content": "We are eleven people in $city next month, three nights. Please arrange the hotel.",
        },
        {"role": "assistant", "content": "The Harbour House has eleven single rooms at EUR 118 with breakfast."},
        {"role": "user", "content": "Take it, but only if we can still cancel a week before."},
    ),
    steps=(
        Step(
            says="It can be cancelled up to 7 days before. In all EUR 3,894, of which EUR 389.40 are due now.",
            calls=(
                Call(
                    "call_hotel_1",
                    "book_hotel",
                    '{"hotel": "Harbour House, $city", "rooms": 11, "nights": 3, "rate": 118.00,'
                    ' "deposit": 389.40, "cancel_until_days": 7, "guests": ["$who", "10 more, names to follow"]}',
                    "Booked under HH-$code. The deposit was paid.",
                    "Above the EUR 3,000 that I may commit to by myself.",
                ),
            ),
            deadline=timedelta(hours=20),
        ),
    ),
    closing="The rooms in $city are yours; the free cancellation ends 7 days before.",
    choices=_TRAVELLERS,
)

LOST_SEAT = Case(
    name="lost-seat",
    agent_name="travel-desk",
    system_prompt=_PROMPT,
    config=_CONFIG,
    history=(),
    opening=(
        {
            "role": "user",
            "content": "I paid EUR 38 for an aisle seat to $city and was put in a middle one. I want my money back, "
            "and a better seat on the way home. $who, $code",
        },
        {
            "role": "assistant",
            "content": "I see what the airline has on record.",
            "tool_calls": [
                {
                    "id": "call_find_2",
                    "type": "function",
                    "function": {"name": "find_trip", "arguments": '{"reservation": "$code"}'},
                },
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "call_find_2",
            "content": "Economy. Paid seat 14C, flown in 14B. Return on $flight, no seat yet. Seat 2A is premium.",
        },
    ),
    steps=(
        Step(
            says="The seat fee is owed back. For the way home 2A is free, though the fare does not include it.",
            calls=(
                Call(
                    "call_refund_1",
                    "issue_refund",
                    '{"reservation": "$code", "amount": 38.00, "currency": "EUR", "to": "original payment",'
                    ' "reason": "paid seat 14C was not given"}',
                    "EUR 38.00 go back to the card of $who.",
                    "The airline confirms that 14C was paid for and not given.",
                ),
                Call(
                    "call_seat_1",
                    "change_seat",
                    '{"reservation": "$code", "flight": "$flight", "from": null, "to": "2A", "fee": 0}',
                    "$who sits in 2A.",
                    "2A is a premium seat; the fare is plain economy.",
                ),
            ),
            deadline=timedelta(minutes=32),
        ),
    ),
    closing="That is all I could do about the seat.",
    choices=_TRAVELLERS,
)

CASES = (REBOOKING, TEAM_HOTEL, LOST_SEAT)

UPGRADE = Case(
    name="upgrade",
    agent_name="travel-desk",
    system_prompt=_PROMPT,
    config=_CONFIG,
    history=(),
    opening=(
        {"role": "user", "content": "I fly eleven hours through the night and speak at nine. Business, please? $who"},
        {"role": "assistant", "content": "There are seats. The difference is above what I may spend by myself."},
    ),
    steps=(
        Step(
            says="Business on the night flight costs EUR 240 more. Our rules leave that to a person.",
            calls=(
                Call(
                    "call_upgrade_1",
                    "upgrade_cabin",
                    '{"reservation": "$code", "flight": "$flight", "from": "economy", "to": "business",'
                    ' "difference": {"amount": 240.00, "currency": "EUR"}}',
                    "Upgraded. The new ticket was sent to $who.",
                    "11 h through the night, a talk at 09:00.",
                ),
            ),
            deadline=timedelta(hours=4),
        ),
    ),
    closing="Have a quiet night.",
    choices=_TRAVELLERS,
)
"""Not played live: it happened yesterday."""
