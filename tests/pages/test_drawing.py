"""The drawing of a run: only numbers, all of them inside."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from suspensions.pages.drawing import WIDTH, Mark, Span, draw

START = datetime(2026, 3, 12, 13, 0, tzinfo=UTC)


def later(**parts: float) -> datetime:
    return START + timedelta(**parts)


def test_without_a_state_there_is_nothing_to_draw() -> None:
    assert draw("", [], [], [], START) is None


def test_spans_follow_each_other_without_a_gap_and_end_at_now() -> None:
    drawing = draw(
        "",
        [Span("run", START, later(minutes=5), "running"), Span("pause", later(minutes=5), None)],
        [],
        [],
        later(minutes=10),
    )
    assert drawing is not None
    first, second = drawing.bars
    assert first.x + first.width == second.x
    assert drawing.now_x == second.x + second.width


def test_a_label_that_does_not_fit_is_left_out_and_stays_as_title() -> None:
    states = [
        Span("run", START, later(seconds=1), "running"),
        Span("pause", later(seconds=1), later(hours=1), "paused"),
    ]
    drawing = draw("", states, [], [], later(hours=1), ended=True)
    assert drawing is not None
    assert [bar.label for bar in drawing.bars] == ["", "paused"]
    assert drawing.bars[0].title == "running"
    assert drawing.now_x is None


def test_receipts_of_one_instant_stand_beside_each_other_inside_the_drawing() -> None:
    marks = [Mark(label, later(hours=1)) for label in ("Admission", "Start", "Expiry", "Closure")]
    drawing = draw("", [Span("run", START, None)], [], marks, later(hours=1))
    assert drawing is not None
    boxes = [(pin.box_x, pin.box_x + pin.width) for pin in drawing.pins]
    assert all(left[1] < right[0] for left, right in pairwise(boxes))
    assert boxes[0][0] >= 0
    assert boxes[-1][1] <= WIDTH


def test_the_axis_has_a_few_round_times_for_a_second_and_for_years() -> None:
    for length in (timedelta(seconds=1), timedelta(minutes=7), timedelta(hours=30), timedelta(days=900)):
        drawing = draw("", [Span("run", START, None)], [], [], START + length)
        assert drawing is not None
        assert 1 <= len(drawing.ticks) <= 9
