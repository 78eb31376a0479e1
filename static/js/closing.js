// The closing form while it is filled in: the proof's digest before the eyes, its own words in fields that are
// empty, faults at their fields. Each answer comes from the server; what is typed and where is never touched.
// Without it the button Check does the same.
(() => {
  "use strict";

  const form = document.getElementById("closing");
  if (!form) return;
  const proof = form.elements.proof, file = form.elements.proof_file;
  const typed = (field) => field.dispatchEvent(new Event("input", { bubbles: true }));
  // The same four letters that the server leaves out; another trim would be another digest.
  const bare = (text) => text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");

  // -- the digest, computed here and by the server --------------------------------------------------------

  const facts = () => document.querySelector("[data-proof-facts]");
  const span = (text, ...more) => {
    const element = document.createElement("span");
    element.append(text, ...more);
    return element;
  };

  const digest = async () => {
    const text = bare(proof.value), bytes = new TextEncoder().encode(text);
    // Browsers compute only on https and on this machine; elsewhere the server's figure comes a moment later.
    if (!text || !window.crypto?.subtle) return;
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    if (bare(proof.value) !== text) return;
    const hex = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const value = span(hex.slice(0, 32), document.createElement("wbr"), hex.slice(32));
    value.className = "data";
    value.dataset.proofSha256 = "";
    facts().replaceChildren(
      span(`${bytes.length.toLocaleString("en")} bytes, without white space around`), span("SHA-256 ", value));
  };
  proof.addEventListener("input", digest);

  // A chosen file becomes the text, so that what is sent stands before the eyes, and is there once.
  file.addEventListener("change", async () => {
    const chosen = file.files[0];
    if (!chosen || chosen.size > 1 << 20) return;
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await chosen.arrayBuffer());
    } catch { return; }
    proof.value = bare(text);
    file.value = "";
    typed(proof);
  });

  // -- after each answer --------------------------------------------------------------------------------------

  const faulty = (name) => document.getElementById(`note-${name}`)?.classList.contains("fault");

  const mark = () => {
    for (const note of document.querySelectorAll("[data-note]")) {
      const field = document.getElementById(`closing-${note.dataset.note}`);
      if (faulty(note.dataset.note)) field?.setAttribute("aria-invalid", "true");
      else field?.removeAttribute("aria-invalid");
    }
    for (const link of form.querySelectorAll("[data-mend]")) link.classList.toggle("mended", !faulty(link.dataset.mend));
    const tally = form.querySelector("[data-tally]"), count = form.querySelectorAll("[data-note].fault").length;
    if (tally) tally.lastChild.textContent = count ? ` ${count} fault${count === 1 ? "" : "s"} to mend` : " Mended";
  };

  const fill = () => {
    let filled = false;
    for (const { name, value } of document.getElementById("proof-box").attributes) {
      const field = name.startsWith("data-claim-") && form.elements[name.slice("data-claim-".length)];
      if (!field || field.value || field === document.activeElement) continue;
      field.value = value;
      filled = true;
    }
    if (filled) typed(proof);
  };

  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.elt?.id !== "frozen") return;
    mark();
    fill();
  });

  // Once the closure is on its way nothing is checked any more: a check would come after it, find the resume closed
  // and put that in the place of the receipt that is being opened.
  const check = form.querySelector("button[value=check]");
  let closing = false;
  form.addEventListener("submit", (event) => {
    if (event.submitter?.value !== "close") return;
    closing = true;
    window.htmx.trigger(check, "htmx:abort");
  });
  window.addEventListener("pageshow", () => { closing = false; });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (closing && event.detail.elt === check) event.preventDefault();
  });

  // What checks by itself must not take the page away from somebody who types; a press may.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const { xhr, requestConfig } = event.detail;
    if (xhr.status !== 401 || requestConfig?.triggeringEvent?.type === "click") return;
    event.preventDefault();
    document.querySelector("[data-frozen-state]").textContent = "Your session ended: sign in again to go on";
  });
})();
