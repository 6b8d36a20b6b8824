// Lists of texts beside the one to label: suspicious labels, the surest texts of a class, search.
import { ask } from "./requests.js";
import { showFoundWords } from "./marks.js";
import { button, clear, element, make, percent, quoted, visible } from "./parts.js";

// What the page does: act, show a text with some words marked, and the names of the classes.
let page = { act: null, show: null, classes: null };

export function startLists(actions) {
  page = actions;
}

const ofTexts = (n) => `${n.toLocaleString("en")} ${n === 1 ? "text" : "texts"}`;

function quiet(parent, text) {
  make(parent, "p", text).className = "quiet";
}

function listOfTexts(parent, texts, controls, words = []) {
  const list = make(parent, "ol");
  list.className = "texts";
  for (const one of texts) {
    const item = make(list, "li");
    item.dataset.number = one.number;
    const line = button(item, "", () => page.show(one.number, words));
    line.className = "text";
    line.title = "Show this text";
    const excerpt = make(line, "span");
    excerpt.dir = "auto";
    showFoundWords(excerpt, visible(one.text), words);
    const row = make(item, "div");
    row.className = "row";
    controls(row, one);
  }
}

function chooseClass(parent, label, without) {
  const select = make(parent, "select");
  select.setAttribute("aria-label", label);
  make(select, "option", without).value = "";
  for (const name of page.classes()) make(select, "option", name).value = name;
  return select;
}

// Returns whether the list may still change, because the server is looking.
export async function showSuspects() {
  const { texts, is_looking: isLooking, known } = await ask("suspects");
  const box = clear(element("suspects"));
  if (texts.length) quiet(box, known);
  quiet(box, texts.length ? "Models that have not seen these labels predict another class." : isLooking ? "Looking…" : known);
  listOfTexts(box, texts, (row, one) => {
    const says = (what, label) => ({ says: `${what} ${quoted(one.text)} as ${quoted(label)}.`, stays: true });
    quiet(row, `labelled ${one.label}, predicted ${one.predicted} ${percent(one.probability)}`);
    button(row, `Fix: ${one.predicted}`, () =>
      page.act("answer", { number: one.number, label: one.predicted }, says("Labelled", one.predicted)));
    button(row, "Keep", () => page.act("keep", { number: one.number }, says("Kept", one.label)));
  });
  return isLooking;
}

// The surest texts of a class, which are accepted together.

const surestLabels = () =>
  [...element("surest").querySelectorAll("li")]
    .map((row) => [Number(row.dataset.number), row.querySelector("select").value])
    .filter(([, name]) => name);

function showCount() {
  const accept = element("surest").querySelector("p > button");
  if (!accept) return;
  const { label } = element("surest").dataset;
  const labels = surestLabels();
  const isMixed = labels.some(([, name]) => name !== label);
  accept.textContent = isMixed ? `Label ${ofTexts(labels.length)}` : `Accept ${labels.length} as ${label}`;
  accept.disabled = !labels.length || element("surest").dataset.refused === "yes";
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
  button(make(box, "p"), "", () => {
    const says = (n) => `Labelled ${ofTexts(n)}; one undo takes all of this back.`;
    page.act("answer_all", { labels: surestLabels() }, { says, stays: true });
  });
  listOfTexts(box, texts, (row, one) => {
    const select = chooseClass(row, "Class of this text", "leave out");
    select.value = label;
    select.addEventListener("change", showCount);
    quiet(row, percent(one.probability));
  });
  showCount();
}

// Asks again if there was no model, or too few random texts; a list that someone looks at stays as it is.
export async function fillSurest() {
  const box = element("surest");
  if (box.hasChildNodes() && (!box.querySelector("li") || box.dataset.refused === "yes")) await showSurest();
}

// The texts that a search has found, with their labels.

function setLabel(select, label, isAnswered) {
  select.options[0].textContent = isAnswered ? "skipped" : "no label";
  select.value = label ?? "";
  select.dataset.label = select.value;
}

export async function showFound() {
  const query = element("search-words").value;
  const { texts, total, words } = await ask(`search?words=${encodeURIComponent(query)}`);
  const box = clear(element("found"));
  quiet(box, `${ofTexts(total)}${total > texts.length ? `, the first ${texts.length} are listed` : ""}`);
  const controls = (row, one) => {
    const select = chooseClass(row, "Label of this text", "");
    setLabel(select, one.label, one.is_answered);
    select.addEventListener("change", async () => {
      const { number } = one;
      const label = select.value;
      const isDone = label
        ? page.act("answer", { number, label }, { says: `Labelled ${quoted(one.text)} as ${quoted(label)}.`, stays: true })
        : page.act("skip", { number }, { says: `Skipped ${quoted(one.text)}.`, stays: true });
      if (!(await isDone)) select.value = select.dataset.label;
    });
  };
  listOfTexts(box, texts, controls, words);
}

// Texts that were answered meanwhile leave the surest ones; those that were found show their answers.
export function updateLists(answered) {
  for (const one of answered) {
    const row = `li[data-number="${one.number}"]`;
    element("surest").querySelector(row)?.remove();
    const select = element("found").querySelector(`${row} select`);
    if (select) setLabel(select, one.label, true);
  }
  showCount();
}

export async function renewLists() {
  if (element("found").hasChildNodes()) await showFound();
  if (element("surest").hasChildNodes()) await showSurest();
}
