// Keys of the page. In a field, they are letters.

export const KEYS = "1234567890qwertyuiop"; // of the classes

export function startKeys({ isOn, assign, shortcuts }) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !isOn()) return;
    const target = event.target;
    if (event.key === "Escape" && target.blur) target.blur();
    if (target.matches("input:not([type=checkbox]), select, textarea")) return;
    const number = event.repeat || event.key.length !== 1 ? -1 : KEYS.indexOf(event.key);
    if (number >= 0) {
      event.preventDefault();
      assign(number);
    } else if (Object.hasOwn(shortcuts, event.key)) {
      event.preventDefault();
      shortcuts[event.key]();
    }
  });
  // After a choice in a list, keys are those of the page again; Tab goes on from the list.
  document.addEventListener("change", (event) => event.target.matches("select") && event.target.blur());
}
