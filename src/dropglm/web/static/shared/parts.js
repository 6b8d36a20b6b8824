// Parts of pages that are made again and again.

const EXCERPT = 40; // characters of a text in a sentence

export const element = (id) => document.getElementById(id);

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

export function button(parent, words, action) {
  const made = make(parent, "button", words);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

// Shows a name that may be broken where it has words.
export function showName(parent, name) {
  parent.replaceChildren(...name.split(/(?<=[_./-])/u).flatMap((part) => [part, document.createElement("wbr")]));
}

// With a blank at which a line is not broken.
export const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

export const visible = (text) => (text.trim() ? text : "(empty text)");

export function quoted(text) {
  const words = visible(text).slice(0, 4 * EXCERPT).trim().replace(/\s+/gu, " ");
  return `“${words.length <= EXCERPT ? words : `${words.slice(0, EXCERPT - 1).trimEnd()}…`}”`;
}
