// One button for each class, with its key.
import { KEYS } from "./keys.js";
import { element, make } from "./parts.js";

export function showButtons(names, { guessed, chosen, isDisabled }, assign) {
  const group = element("classes");
  const buttons = [...group.children];
  names.forEach((name, number) => {
    let button = buttons[number];
    if (!button) {
      button = make(group, "button");
      button.type = "button";
      make(button, "kbd");
      make(button, "span").dir = "auto";
      button.addEventListener("click", () => assign(number));
    }
    const [key, label] = button.children;
    key.textContent = KEYS[number] || "";
    key.hidden = !KEYS[number];
    label.textContent = name;
    button.title = name;
    button.setAttribute("aria-label", KEYS[number] ? `${name}, key ${KEYS[number]}` : name);
    if (KEYS[number]) button.setAttribute("aria-keyshortcuts", KEYS[number]);
    button.classList.toggle("guessed", name === guessed);
    button.classList.toggle("chosen", name === chosen);
    button.setAttribute("aria-pressed", String(name === chosen));
    button.disabled = isDisabled;
  });
  buttons.slice(names.length).forEach((button) => button.remove());
}

export function showPressed(number) {
  const button = element("classes").children[number];
  button.classList.add("pressed");
  setTimeout(() => button.classList.remove("pressed"), 150);
}
