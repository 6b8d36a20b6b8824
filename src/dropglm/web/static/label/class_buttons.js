// One button for each class, with its key.
import { KEYS } from "./keys.js";
import { element, make, showName } from "./parts.js";

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
    if (button.title !== name) showName(label, name);
    button.title = name;
    button.setAttribute("aria-label", KEYS[number] ? `${name}, key ${KEYS[number]}` : name);
    if (KEYS[number]) button.setAttribute("aria-keyshortcuts", KEYS[number]);
    button.classList.toggle("guessed", name === guessed);
    button.classList.toggle("chosen", name === chosen);
    button.setAttribute("aria-pressed", String(name === chosen));
    button.disabled = isDisabled;
  });
  buttons.slice(names.length).forEach((button) => button.remove());
  element("find-class").hidden = names.length <= KEYS.length;
}

// Classes without a key are found by a part of their name; Enter chooses the first one.
export function startFilter(assign) {
  const field = element("find-class");
  const group = element("classes");
  const matches = ({ title }) => title.toLowerCase().includes(field.value.trim().toLowerCase());
  const filter = () => {
    for (const button of group.children) button.hidden = !matches(button);
  };
  const reset = () => {
    field.value = "";
    filter();
  };
  field.addEventListener("input", filter);
  field.addEventListener("keydown", (event) => {
    if (!["Enter", "Escape"].includes(event.key)) return;
    const number = event.key === "Enter" && field.value.trim() ? [...group.children].findIndex(matches) : -1;
    if (number >= 0) assign(number);
    reset();
    field.blur();
  });
  group.addEventListener("click", reset);
}

export function showPressed(number) {
  const button = element("classes").children[number];
  button.classList.add("pressed");
  setTimeout(() => button.classList.remove("pressed"), 150);
}
