"""Makes the page of one pause: the form where it can be answered, what stands where it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from suspensions.domain.continuations import restore_continuation
from suspensions.domain.errors import CortexError
from suspensions.domain.policy import Role, same_principal
from suspensions.domain.standing import Stand, answering_roles
from suspensions.domain.values import PendingCall, Reason
from suspensions.pages.arguments import changes, edited_text, read_arguments
from suspensions.pages.contexts import (
    Banner,
    CallView,
    Deadline,
    Deciding,
    DecisionForm,
    Fact,
    Link,
    PauseNews,
    PausePage,
    ReadOnlyCalls,
)
from suspensions.pages.conversations import configuration, conversation, tool_results
from suspensions.pages.folding import TEXT_LIMIT, fold, fold_calls
from suspensions.pages.formats import bounded
from suspensions.pages.forms import Faults, TypedForm, kept_texts
from suspensions.pages.standings import Reader, standing
from suspensions.pages.visits import Visit
from suspensions.queries.access import names_with_role
from suspensions.queries.looking import Looker, lookers
from suspensions.queries.pause_page import PauseRead
from suspensions.queries.people import display_names
from suspensions.queries.queue import first_of_mine

_TITLES = {
    Reason.APPROVAL: ("asks", "asked", "to make 1 call", "to make {} calls"),
    Reason.EXTERNAL_TOOL: ("waits", "waited", "for the result of 1 call", "for the results of {} calls"),
    Reason.AGENT_REPLY: ("asks", "asked", "another agent", "other agents {} things"),
}
"""The verb while it waits and after, and what for: one call, several."""


class PauseView:
    """One pause for one reader: what they may do with it, and everything that the page shows."""

    def __init__(self, visit: Visit, read: PauseRead, typed: TypedForm | None = None) -> None:
        self.visit = visit
        self.read = read
        self.typed = typed
        self.stand = read.stand(visit.now)
        pause = read.pause
        self.roles = visit.caller.roles_at(pause.scope)
        self.may_answer = self.stand is Stand.OPEN and bool(self.roles & answering_roles(pause.reason))
        self.is_own = same_principal(pause.created_by.principal, visit.caller.principal)

    # -- pieces ----------------------------------------------------------------------------------------

    def title(self) -> str:
        now, then, one, many = _TITLES[self.read.pause.reason]
        count = len(self.read.pause.pending)
        agent = self.read.run.agent_name or "An agent"
        return f"{agent} {now if self.stand is Stand.OPEN else then} {one if count == 1 else many.format(count)}"

    def shared_note(self) -> str:
        """The note that all calls have in common, said once above them."""
        notes = {call.note for call in self.read.pause.pending}
        return (notes.pop() or "") if len(notes) == 1 else ""

    def calls(self, faults: Faults | None = None) -> list[CallView]:
        shared = self.shared_note()
        views = []
        for index, call in enumerate(self.read.pause.pending):
            view = call_view(index, call, note="" if shared else call.note or "")
            views.append(self._with_typed(view, faults or Faults()))
        return fold_calls(views)

    def _with_typed(self, view: CallView, faults: Faults) -> CallView:
        # Where nothing can be decided any more, what was typed is shown to be copied, and not as what was done.
        typed = self.typed.of(view.id) if self.typed is not None and self.may_answer else None
        if typed is None:
            return view
        # Kept whatever was chosen last: who goes back to editing finds it again.
        edits = bool(typed.arguments) or typed.decision == "edit"
        edited = edited_text(typed.arguments, view.arguments) if edits else None
        fault = faults.arguments.get(view.id, "")
        return replace(
            view,
            decision=typed.decision,
            edited=edited,
            changes=changes(view.arguments, edited) if edited and typed.decision == "edit" and not fault else (),
            typed_note=typed.note,
            kind=typed.kind,
            result=typed.result,
            decision_fault=faults.decision.get(view.id, ""),
            arguments_fault=fault,
            result_fault=faults.result.get(view.id, ""),
            note_fault=faults.note.get(view.id, ""),
        )

    def form(self, banner: Banner | None = None, faults: Faults | None = None) -> DecisionForm:
        pause = self.read.pause
        if banner is None and self.is_own and pause.reason is Reason.APPROVAL:
            words = "You may deny it; somebody else must approve it."
            banner = Banner("info", "You asked for this yourself.", words, icon="ban")
        return DecisionForm(
            action=self.visit.href("decision", pause.id),
            kind=pause.reason.value,
            scope=pause.scope.text,
            run_revision=self.read.run.revision,
            calls=self.calls(faults),
            now=self.visit.now,
            deadline=self._deadline(),
            banner=banner,
            may_approve=not (self.is_own and pause.reason is Reason.APPROVAL),
        )

    def _deadline(self) -> Deadline | None:
        return Deadline(self.read.pause.expires_at) if self.read.pause.expires_at else None

    def reader(self) -> Reader:
        pause, admission = self.read.pause, self.read.admission
        return Reader(
            principal=self.visit.caller.principal,
            now=self.visit.now,
            names=display_names([admission.admitted_by.principal]) if admission else {},
            receipt_href={
                kind: self.visit.href("receipt", kind, pause.run_id, pause.id)
                for kind in ("admission", "start", "expiry", "closure")
            },
            next_link=Link("Next in queue", self.next_href(), primary=True, key="n"),
        )

    def next_href(self) -> str:
        return self.visit.href("next", **{"from": self.read.pause.id})

    def read_only(self) -> ReadOnlyCalls:
        pause = self.read.pause
        if pause.reason is Reason.AGENT_REPLY:
            banner = Banner(
                "info",
                "Waiting for the other agent to reply.",
                "Only the peer can answer, through the bus. A person answering would forge its message.",
                icon="bot",
            )
        else:
            needed = " or ".join(sorted(role.value for role in answering_roles(pause.reason)))
            held = ", ".join(sorted(role.value for role in self.roles))
            banner = Banner(
                "info",
                "You may look at this, not answer it.",
                f"It needs the role {needed} in {pause.scope.text}; you hold {held} there.",
                icon="eye",
            )
        return ReadOnlyCalls(banner, self.calls(), pause.reason.value)

    # -- the whole page --------------------------------------------------------------------------------

    def page(
        self,
        *,
        form: DecisionForm | None = None,
        refusal: CortexError | None = None,
        whole_conversation: bool = False,
    ) -> PausePage:
        read, visit = self.read, self.visit
        pause, stand = read.pause, self.stand
        if form is None and self.may_answer:
            form = self.form()
        over = stand is not Stand.OPEN
        marks = lookers([pause.id], visit.now, visit.caller.principal).get(pause.id, []) if not over else []
        continuation = restore_continuation(pause.continuation)
        earlier = visit.href("pause", pause.id, conversation="all")
        start_by = read.admission.start_by if read.admission and stand is Stand.ADMITTED else None
        shown = None
        if over:
            shown = standing(read, self.calls(), self.reader(), refusal)
            shown = replace(shown, kept=kept_texts(self.typed))
            if refusal is None and stand is Stand.ADMITTED:
                shown = replace(shown, poll_href=visit.href("pause", pause.id, part="standing"))
        return PausePage(
            chrome=visit.chrome("Queue"),
            id=pause.id,
            title=self.title(),
            since=pause.created_at,
            crumbs=[Link("Queue", f"{visit.href('queue')}#row-{pause.id}"), *self._place()],
            form=form if not over else None,
            standing=shown,
            read_only=None if over or form is not None else self.read_only(),
            shared_note=self.shared_note(),
            deadline=self._deadline() if not over else None,
            start_by=Deadline(start_by, after="to start") if start_by else None,
            people=self._people(marks) if not over and pause.reason is not Reason.AGENT_REPLY else (),
            nobody=not over and pause.reason is not Reason.AGENT_REPLY and not self._answerers,
            bound_to=self._bound_to(),
            configuration=configuration(continuation),
            conversation=conversation(continuation, f"{earlier}#conversation", whole=whole_conversation),
            tool_results=tool_results(continuation),
            next_href=self.next_href(),
            news=None if form is None or over else self.news(marks),
        )

    def _place(self) -> list[Link]:
        """Where the pause stands among what needs the reader, where it does, and not very far down."""
        if not self.may_answer:
            return []
        ids = first_of_mine(self.visit.answerer)
        if self.read.pause.id not in ids:
            return []
        place = ids.index(self.read.pause.id) + 1
        return [Link(f"{place} of {bounded(max(place, self.visit.counts.mine))}", "")]

    def news(self, marks: Sequence[Looker]) -> PauseNews:
        """What a poll of the open form is told."""
        over = None
        if self.stand is not Stand.OPEN:
            found = standing(self.read, (), self.reader())
            here = Link("Show what stands", self.visit.href("pause", self.read.pause.id), primary=True)
            over = replace(
                found.banner,
                tone="stop",
                aside="Nothing that you send here is taken any more. What you typed stays until you leave this page.",
                alert=True,
                links=[here],
            )
        poll_href = self.visit.href("pause", self.read.pause.id, part="news")
        return PauseNews(poll_href, self.visit.now, [_looking(mark, self.visit) for mark in marks], over)

    @property
    def _answerers(self) -> Sequence[str]:
        if not hasattr(self, "_names"):
            self._names = names_with_role(self.read.pause.scope, Role.APPROVER)
        return self._names

    def _people(self, marks: Sequence[Looker]) -> list[Deciding]:
        """Who may answer: the reader first, then everybody else by name."""
        since = {mark.principal: mark.since for mark in marks}
        me, pause, now = self.visit.caller.principal, self.read.pause, self.visit.now
        names = display_names([*self._answerers, pause.created_by.principal])
        maker = pause.created_by.principal
        people = []
        for name in sorted(self._answerers, key=lambda name: (name != me, name)):
            shown = "You" if name == me else names.get(name, name)
            if same_principal(name, maker) and pause.reason is Reason.APPROVAL:
                people.append(Deciding(shown, "made this, may deny", muted=True))
                continue
            people.append(Deciding(shown, "approver", now - since[name] if name in since else None))
        if not any(same_principal(name, maker) for name in self._answerers):
            people.append(Deciding(names.get(maker, maker), "made this pause", muted=True))
        return people

    def _bound_to(self) -> list[Fact]:
        pause, run = self.read.pause, self.read.run
        facts = [
            Fact("Run", run.id, "id", self.visit.href("run", run.id)),
            Fact("Revision", str(run.revision)),
            Fact("Scope", pause.scope.text, "scope"),
            Fact("Reason", pause.reason.value.replace("_", " ")),
        ]
        if pause.checkpoint_id:
            facts.append(Fact("Checkpoint", pause.checkpoint_id, "id"))
        return facts


def call_view(index: int, call: PendingCall, note: str) -> CallView:
    """One call as the agent asked for it."""
    read = read_arguments(call.arguments)
    return CallView(
        index=index,
        id=call.id,
        tool=call.name,
        arguments=call.arguments,
        arguments_sha256=call.arguments_sha256,
        size=len(call.arguments.encode()),
        verbatim=fold(call.arguments, TEXT_LIMIT),
        steps=read.steps,
        cut=read.cut,
        is_json=read.is_json,
        note=note,
        warnings=read.warnings,
        reply_with=call.reply_with or "",
    )


def _looking(mark: Looker, visit: Visit) -> Deciding:
    return Deciding(mark.name, "approver", visit.now - mark.since)
