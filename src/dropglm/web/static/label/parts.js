// Parts of the page that are made again and again.

export function make(parent, tag, text) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

export function clear(parent) {
  parent.replaceChildren();
  return parent;
}

export function listOfTexts(parent, texts, controls) {
  const list = make(parent, "ol");
  list.className = "texts";
  for (const one of texts) {
    const item = make(list, "li");
    make(item, "p", one.text).dir = "auto";
    const row = make(item, "div");
    row.className = "row";
    controls(row, one);
  }
}

export const percent = (share) => `${Math.round(100 * share)} %`;
