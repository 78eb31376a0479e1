// Counts down every time left on the page, without a request. The server's clock rules: the offset to
// this machine's clock is taken once, from the instant that the page was rendered at.
(() => {
  "use strict";

  const rendered = Date.parse(document.body.dataset.now || "");
  const offset = Number.isNaN(rendered) ? 0 : rendered - Date.now();
  const NOW = 2 * 60, SOON = 15 * 60;

  // The same words as the server's: seconds below 15 minutes, then minutes, hours, days.
  const words = (seconds) => {
    const minutes = Math.floor(seconds / 60), rest = seconds % 60;
    if (minutes === 0) return `${rest} s`;
    if (seconds < SOON) return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
    const hours = Math.floor(minutes / 60), odd = minutes % 60;
    if (hours === 0) return `${minutes} min`;
    const days = Math.floor(hours / 24), left = hours % 24;
    if (days === 0) return odd ? `${hours} h ${odd} min` : `${hours} h`;
    const name = `${days} day${days > 1 ? "s" : ""}`;
    return left ? `${name} ${left} h` : name;
  };

  // How long somebody has waited: nobody reads the seconds of it.
  const rough = (seconds) => (seconds < 60 ? `${seconds} s` : words(seconds - (seconds % 60)));

  const urgency = (seconds) => (seconds <= 0 ? "past" : seconds < NOW ? "now" : seconds < SOON ? "soon" : "");

  const put = (element, text) => {
    if (element && element.textContent !== text) element.textContent = text;
  };

  const show = (element, now) => {
    // Rounded down, as the server does, and never past zero.
    const seconds = Math.max(0, Math.floor((Date.parse(element.dataset.until) - now) / 1000));
    const level = urgency(seconds);
    put(element.querySelector("[data-text]"), level === "past" ? "Time is up" : words(seconds));
    if (level === "past") put(element.querySelector("[data-suffix]"), "");
    const base = element.dataset.shape || "left";
    for (const name of ["past", "now", "soon"]) element.classList.toggle(`${base}-${name}`, name === level);
  };

  const tick = () => {
    if (document.hidden) return;
    const now = Date.now() + offset;
    for (const element of document.querySelectorAll("[data-until]")) show(element, now);
    for (const element of document.querySelectorAll("[data-since]")) {
      put(element, rough(Math.max(0, Math.floor((now - Date.parse(element.dataset.since)) / 1000))));
    }
  };

  document.addEventListener("visibilitychange", tick);
  document.addEventListener("htmx:afterSwap", tick);
  setInterval(tick, 1000);
})();
