// Single keys for people who decide all day. Off while a field has the focus, and off for whoever turned
// them off (WCAG 2.1.4). Every key only does what a link or a control on the page does as well.
(() => {
  "use strict";

  const typing = (target) => target.closest?.("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]");
  const single = document.body.dataset.keys !== "off";

  const rows = () => [...document.querySelectorAll("[data-row]")];
  const calls = () => [...document.querySelectorAll("#decision [data-call]")];
  const keymap = () => document.getElementById("keys");

  const here = (items, name) => items.findIndex((item) => item.classList.contains(name));

  // Of many calls most are folded. The one that the keys reach opens, and folds again when they leave it,
  // unless it opened otherwise or holds an edit. By pointer nothing folds: it would move what is pressed.
  const foldOf = (item) => item.querySelector(":scope > .call-fold");
  const unfold = (item) => {
    const fold = foldOf(item);
    if (!fold || fold.open) return false;
    fold.open = true;
    fold.dataset.byKeys = "";
    return true;
  };
  const refold = (item) => {
    const fold = foldOf(item);
    if (!fold || !("byKeys" in fold.dataset) || fold.querySelector(".choose-edit:checked")) return;
    fold.open = false;
    delete fold.dataset.byKeys;
  };

  const mark = (items, name, index) => {
    items.forEach((item, place) => {
      const was = item.classList.contains(name);
      item.classList.toggle(name, place === index);
      if (!was || place === index) return;
      refold(item);
      item.dispatchEvent(new Event("cortex:left"));
    });
    const item = items[index];
    if (!item) return;
    unfold(item);
    (item.querySelector(".cover") || item).focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  };

  const move = (step) => {
    const list = rows();
    const [items, name] = list.length ? [list, "row-here"] : [calls(), "call-here"];
    if (!items.length) return false;
    const at = here(items, name);
    mark(items, name, at < 0 ? 0 : Math.min(Math.max(at + step, 0), items.length - 1));
    return true;
  };

  const open = (hash) => {
    const row = rows().find((item) => item.classList.contains("row-here"));
    const link = row?.querySelector(".cover");
    if (!link) return false;
    location.assign(link.href + (hash && "decidable" in row.dataset ? hash : ""));
    return true;
  };

  const undecided = (call) => !call.querySelector("input[name$='-decision']:checked");

  // The call that `j` and `k` stand on; else the first one that has no decision.
  const current = () => {
    const items = calls();
    return items[here(items, "call-here")] || items.find(undecided) || items[0];
  };

  const choose = (value) => {
    const call = current(), radio = call?.querySelector(`input[name$="-decision"][value="${value}"]`);
    if (!radio) return false;
    // Nothing is decided from a line: the first press opens it, the next one chooses.
    if (foldOf(call)?.open === false) { mark(calls(), "call-here", calls().indexOf(call)); return true; }
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
    const items = calls(), index = items.indexOf(radio.closest("[data-call]"));
    mark(items, "call-here", value === "edit" ? index : following(items, index));
    if (value === "edit") items[index].querySelector("[data-editor]")?.focus();
    return true;
  };

  // After a choice the next call without one, round past the end; where all have one, the call stays that was chosen.
  const following = (items, index) => {
    const open = items.map((_, step) => (index + 1 + step) % items.length).find((place) => undecided(items[place]));
    return open ?? index;
  };

  const annotate = () => {
    const call = current(), note = call?.querySelector("[data-note]");
    if (!note) return false;
    mark(calls(), "call-here", calls().indexOf(call));
    note.focus();
    return true;
  };

  const pick = () => {
    const row = rows().find((item) => item.classList.contains("row-here"));
    const tick = row?.querySelector("[data-pick]");
    tick?.click();
    return Boolean(tick);
  };

  const follow = (selector) => {
    const link = document.querySelector(selector);
    link?.click();
    return Boolean(link);
  };

  const focus = (selector) => {
    const field = document.querySelector(selector);
    field?.focus();
    field?.select?.();
    return Boolean(field);
  };

  const KEYS = {
    j: () => move(1),
    k: () => move(-1),
    a: () => (rows().length ? open("#approve") : choose("approve")),
    d: () => (rows().length ? open("#deny") : choose("deny")),
    e: () => choose("edit"),
    m: () => annotate(),
    n: () => follow("[data-next]"),
    u: () => follow(".crumbs a"),
    x: () => pick(),
    ".": () => follow("[data-show-new]"),
    "/": () => focus("[data-search]"),
    "?": () => { keymap()?.togglePopover?.(); return true; },
    // On a focused link or button the browser does what Enter means there.
    Enter: () => document.activeElement === document.body && open(""),
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const field = typing(event.target);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const form = document.querySelector("form#decision");
      if (form) event.preventDefault();
      // Held down it would send again what came back to be looked at.
      if (form && !event.repeat) form.requestSubmit(form.querySelector("[data-send]"));
      return;
    }
    // A browser sends the form that a choice or a tick stands in, by its first button. Deciding takes a button.
    if (event.key === "Enter" && event.target.matches?.("form[method=post] input:is([type=radio], [type=checkbox])")) {
      event.preventDefault();
      return;
    }
    if (event.key === "Escape" && field) { field.blur(); return; }
    // A key held down walks; it does not decide call after call unread.
    if (event.repeat && !"jk".includes(event.key)) return;
    if (!single || field || event.ctrlKey || event.metaKey || event.altKey) return;
    if (Object.hasOwn(KEYS, event.key) && KEYS[event.key]()) event.preventDefault();
  });

  // Whoever comes back from a row goes on from it.
  if (location.hash.startsWith("#row-")) {
    const items = rows();
    mark(items, "row-here", items.findIndex((item) => `#${item.id}` === location.hash));
    history.replaceState(null, "", location.pathname + location.search);
  }

  // Opened or closed by hand it stays as it is.
  document.addEventListener("click", (event) => {
    const summary = event.target.closest?.(".call-fold > summary");
    if (summary) delete summary.parentElement.dataset.byKeys;
  });

  // Where a pointer or Tab put the focus is where `j` and `k` go on from.
  document.addEventListener("focusin", (event) => {
    if (event.target.matches("[data-call]")) unfold(event.target);
    for (const [items, name] of [[rows(), "row-here"], [calls(), "call-here"]]) {
      const index = items.findIndex((item) => item.contains(event.target));
      if (index < 0) continue;
      items.forEach((item, place) => {
        const was = item.classList.contains(name);
        item.classList.toggle(name, place === index);
        if (was && place !== index) item.dispatchEvent(new Event("cortex:left"));
      });
    }
  });
})();
