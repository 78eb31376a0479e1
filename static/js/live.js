// What keeps a page true while somebody reads it: polls, answers that are not what was expected, the end
// of a session. It never moves what is being read, and it leaves nothing in the browser's storage.
(() => {
  "use strict";

  document.body.classList.add("scripted");
  const INTERVAL = 5000;
  let lost = 0;      // since when no answer came
  let stopped = false;

  // htmx notes the address of the page for its history, which is switched off here.
  const forget = () => {
    try { sessionStorage.removeItem("htmx-current-path-for-history"); } catch { /* storage is off */ }
  };
  forget();

  const toast = (id, title, text, link) => {
    const place = document.getElementById("toasts"), pattern = document.getElementById("toast");
    let box = document.getElementById(id);
    if (!box) {
      box = pattern.content.firstElementChild.cloneNode(true);
      box.id = id;
      box.querySelector("button").addEventListener("click", () => box.remove());
      place.append(box);
    }
    box.querySelector("strong").textContent = title;
    box.querySelector("span").textContent = text;
    const anchor = box.querySelector("a");
    anchor.hidden = !link;
    if (link) anchor.href = link;
  };
  const untoast = (id) => document.getElementById(id)?.remove();

  const signIn = () => `/sign-in/?next=${encodeURIComponent(location.pathname + location.search)}&ended=1`;
  const isPoll = (event) => Boolean(event.detail.elt?.closest?.("[data-poll]")) && !event.detail.elt.closest("[data-show-new]");

  // -- polls ---------------------------------------------------------------------------------------

  const poll = () => {
    if (stopped || document.hidden) return;
    const element = document.querySelector("[data-poll]");
    if (element && window.htmx) window.htmx.trigger(element, "cortex:poll");
  };
  setInterval(poll, INTERVAL);
  document.addEventListener("visibilitychange", poll);

  // The server is told which rows are in sight, so that it can say which of them have left.
  const inSight = () => [...document.querySelectorAll("#queue-results [data-row]:not(.row-gone)")].map((row) => row.dataset.row);
  document.addEventListener("htmx:configRequest", (event) => {
    if (isPoll(event)) event.detail.parameters.set("shown", inSight().join(","));
  });

  // A new row stands where its deadline puts it, not on top: it says that it is one.
  let before = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    before = event.detail.requestConfig.elt.closest("[data-show-new]") && new Set(inSight());
  });
  const mark = () => {
    for (const row of document.querySelectorAll("#queue-results [data-row]")) {
      if (before?.has(row.dataset.row) ?? true) continue;
      const word = document.createElement("span");
      word.className = "fresh";
      word.textContent = "New";
      row.querySelector(".call-line").prepend(word, " ");
    }
    before = null;
  };

  // A row that was decided leaves; one that holds the focus stays, greyed, until the focus has gone.
  const leave = (row, text) => {
    if (row.classList.contains("row-gone")) return;
    row.classList.add("row-gone");
    row.removeAttribute("data-decidable");
    const situation = row.querySelector("[data-situation]");
    if (situation) situation.textContent = text;
    const list = row.parentElement;
    const remove = () => {
      if (!row.isConnected || row.contains(document.activeElement) || row.classList.contains("row-here")) return;
      const said = list.closest(".group")?.querySelector(".group-title .count"), many = list.children.length;
      row.remove();
      if (said) said.textContent = said.textContent.replace(new RegExp(`^${many}(?!\\d)`), many - 1);
      if (!list.children.length) list.closest(".group")?.remove();
      // What a list says when nothing is in it, the server says.
      if (!document.querySelector("#queue-results [data-row]")) window.htmx?.ajax("GET", location.pathname + location.search, { source: "#queue-results", target: "#queue-results", swap: "outerHTML" });
    };
    row.addEventListener("focusout", () => setTimeout(remove, 0));
    row.addEventListener("cortex:left", remove);
    setTimeout(remove, 4000);
  };

  // What needs somebody is read off a tab in the background too.
  const count = (name, number) => {
    for (const place of document.querySelectorAll(`[data-counts="${name}"]`)) {
      if (place.textContent !== number) place.textContent = number;
      place.closest(".count").hidden = !number;
    }
    if (name === "mine") document.title = `${number && `(${number}) `}${document.title.replace(/^\([^)]*\) /, "")}`;
  };

  document.addEventListener("htmx:afterSwap", (event) => {
    forget();
    const news = document.getElementById("queue-news");
    if (!news) return;
    for (const gone of news.querySelectorAll("[data-gone]")) {
      const row = document.getElementById(`row-${gone.dataset.gone}`);
      if (row) leave(row, gone.textContent);
      gone.remove();
    }
    for (const counted of news.querySelectorAll("[data-counted]")) {
      count(counted.dataset.counted, counted.textContent);
      counted.remove();
    }
    mark();
    if (event.detail.target?.id === "queue-results") document.querySelector("#queue-results .cover")?.focus();
  });

  // -- answers that are not what was asked for -----------------------------------------------------------

  const LOST = "toast-lost", ODD = "toast-odd", ENDED = "toast-ended";

  document.addEventListener("htmx:beforeOnLoad", (event) => {
    lost = 0;
    untoast(LOST);
    if (event.detail.xhr.status !== 401) return;
    stopped = true;
    // A poll must not take the page away from somebody who types; a press may.
    if (isPoll(event)) {
      event.preventDefault();
      toast(ENDED, "Your session ended", "Nothing here is sent or refreshed any more. What you typed stays until you leave this page.", signIn());
    } else if (!event.detail.xhr.getResponseHeader("HX-Redirect")) {
      location.assign(signIn());
    }
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target } = event.detail;
    if (xhr.status < 400) return;
    if (isPoll(event)) {
      event.detail.shouldSwap = false;
      toast(ODD, "The list could not be refreshed", `The server answered ${xhr.status}. Times keep counting; the list may be old.`);
      return;
    }
    // Only a fragment of ours may go into the page: never a proxy's error page, never a login form.
    const answer = new DOMParser().parseFromString(xhr.responseText, "text/html").body.firstElementChild;
    if (!answer || !["problem", target?.id].includes(answer.id)) {
      event.detail.shouldSwap = false;
      toast(ODD, "The server did not answer as expected", `It answered ${xhr.status}. Whether your press took effect is not known: reload to see what stands. What you typed is still here.`);
    }
  });

  // What an answer will replace says so while one waits; polls replace nothing that anybody reads.
  // An answer may be turned to another target than the one that waits for it.
  const waiting = new WeakMap();
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isPoll(event)) return;
    waiting.set(event.detail.xhr, event.detail.target);
    event.detail.target.setAttribute("aria-busy", "true");
  });
  document.addEventListener("htmx:afterRequest", (event) => waiting.get(event.detail.xhr)?.removeAttribute("aria-busy"));

  const unreachable = (event) => {
    lost ||= Date.now();
    const ago = Math.round((Date.now() - lost) / 1000);
    if (isPoll(event)) {
      toast(LOST, "No answer from the server, trying again", `${ago ? `For ${ago} s now. ` : ""}Times keep counting; the list may be old.`);
    } else {
      toast(ODD, "No answer from the server", "Whether your press took effect is not known. Sending the same again is safe: it is taken once.");
    }
  };
  document.addEventListener("htmx:sendError", unreachable);
  document.addEventListener("htmx:timeout", unreachable);

  // Coming back by the back button must not show an old state as if it were the present one.
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  // -- filters: choosing is enough --------------------------------------------------------------------------

  // By keyboard each step through the options is a choice already: then a button shows what matches.
  let byKeys = false;
  document.addEventListener("keydown", () => { byKeys = true; }, true);
  document.addEventListener("pointerdown", () => { byKeys = false; }, true);
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-filter]")) return;
    if (byKeys) event.target.form.classList.add("by-keys");
    else event.target.form.requestSubmit();
  });
  // Empty filters do not belong into the address.
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "search") return;
    for (const field of event.target.elements) if (field.name && field.value === "") field.disabled = true;
    setTimeout(() => { for (const field of event.target.elements) field.disabled = false; }, 0);
  });
})();
