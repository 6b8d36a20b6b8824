// Lists of texts beside the one to label: suspicious labels, the surest texts of a class, search.
import { ask } from "./requests.js";
import { button, clear, element, listOfTexts, make, percent, quoted } from "./parts.js";


function quiet(parent, text) {
  make(parent, "p", text).className = "quiet";
}

function chooseClass(parent, label, classes, without, chosen) {
  const select = make(parent, "select");
  select.setAttribute("aria-label", label);
  make(select, "option", without).value = "";
  for (const name of classes) make(select, "option", name).value = name;
  select.value = chosen;
  return select;
}

// Returns whether the list may still change, because the server is looking.
export async function showSuspects(act) {
  const { texts, is_looking: isLooking, known } = await ask("suspects");
  const box = clear(element("suspects"));
  if (texts.length) quiet(box, known);
  quiet(box, texts.length ? "Models that have not seen these labels predict another class." : isLooking ? "Looking…" : "None found.");
  listOfTexts(box, texts, (row, one) => {
    const says = (what, label) => ({ says: `${what} ${quoted(one.text)} as ${quoted(label)}.`, stays: true });
    quiet(row, `labelled ${one.label}, predicted ${one.predicted} ${percent(one.probability)}`);
    button(row, `Fix: ${one.predicted}`, () =>
      act("answer", { number: one.number, label: one.predicted }, says("Labelled", one.predicted)));
    button(row, "Keep", () => act("keep", { number: one.number }, says("Kept", one.label)));
  });
  return isLooking;
}

export async function showSurest(act, classes) {
  const label = element("surest-class").value;
  const { texts, known } = await ask(`surest?label=${encodeURIComponent(label)}`);
  const box = clear(element("surest"));
  if (!texts.length) {
    quiet(box, "There is no model of this class yet.");
    return;
  }
  quiet(box, known);
  const chosen = new Map(texts.map((one) => [one.number, label]));
  const accept = button(make(box, "p"), `Accept ${texts.length} as ${label}`, async () => {
    const labels = [...chosen].filter(([, name]) => name);
    const says = `Labelled ${labels.length} ${labels.length === 1 ? "text" : "texts"}; one undo takes all of this back.`;
    if (await act("answer_all", { labels }, { says, stays: true })) showSurest(act, classes).catch(() => {});
  });
  listOfTexts(box, texts, (row, one) => {
    const select = chooseClass(row, "Class of this text", classes(), "leave out", label);
    select.addEventListener("change", () => {
      chosen.set(one.number, select.value);
      const names = [...chosen.values()].filter(Boolean);
      const isMixed = names.some((name) => name !== label);
      accept.textContent = isMixed ? `Label ${names.length} texts` : `Accept ${names.length} as ${label}`;
      accept.disabled = !names.length;
    });
    quiet(row, percent(one.probability));
  });
}

export async function showFound(act, classes) {
  const words = element("search-words").value;
  const { texts, total } = await ask(`search?words=${encodeURIComponent(words)}`);
  const box = clear(element("found"));
  quiet(box, `${total.toLocaleString("en")} ${total === 1 ? "text" : "texts"}${total > texts.length ? `, the first ${texts.length} are listed` : ""}`);
  listOfTexts(box, texts, (row, one) => {
    const select = chooseClass(row, "Label of this text", classes(), one.is_answered ? "skipped" : "no label", one.label || "");
    select.addEventListener("change", () => {
      const says = `Labelled ${quoted(one.text)} as ${quoted(select.value)}.`;
      if (select.value) act("answer", { number: one.number, label: select.value }, { says, stays: true });
    });
  });
}
