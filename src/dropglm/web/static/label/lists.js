// Lists of texts beside the one to label: suspicious labels, the surest texts of a class, search.
import { ask } from "./requests.js";
import { guessesHidden } from "./guess.js";
import { showFoundWords } from "./marks.js";
import { button, clear, element, make, percent, quoted, visible } from "./parts.js";

// What the page does: act, and show a text of a list.
let page = { act: null, show: null };
let opened = null; // the row whose text is on the screen, or was last

export function startLists(actions) {
  page = actions;
}

const ofTexts = (n) => `${n.toLocaleString("en")} ${n === 1 ? "text" : "texts"}`;

function quiet(parent, text) {
  const line = make(parent, "p", text);
  line.className = "quiet";
  return line;
}

// Lists texts. What a row says when its text has an answer, or none, is up to ``note``; ``controls`` are its buttons.
function listOfTexts(parent, texts, { note, controls, words = [], guess }) {
  if (texts.length) quiet(parent, "↓ and the keys of the classes label them one by one.").classList.add("hint");
  const list = make(parent, "ol");
  list.className = "texts";
  for (const one of texts) {
    const row = make(list, "li");
    row.dataset.number = one.number;
    const entry = { number: one.number, words, guess: guess && guess(one), row };
    row.entry = entry;
    const line = button(row, "", () => open(entry));
    line.className = "text";
    line.title = "Show this text";
    const excerpt = make(line, "span");
    excerpt.dir = "auto";
    showFoundWords(excerpt, visible(one.text), words);
    const under = make(row, "div");
    under.className = "row";
    const said = make(under, "span");
    said.className = "note quiet";
    if (controls) controls(under, one);
    row.show = (answer) => {
      const isDone = one.label === null ? Boolean(answer) : Boolean(answer && (answer.is_kept || answer.label !== one.label));
      row.classList.toggle("done", isDone);
      said.textContent = note(one, answer, isDone);
      for (const control of under.querySelectorAll("button, input")) control.disabled = isDone;
    };
    row.show(one.is_answered ? { label: one.label } : null);
  }
  opened = null;
}

const answerOf = (answer) => (answer.label === null ? "skipped" : `labelled ${answer.label}`);

function open(entry) {
  opened = entry.row;
  page.show(entry);
}

// The entry of the next row of the list whose text has no answer yet, or null.
export function nextOpen(entry) {
  let row = entry.row;
  do row = row.nextElementSibling;
  while (row && row.classList.contains("done"));
  return row && row.entry;
}

export function placeInList({ row }) {
  const rows = [...(row.parentElement ? row.parentElement.children : [row])];
  return `${rows.indexOf(row) + 1} of ${rows.length} in the list`;
}

// Marks the row whose text is on the screen; null marks none.
export function markOpened(entry) {
  for (const one of document.querySelectorAll("li.opened")) one.classList.remove("opened");
  if (!entry) return;
  const { row } = entry;
  opened = row;
  row.classList.add("opened");
  const list = row.parentElement; // it is scrolled by itself: the page stays where it is
  const least = row.offsetTop + row.offsetHeight - list.clientHeight;
  list.scrollTop = Math.min(row.offsetTop, Math.max(list.scrollTop, least));
}

// Shows the next text of the list that was used last, or the one before; false if there is none.
export function step(by, isInList) {
  const list = opened && opened.isConnected ? opened.parentElement : [...document.querySelectorAll("details[open] ol.texts")].at(-1);
  if (!list || !list.closest("details").open) return false;
  const rows = [...list.children];
  const at = rows.indexOf(opened);
  const row = rows[at < 0 ? 0 : isInList ? at + by : at];
  if (row) open(row.entry);
  return true;
}

// Shows what answers the texts of the lists have now. Rows stay where they are.
export async function updateLists() {
  const rows = [...document.querySelectorAll("ol.texts li")];
  if (!rows.length) return;
  const labels = await ask(`labels?of=${[...new Set(rows.map((row) => row.dataset.number))]}`);
  for (const row of rows) row.show(labels[row.dataset.number]);
  showCount();
}

// Returns whether the list may still change, because the server is looking. A list with open rows stays as it is.
export async function showSuspects(isAgain = false) {
  const box = element("suspects");
  if (!isAgain && box.querySelector("li:not(.done)")) return false;
  const { texts, is_looking: isLooking, known } = await ask("suspects");
  if (!isAgain && isLooking && box.querySelector("li")) return true;
  clear(box);
  if (texts.length) quiet(box, known);
  quiet(box, texts.length ? "Models that have not seen these labels predict another class." : isLooking ? "Looking…" : known);
  listOfTexts(box, texts, {
    note: (one, answer, isDone) =>
      isDone ? (answer.is_kept ? `kept as ${answer.label}` : answerOf(answer)) : `labelled ${one.label}, predicted ${one.predicted} ${percent(one.probability)}`,
    controls: (row, one) => {
      const says = (what, label) => ({ says: `${what} ${quoted(one.text)} as ${quoted(label)}.`, stays: true });
      button(row, `Fix: ${one.predicted}`, () =>
        page.act("answer", { number: one.number, label: one.predicted }, says("Labelled", one.predicted)));
      button(row, "Keep", () => page.act("keep", { number: one.number }, says("Kept", one.label)));
    },
    guess: (one) => ({ label: one.predicted, probability: one.probability, words: [] }),
  });
  return isLooking;
}

// Fixes the first suspicious label that is open, or keeps it.
export function decideFirst(which) {
  const first = element("suspects-panel").open && element("suspects").querySelector("li:not(.done)");
  if (!first) return false;
  first.querySelectorAll(".row button")[which].click();
  return true;
}

// The surest texts of a class, which are accepted together.

const surestNumbers = () =>
  [...element("surest").querySelectorAll("li:not(.done)")].filter((row) => row.querySelector("input").checked).map((row) => Number(row.dataset.number));

function showCount() {
  const accept = element("surest").querySelector("p > button");
  if (!accept) return;
  const n = surestNumbers().length;
  accept.textContent = `Accept ${n} as ${element("surest").dataset.label}`;
  accept.disabled = !n || element("surest").dataset.refused === "yes";
}

export async function showSurest() {
  const label = element("surest-class").value;
  const { texts, known, why_not_accept: refusal } = await ask(`surest?label=${encodeURIComponent(label)}`);
  const box = clear(element("surest"));
  box.dataset.label = label;
  box.dataset.refused = refusal ? "yes" : "no";
  if (!texts.length) {
    quiet(box, "The model has not learnt this class yet.");
    return;
  }
  quiet(box, known);
  button(make(box, "p"), "", async () => {
    const says = (n) => `Labelled ${ofTexts(n)}; one undo takes all of this back.`;
    await page.act("answer_all", { labels: surestNumbers().map((number) => [number, label]) }, { says, stays: true });
  });
  listOfTexts(box, texts, {
    note: (one, answer, isDone) => (isDone ? answerOf(answer) : percent(one.probability)),
    controls: (row) => {
      const line = make(row, "label");
      const tick = make(line, "input");
      tick.type = "checkbox";
      tick.checked = true;
      tick.addEventListener("change", showCount);
      line.append("accept");
    },
  });
  showCount();
}

// Asks again if there was no model, or too few random texts; a list that someone looks at stays as it is.
export async function fillSurest() {
  const box = element("surest");
  if (box.hasChildNodes() && (!box.querySelector("li") || box.dataset.refused === "yes")) await showSurest();
}

// The texts that a search has found, with their labels.
export async function showFound() {
  const query = element("search-words").value;
  const { texts, total, words } = await ask(`search?words=${encodeURIComponent(query)}`);
  const box = clear(element("found"));
  quiet(box, `${ofTexts(total)}${total > texts.length ? `, the first ${texts.length} are listed` : ""}`);
  const note = (one, answer) =>
    answer ? answerOf(answer) : one.guess && !guessesHidden() ? `not labelled, guess: ${one.guess}` : "not labelled";
  listOfTexts(box, texts, { note, words });
}

// Asks for all lists again, since a class has another name or is gone.
export async function renewLists() {
  if (element("found").hasChildNodes()) await showFound();
  if (element("surest").hasChildNodes()) await showSurest();
  if (element("suspects").hasChildNodes()) await showSuspects(true);
}
