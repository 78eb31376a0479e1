// How much more a text field takes, said once there is little left: not learned by a refusal. Without it the server
// says so, and keeps what was typed.
(() => {
  "use strict";

  const NEAR = 0.9;

  const say = (field) => {
    const most = Number(field.dataset.most), id = `${field.id}-left`;
    // The server counts code points, and a line's end as one.
    const typed = [...field.value].length;
    let words = document.getElementById(id);
    if (typed < most * NEAR) { words?.remove(); return; }
    if (!words) {
      words = document.createElement("p");
      words.id = id;
      words.className = "hint";
      words.setAttribute("role", "status");
      field.after(words);
    }
    const over = typed - most, number = (count) => count.toLocaleString("en");
    words.classList.toggle("stop", over > 0);
    words.textContent = over > 0 ? `${number(over)} characters too many: a note has at most ${number(most)}`
      : `${number(typed)} of ${number(most)} characters`;
  };

  document.addEventListener("input", (event) => { if (event.target.dataset.most) say(event.target); });
})();
