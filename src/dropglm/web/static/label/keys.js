// Keys of the page. In a field, they are letters.

export const KEYS = "1234567890qwertyuiop"; // of the classes
const REPEATED = ["ArrowLeft", "ArrowRight", "ArrowDown", "ArrowUp"]; // while they are held down

// A shortcut that returns false leaves its key to the browser.
export function startKeys({ isOn, assign, shortcuts }) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !isOn()) return;
    const target = event.target;
    if (target.matches("input:not([type=checkbox]), select, textarea")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (event.key === "Enter" && target.closest("button, a, summary")) return;
    if (event.repeat && !REPEATED.includes(event.key)) return;
    const number = event.key.length === 1 ? KEYS.indexOf(event.key) : -1;
    if (number >= 0) assign(number);
    else if (!Object.hasOwn(shortcuts, event.key) || shortcuts[event.key]() === false) return;
    event.preventDefault();
  });
  // After a choice in a list or a click, keys are those of the page again; Tab goes on from there.
  document.addEventListener("change", (event) => event.target.matches("select") && event.target.blur());
  document.addEventListener("click", (event) => event.detail && event.target.closest("button, summary")?.blur());
}
