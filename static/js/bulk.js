// Several approvals of one tool, ticked in the queue: the bar says what is ticked, and leads to where all of it
// is looked at. Nothing is decided from here, since a row shows its arguments cut short.
(() => {
  "use strict";

  const bar = () => document.getElementById("bulk");
  const ticks = () => [...document.querySelectorAll("[data-pick]")];
  let kept = [];

  const refresh = () => {
    const form = bar();
    if (!form) return;
    const picked = ticks().filter((tick) => tick.checked);
    const tools = [...new Set(picked.map((tick) => tick.dataset.pick))];
    form.classList.toggle("bulk-on", picked.length > 0);
    const words = form.querySelector("[data-bulk-words]"), send = form.querySelector("[data-bulk-send]");
    const count = document.createElement("strong");
    count.textContent = `${picked.length} selected`;
    const mixed = tools.length > 1;
    const rest = mixed ? ` · ${tools.length} tools: only approvals of one tool are decided together`
      : ` · ${tools[0] ?? ""}`;
    words.replaceChildren(count, rest);
    send.textContent = picked.length === 1 ? "Look at it" : `Look at ${picked.length} together`;
    send.disabled = mixed;
  };

  document.addEventListener("change", (event) => { if (event.target.matches("[data-pick]")) refresh(); });
  document.addEventListener("reset", (event) => { if (event.target.id === "bulk") setTimeout(refresh, 0); });

  // "Show new" brings the rows anew; what was ticked stays ticked.
  document.addEventListener("htmx:beforeSwap", () => { kept = ticks().filter((tick) => tick.checked).map((tick) => tick.value); });
  document.addEventListener("htmx:afterSwap", () => {
    for (const tick of ticks()) if (kept.includes(tick.value)) tick.checked = true;
    refresh();
  });
  refresh();

  // -- the page on which they are looked at together ---------------------------------------------------------

  // Where all of it is looked at, what one would not decide with the others is left out again.
  const takes = () => [...document.querySelectorAll("[data-take]")];
  const recount = () => {
    const form = document.getElementById("bulk-decision");
    if (!form) return;
    const taken = takes().filter((tick) => tick.checked), left = takes().length - taken.length;
    const calls = taken.reduce((sum, tick) => sum + Number(tick.dataset.take), 0);
    for (const number of form.querySelectorAll("[data-taken]")) number.textContent = calls;
    for (const button of form.querySelectorAll("button[name=decision]")) button.disabled = !calls;
    const words = form.querySelector("[data-take-words]");
    words.dataset.plain ??= words.textContent;
    words.textContent = !calls ? "Nothing is ticked. Tick what you want to decide."
      : left ? `${left} left as ${left === 1 ? "it is" : "they are"}, and still waiting. ${words.dataset.plain}` : words.dataset.plain;
  };
  document.addEventListener("change", (event) => { if (event.target.matches("[data-take]")) recount(); });
  recount();
})();
