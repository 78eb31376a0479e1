// The decision form while it is filled in: the sentence of what will be sent, the words on the button, the
// check and the difference of an edit. Without it the form works the same; it only says less beforehand.
(() => {
  "use strict";

  const $$ = (root, selector) => [...root.querySelectorAll(selector)];
  const form = () => document.querySelector("form#decision");
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  const chosen = (call, what) => call.querySelector(`input[name$="-${what}"]:checked`)?.value ?? "";
  const original = (editor) => document.getElementById(editor.id.replace(/-arguments$/, "-original"))?.value ?? editor.defaultValue;

  // -- the edit: valid or not, and what differs ------------------------------------------------------------

  const line = (text, tone, sign) => {
    const span = document.createElement("span");
    if (tone) span.className = tone;
    if (sign) {
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("class", "icon");
      svg.setAttribute("aria-hidden", "true");
      const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
      use.setAttribute("href", `#i-${sign}`);
      svg.append(use);
      span.append(svg, " ");
    }
    span.append(text);
    return span;
  };

  const cell = (name, text) => {
    const element = document.createElement(name);
    // Hidden letters are shown by their code points here, too; what only resembles another one the server tells.
    element.textContent = text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0d\u{e0100}-\u{e01ef}]/gu,
      (letter) => `[U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
    return element;
  };

  // Whether a value changed, and not only the order or the space between values.
  const valued = (change) => change.was !== undefined || change.now !== undefined;

  const draw = (box, changes) => {
    box.hidden = !changes.length;
    box.querySelector("ul").replaceChildren(...changes.map((change) => {
      const item = document.createElement("li");
      item.append(cell("code", change.pointer || "whole text"), " ");
      if (valued(change)) item.append(cell("del", change.was ?? "not there"), " ", cell("ins", change.now ?? "removed"), " ");
      if (change.aside) {
        const aside = cell("span", change.aside);
        aside.className = change.recast ? "aside soon" : "aside";
        item.append(aside);
      }
      return item;
    }));
  };

  // Returns how many values the edit changes, or null where it is not valid.
  const check = (call) => {
    const editor = call.querySelector("[data-editor]");
    if (!editor || chosen(call, "decision") !== "edit") return 0;
    const note = call.querySelector("[data-check]"), box = call.querySelector("[data-diff]");
    // What the server said of this very text stands until the text is another one.
    if (call.querySelector("[data-fault]")) {
      note.replaceChildren();
      return null;
    }
    const { fault } = window.cortexJson.read(editor.value);
    editor.removeAttribute("aria-invalid");
    if (fault) {
      editor.setAttribute("aria-invalid", "true");
      note.replaceChildren(line(`Not JSON: at character ${fault.at + 1} ${fault.text}.`, "stop", "triangle-alert"));
      box.hidden = true;
      return null;
    }
    const before = original(editor);
    const changes = window.cortexJson.changes(before, editor.value);
    const same = editor.value === before, values = changes.filter(valued).length;
    note.replaceChildren(
      line("Valid JSON", "good", "check"),
      line(`${window.cortexJson.bytes(editor.value).toLocaleString("en")} bytes`),
      line(same ? "nothing changed yet" : values
        ? `${plural(values, "value")} changed, the rest is untouched`
        : "no value changed, only how it is written"));
    draw(box, changes);
    return same ? 0 : Math.max(values, 1);
  };

  // -- the sentence and the button ---------------------------------------------------------------------------

  // Whether a call was only a line so far: whoever approves it has not seen all that will run.
  const unopened = (call) => {
    const fold = call.querySelector(":scope > .call-fold");
    if (fold?.open) fold.dataset.seen = "";
    return Boolean(fold) && !("seen" in fold.dataset);
  };

  const answer = (call, kind) => {
    if (kind !== "approval") {
      const what = chosen(call, "kind");
      if (!what) return { text: "is not answered yet" };
      return what === "error" ? { count: "error", text: "an error" } : { count: "result", text: "a result" };
    }
    const what = chosen(call, "decision");
    if (!what) return { text: "is not decided yet" };
    if (what === "deny") return { count: "deny", text: "deny" };
    if (what === "approve") return { count: "approve", text: "approve as asked", unopened: unopened(call) };
    const changed = check(call);
    if (changed === null) return { text: call.querySelector("[data-fault]") ? "is to be mended" : "is no JSON yet" };
    return { count: "approve", text: changed ? `approve with ${plural(changed, "change")}` : "approve, nothing edited yet" };
  };

  const label = (answers, kind) => {
    const count = (name) => answers.filter((one) => one.count === name).length;
    const parts = (kind === "approval" ? ["approve", "deny"] : ["result", "error"])
      .map((name) => [name, count(name)]).filter(([, many]) => many);
    const words = kind === "approval"
      ? parts.map(([name, many]) => `${name} ${many}`)
      : parts.map(([name, many]) => `send ${plural(many, name)}`);
    const text = words.join(", ");
    return text.charAt(0).toUpperCase() + text.slice(1);
  };

  const refresh = () => {
    const element = form();
    if (!element) return;
    const kind = element.dataset.kind, calls = $$(element, "[data-call]");
    calls.forEach(unopened);
    const answers = calls.map((call) => answer(call, kind));
    const complete = answers.every((one) => one.count);
    const send = element.querySelector("[data-send]"), words = send.querySelector("[data-label]");
    words.dataset.plain ??= words.textContent;
    words.textContent = complete ? label(answers, kind) : words.dataset.plain;
    const next = element.querySelector("[data-send-next]");
    if (next) {
      next.dataset.plain ??= next.textContent;
      next.textContent = complete ? `${label(answers, kind)}, open next` : next.dataset.plain;
    }
    // Denying is the safe one: its button is plain. Anything that may run is not.
    send.classList.toggle("primary", !complete || answers.some((one) => one.count !== "deny"));
    for (const [index, call] of calls.entries()) {
      const hint = call.querySelector("[data-note-hint]");
      if (hint) hint.textContent = answers[index].count === "deny" ? "the agent reads this as the reason" : "optional, kept with the decision";
    }
    const sentence = element.querySelector("[data-sentence]");
    sentence.dataset.plain ??= sentence.textContent;
    say(sentence, answers.some((one) => one.count) ? [...summary(answers, names(calls)).flatMap(([who, text], place) => {
      const strong = document.createElement("strong");
      strong.textContent = who;
      return [place ? " · " : "", strong, ` ${text}`];
    }), "."] : [sentence.dataset.plain]);
  };

  // A live region that is filled with the same words again is read out again.
  const say = (region, parts) => {
    const text = parts.map((part) => part.textContent ?? part).join("");
    if (region.textContent !== text) region.replaceChildren(...parts);
  };

  // Each call by its tool, with its number where one tool is called twice.
  const names = (calls) => {
    const tools = calls.map((call) => call.querySelector("h2[id$='-tool']").textContent);
    return tools.map((tool, index) => {
      const short = tool.length > LONGEST_NAME ? `${tool.slice(0, LONGEST_NAME - 1)}…` : tool;
      return tools.indexOf(tool) === tools.lastIndexOf(tool) ? short : `${index + 1} ${short}`;
    });
  };
  const LONGEST_NAME = 40;

  // That it is over stands at the top of the page; somebody who writes far below is told beside the button.
  document.addEventListener("htmx:afterSwap", () => {
    const over = document.querySelector("#pause-news [data-over]"), place = document.getElementById("dock-over");
    if (!over || !place) return;
    place.replaceChildren(over.content.cloneNode(true));
    place.hidden = false;
  });

  // Up to four calls by name; beyond that, how many of each, so that the dock stays a line.
  const summary = (answers, tools) => {
    if (answers.length === 1) return [["This call:", answers[0].text]];
    if (answers.length <= 4) return answers.map((one, index) => [tools[index], one.text]);
    const groups = Map.groupBy ? Map.groupBy(answers, (one) => one.text) : answers.reduce(
      (map, one) => map.set(one.text, [...(map.get(one.text) ?? []), one]), new Map());
    return [...groups].map(([text, ones]) => {
      const unread = ones.filter((one) => one.unopened).length;
      return [String(ones.length), text.replace(/^is /, "") + (unread ? `, ${unread} of them unopened` : "")];
    });
  };

  // -- events ---------------------------------------------------------------------------------------------------

  document.addEventListener("change", (event) => {
    if (!event.target.closest("form#decision")) return;
    refresh();
    // By key one goes on to the next call instead; `m` is the way to the note.
    if (event.isTrusted && event.target.value === "deny") uncover(event.target.closest("[data-call]").querySelector("[data-note]"));
  });

  // Who denies says why: the note comes out from under the bar that lies over the page's end.
  const uncover = (note) => {
    const dock = form().querySelector(".dock");
    const end = getComputedStyle(dock).position === "sticky" ? dock.getBoundingClientRect().top : innerHeight;
    const over = note.getBoundingClientRect().bottom + 12 - end;
    if (over > 0) scrollBy({ top: over, behavior: "instant" });
  };
  const retyped = (call) => {
    call.querySelector("[data-fault]")?.remove();
    refresh();
  };
  document.addEventListener("input", (event) => { if (event.target.matches("[data-editor]")) retyped(event.target.closest("[data-call]")); });
  document.addEventListener("htmx:afterSwap", refresh);

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-restore]");
    if (!button) return;
    const editor = button.closest("[data-call]").querySelector("[data-editor]");
    editor.value = original(editor);
    editor.focus();
    retyped(button.closest("[data-call]"));
  });

  document.addEventListener("click", (event) => {
    const wanted = event.target.closest("[data-choose-all]")?.dataset.chooseAll;
    if (!wanted) return;
    for (const radio of $$(form(), `input[name$="-decision"][value="${wanted}"]`)) radio.checked = true;
    refresh();
  });

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-open-all]")) return;
    for (const fold of $$(form(), ".call-fold")) { fold.open = true; delete fold.dataset.byKeys; }
  });
  document.addEventListener("toggle", (event) => { if (event.target.matches?.("form#decision .call-fold[open]")) refresh(); }, true);

  // An edit that is no JSON is stopped here, at its field, before it is refused over there.
  document.addEventListener("submit", (event) => {
    if (event.target !== form()) return;
    const wrong = $$(event.target, "[data-call]").find((call) => check(call) === null);
    if (!wrong) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    reveal(wrong);
    wrong.querySelector("[data-editor]").focus();
  }, true);

  // A browser points at no field that is folded away, so the templates require none there; a script can open it first.
  const reveal = (inside) => {
    const fold = inside.closest("[data-call]")?.querySelector(":scope > .call-fold");
    if (fold) fold.open = true;
  };
  const require = () => {
    for (const radio of $$(document, ".call-fold input:is([name$='-decision'], [name$='-kind'])")) radio.required = true;
  };
  let pointing = false;
  document.addEventListener("invalid", (event) => {
    // Of all that are missing the browser points at the first one.
    if (pointing) return;
    pointing = true;
    setTimeout(() => { pointing = false; });
    reveal(event.target);
  }, true);
  document.addEventListener("htmx:afterSwap", require);
  require();
  // What stands now, or the form that came back, gets the focus: a screen reader hears it, and the keys go on from there.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.elt?.id === "decision") event.detail.elt.focus({ preventScroll: true });
  });

  // "a" and "d" of the queue open the pause with the choice made for its first call. Nothing is sent.
  const wish = { "#approve": "approve", "#deny": "deny" }[location.hash];
  if (wish) {
    history.replaceState(null, "", location.pathname + location.search);
    const radio = form()?.querySelector(`input[name="call-0-decision"][value="${wish}"]`);
    if (radio) { radio.checked = true; radio.focus({ preventScroll: true }); }
  }
  refresh();
})();
