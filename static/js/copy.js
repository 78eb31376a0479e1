// Copies a text as it is stored, not as it is shown: marks, folds and line breaks are only on the page.
(() => {
  "use strict";

  // The words of a button while it says what came of a press, and until when.
  const saying = new WeakMap();

  const say = (button, text) => {
    const label = button.lastChild;
    const { was, timer } = saying.get(button) ?? { was: label };
    clearTimeout(timer);
    const words = document.createElement("span");
    words.textContent = text;
    label.replaceWith(words);
    saying.set(button, { was, timer: setTimeout(() => { words.replaceWith(was); saying.delete(button); }, 2000) });
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    const text = "defaultValue" in source ? source.defaultValue : source.textContent.trim();
    try {
      await navigator.clipboard.writeText(text);
      say(button, "Copied");
    } catch {
      say(button, "Not allowed by the browser");
    }
  });
})();
