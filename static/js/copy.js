// Copies a text as it is stored, not as it is shown: marks, folds and line breaks are only on the page.
(() => {
  "use strict";

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    const text = "defaultValue" in source ? source.defaultValue : source.textContent.trim();
    const words = button.lastChild, was = words.textContent;
    try {
      await navigator.clipboard.writeText(text);
      words.textContent = "Copied";
    } catch {
      words.textContent = "Not allowed by the browser";
    }
    setTimeout(() => { words.textContent = was; }, 2000);
  });
})();
