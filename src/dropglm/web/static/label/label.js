// The page of dropglm label. Texts are shown through textContent only, so that nothing in them is run.
import { ask, send, ServerError } from "./requests.js";
import { drawCurve } from "./curve.js";
import { showMarked } from "./marks.js";
import { make, clear, listOfTexts, percent } from "./parts.js";

const KEYS = "1234567890qwertyuiop";
const POLL = 1500; // milliseconds between two looks at the server
const PANELS = 400; // milliseconds after an answer until the panels are drawn
const element = (id) => document.getElementById(id);

let state = null; // of the server
let shown = null; // the text on the screen: the current one, or an answered one
let place = null; // of an answered text in the order of answers; null for the current one
let isBusy = false; // an answer is on its way
let isOffline = false;
let learnt = null; // version of the model that the panels show, or soon will
let panelsTimer = null;
let openList = null; // which suspects are listed

const guessesHidden = () => !element("guess-shown").checked;

// The text and its classes.

function showText() {
  const box = element("text");
  const current = place === null ? state.current : shown;
  const isNew = !shown || !current || shown.number !== current.number || shown.text !== current.text;
  shown = current;
  box.classList.toggle("answered", place !== null);
  box.classList.toggle("empty", !shown);
  element("show-all").hidden = !shown || shown.text.length >= shown.length;
  if (!shown) {
    box.textContent = "All texts are labelled or skipped.";
  } else {
    const words = shown.guess && !guessesHidden() ? shown.guess.words : [];
    showMarked(box, shown.text, words);
    element("show-all").textContent = `Show all ${shown.length.toLocaleString("en")} characters`;
    if (isNew) box.scrollTop = 0;
  }
  showPlace();
  showGuess();
  showClasses();
  element("back").disabled = place === 0 || state.n_answered === 0;
  element("forward").disabled = place === null;
  element("undo").disabled = !state.can_undo;
  element("skip").disabled = !shown;
}

function showPlace() {
  const line = clear(element("place"));
  if (!shown) return;
  const row = `Row ${(shown.number + 1).toLocaleString("en")}`;
  if (place !== null) {
    const what = shown.label === null ? "skipped" : `labelled ${shown.label}`;
    make(line, "span", `${row}, ${what}. Choose a class to correct it.`);
    make(line, "span", `answer ${place + 1} of ${state.n_answered}`);
  } else {
    make(line, "span", row);
    make(line, "span", shown.source === "random" ? "drawn at random" : "chosen by the model");
  }
}

function showGuess() {
  const line = clear(element("guess-line"));
  if (!shown || place !== null || !shown.guess) {
    if (place === null && shown) {
      line.textContent = state.problem || (state.is_ready && !state.is_learning ? "Guesses start after a few labels of two classes." : "");
    }
    return;
  }
  if (guessesHidden()) {
    line.textContent = "The guess is hidden.";
    return;
  }
  line.append("Guess: ");
  make(line, "b", shown.guess.label);
  line.append(` ${percent(shown.guess.probability)}`);
  const words = shown.guess.words.filter(([, weight]) => weight > 0).map(([word]) => word);
  if (words.length) line.append(`, because of ${words.slice(0, 6).join(", ")}`);
}

function showClasses() {
  const group = element("classes");
  const guessed = shown && shown.guess && place === null && !guessesHidden() ? shown.guess.label : null;
  const names = state.classes.map(([name]) => name);
  const buttons = [...group.children];
  names.forEach((name, number) => {
    let button = buttons[number];
    if (!button) {
      button = make(group, "button");
      button.type = "button";
      make(button, "kbd");
      make(button, "span").dir = "auto";
      button.addEventListener("click", () => answer(state.classes[number][0], button));
    }
    const [key, label] = button.children;
    key.textContent = KEYS[number] || "";
    key.hidden = !KEYS[number];
    label.textContent = name;
    button.title = name;
    button.setAttribute("aria-label", KEYS[number] ? `${name}, key ${KEYS[number]}` : name);
    if (KEYS[number]) button.setAttribute("aria-keyshortcuts", KEYS[number]);
    button.classList.toggle("guessed", name === guessed);
    const isChosen = Boolean(shown) && shown.label === name;
    button.classList.toggle("chosen", isChosen);
    button.setAttribute("aria-pressed", String(isChosen));
    button.disabled = !shown;
  });
  buttons.slice(names.length).forEach((button) => button.remove());
  for (const id of ["rename-old", "surest-class"]) fillSelect(element(id), names);
  element("rename").hidden = !names.length;
  element("new-name").placeholder = names.length ? "New class" : "Name of the first class";
}

function fillSelect(select, names) {
  if ([...select.options].map((option) => option.value).join("\n") === names.join("\n")) return;
  const before = select.value;
  clear(select);
  for (const name of names) make(select, "option", name).value = name;
  if (names.includes(before)) select.value = before;
}

// Numbers, and what the server is doing.

function showNumbers() {
  document.title = `${state.n_labels} labels, ${state.name}`;
  element("title").textContent = state.name;
  const copies = state.n_rows > state.n_texts ? ` different texts (${state.n_rows.toLocaleString("en")} rows)` : "";
  const parts = [`${state.n_labels.toLocaleString("en")} of ${state.n_texts.toLocaleString("en")}${copies} labelled`];
  if (state.n_skipped) parts.push(`${state.n_skipped} skipped`);
  if (state.per_minute) parts.push(`${state.per_minute < 10 ? state.per_minute.toFixed(1) : Math.round(state.per_minute)} per minute`);
  element("progress").textContent = parts.join(", ");
  element("learning").textContent = state.problem ? "" : !state.is_ready ? "Reading the texts…" : state.is_learning ? "Learning…" : "";
  const box = clear(element("counts"));
  const most = Math.max(1, ...state.classes.map(([, count]) => count));
  for (const [name, count] of state.classes) {
    const line = make(box, "div");
    line.className = "count";
    make(line, "span", name).dir = "auto";
    make(line, "span", count.toLocaleString("en"));
    const meter = make(line, "meter");
    meter.max = most;
    meter.value = count;
    meter.setAttribute("aria-label", `${count} labels of ${name}`);
  }
  if (!state.classes.length) make(box, "p", "Add classes first: type a name under the text.");
  showRecent();
  showExport();
}

function showRecent() {
  element("recent").hidden = !state.recent.length;
  const list = clear(element("recent").querySelector("ol"));
  state.recent.toReversed().forEach((one, back) => {
    const line = button(make(list, "li"), "", () => go(state.n_answered - 1 - back));
    make(line, "b", one.label === null ? "skipped" : one.label).dir = "auto";
    make(line, "span", one.text).dir = "auto";
    line.title = "Go back to this text";
  });
}

function showExport() {
  const job = state.export;
  const isRunning = Boolean(job && job.is_running);
  for (const button of document.querySelectorAll("[data-export]")) button.disabled = isRunning;
  const line = element("export-line");
  clear(element("export-link"));
  if (!job) return;
  line.classList.toggle("error", Boolean(job.problem));
  line.textContent = job.problem || (isRunning ? (job.what === "labels" ? "Writing…" : "Training a model on all texts…") : `Written to ${job.path}`);
  if (!isRunning && !job.problem) {
    const link = make(element("export-link"), "a", "Download");
    link.href = `api/download/${job.what}`;
    link.download = "";
  }
}

function showPanelsSoon() {
  // Not while the next text is being drawn, and not more often than anyone can read.
  learnt = state.learnt;
  panelsTimer ??= setTimeout(() => {
    panelsTimer = null;
    showPanels().catch(() => {});
  }, PANELS);
}

async function showPanels() {
  const panels = await ask("panels");
  const last = panels.curve.at(-1);
  element("accuracy-line").textContent = last
    ? `${percent(last[1])}, from ${percent(last[2])} to ${percent(last[3])} with 95 % confidence, by ${last[4]} texts drawn at random`
    : "Shown when ten texts drawn at random were predicted before they were labelled.";
  drawCurve(element("curve"), panels.curve);
  element("more-line").textContent = panels.more ? `About ${panels.more.toLocaleString("en")} more labels for one more point.` : "";
  const box = clear(element("words"));
  for (const [name, words] of panels.words) {
    const line = make(box, "p");
    line.className = "words";
    make(line, "b", name).dir = "auto";
    line.append(words.length ? words.map(([word]) => word).join(", ") : "none yet");
  }
}

function say(sentence, isError = false) {
  const line = element("message");
  line.textContent = sentence;
  line.hidden = !sentence;
  line.classList.toggle("error", isError);
}

// News of the server: after each action, and every now and then.

function take(news, isOwn, stays = false) {
  const old = state;
  state = news;
  if (old && old.run !== news.run) say("The server was started again. All answers are there; go on.");
  else if (isOffline) say("Connected again.");
  else if (old && !isOwn && old.version !== news.version) say("The labels were changed in another tab; this one is up to date again.");
  else if (!old && news.notices.length) say(news.notices.join(" "));
  else if (!old && !news.classes.length) element("new-name").focus();
  else if (isOwn) say("");
  isOffline = false;
  const isSame = old && old.version === news.version && old.run === news.run;
  if (!stays && (isOwn || !isSame)) place = null;
  // A refit must not change the text that someone is reading, nor its guess.
  if (isSame && place === null && shown && news.current && news.current.number === shown.number) state.current = shown;
  showText();
  // The next text is drawn first, then everything else.
  requestAnimationFrame(() => setTimeout(showNumbers));
  if (learnt !== news.learnt || !isSame) showPanelsSoon();
  if (element("suspects-panel").open && (!isSame || openList === null)) showSuspects().catch(() => {});
}

// A connection may break after the server has stored an answer. The server refuses to store it a second time.
async function sendTwice(what, content) {
  try {
    return await send(what, content);
  } catch (error) {
    if (error instanceof ServerError) throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  try {
    return await send(what, content);
  } catch (error) {
    if (error.state && error.state.version > content.seen) return error.state;
    throw error;
  }
}

async function act(what, content = {}, stays = false) {
  if (isBusy || !state) return false;
  isBusy = true;
  try {
    take(await sendTwice(what, { ...content, seen: state.version }), true, stays);
    if (stays && place !== null) await go(place);
    return true;
  } catch (error) {
    if (error.state) {
      take(error.state, false);
    } else {
      say(error instanceof ServerError ? error.message : "The server does not answer; the answer was not stored. Start the command again, and this page goes on.", true);
      if (!(error instanceof ServerError)) isOffline = true;
    }
    return false;
  } finally {
    isBusy = false;
  }
}

async function poll() {
  try {
    if (!isBusy && !document.hidden) {
      const before = state && state.version;
      const news = await ask("state");
      if (!isBusy && (!state || state.version === before)) take(news, false);
    }
  } catch (error) {
    if (!isOffline) say("The server does not answer. Start the command again, and this page goes on.", true);
    isOffline = true;
  }
  setTimeout(poll, POLL);
}

// What the annotator does.

function answer(label, button) {
  if (!shown) return;
  if (button) {
    button.classList.add("pressed");
    setTimeout(() => button.classList.remove("pressed"), 150);
  }
  const next = place === null ? null : place + 1;
  act("answer", { label, number: shown.number }).then((isDone) => {
    if (isDone && next !== null && next < state.n_answered) go(next);
  });
}

async function go(to) {
  if (to === null || to >= state.n_answered) {
    place = null;
    shown = null;
  } else {
    try {
      const found = await ask(`answered/${to}`);
      place = to;
      shown = found;
    } catch (error) {
      say(error.message, true);
    }
  }
  showText();
}

const back = () => place === 0 || !state.n_answered || go((place === null ? state.n_answered : place) - 1);
const forward = () => place === null || go(place + 1);

async function showAll() {
  const whole = await ask(`text/${shown.number}`);
  if (!shown || shown.number !== whole.number) return;
  shown.text = whole.text;
  showText();
}

async function showSuspects() {
  const { texts, is_looking: isLooking } = await ask("suspects");
  openList = isLooking ? null : texts;
  const box = clear(element("suspects"));
  const line = make(box, "p", texts.length ? "Models that have not seen these labels predict another class." : isLooking ? "Looking…" : "None found.");
  line.className = "quiet";
  listOfTexts(box, texts, (row, one) => {
    make(row, "span", `labelled ${one.label}, predicted ${one.predicted} ${percent(one.probability)}`).className = "quiet";
    button(row, `Fix: ${one.predicted}`, () => act("answer", { number: one.number, label: one.predicted }));
    button(row, "Keep", () => act("keep", { number: one.number }));
  });
}

async function showSurest() {
  const label = element("surest-class").value;
  const { texts } = await ask(`surest?label=${encodeURIComponent(label)}`);
  const box = clear(element("surest"));
  if (!texts.length) {
    make(box, "p", "There is no model of this class yet.").className = "quiet";
    return;
  }
  const chosen = new Map(texts.map((one) => [one.number, label]));
  const accept = button(make(box, "p"), `Accept ${texts.length} as ${label}`, async () => {
    const groups = new Map();
    for (const [number, name] of chosen) if (name) groups.set(name, [...(groups.get(name) || []), number]);
    for (const [name, numbers] of groups) if (!(await act("answer_all", { numbers, label: name }))) return;
    showSurest().catch(() => {});
  });
  listOfTexts(box, texts, (row, one) => {
    const select = make(row, "select");
    select.setAttribute("aria-label", "Class of this text");
    make(select, "option", "leave out").value = "";
    for (const [name] of state.classes) make(select, "option", name).value = name;
    select.value = label;
    select.addEventListener("change", () => {
      chosen.set(one.number, select.value);
      const names = [...chosen.values()].filter(Boolean);
      const isMixed = names.some((name) => name !== label);
      accept.textContent = isMixed ? `Label ${names.length} texts` : `Accept ${names.length} as ${label}`;
      accept.disabled = !names.length;
    });
    make(row, "span", percent(one.probability)).className = "quiet";
  });
}

async function showFound() {
  const words = element("search-words").value;
  const { texts, total } = await ask(`search?words=${encodeURIComponent(words)}`);
  const box = clear(element("found"));
  make(box, "p", `${total.toLocaleString("en")} texts${total > texts.length ? `, the first ${texts.length} are listed` : ""}`).className = "quiet";
  listOfTexts(box, texts, (row, one) => {
    const select = make(row, "select");
    select.setAttribute("aria-label", "Label of this text");
    make(select, "option", one.is_answered ? "skipped" : "no label").value = "";
    for (const [name] of state.classes) make(select, "option", name).value = name;
    select.value = one.label || "";
    select.addEventListener("change", () => select.value && act("answer", { number: one.number, label: select.value }));
  });
}

function button(parent, words, action) {
  const made = make(parent, "button", words);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

// Keys and controls.

const SHORTCUTS = {
  z: () => act("undo"),
  s: () => shown && act("skip", { number: shown.number }),
  ArrowLeft: back,
  ArrowRight: forward,
  g: () => element("guess-shown").click(),
  n: () => element("new-name").focus(),
  "/": () => {
    element("search-panel").open = true;
    element("search-words").focus();
  },
  "?": () => element("help-button").click(),
  k: () => suspect(1),
  f: () => suspect(0),
};

function suspect(which) {
  if (!element("suspects-panel").open) return;
  const first = element("suspects").querySelector("li");
  if (first) first.querySelectorAll("button")[which].click();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !state) return;
  const target = event.target;
  if (event.key === "Escape" && target.blur) target.blur();
  if (target.matches("input:not([type=checkbox]), select, textarea")) return;
  const number = event.repeat ? -1 : KEYS.indexOf(event.key);
  if (event.key.length === 1 && number >= 0 && number < state.classes.length) {
    event.preventDefault();
    answer(state.classes[number][0], element("classes").children[number]);
  } else if (Object.hasOwn(SHORTCUTS, event.key)) {
    event.preventDefault();
    SHORTCUTS[event.key]();
  }
});

element("back").addEventListener("click", back);
element("forward").addEventListener("click", forward);
element("undo").addEventListener("click", SHORTCUTS.z);
element("skip").addEventListener("click", SHORTCUTS.s);
element("show-all").addEventListener("click", () => showAll().catch((error) => say(error.message, true)));
element("guess-shown").addEventListener("change", showText);
element("help-button").addEventListener("click", () => {
  const help = element("help");
  help.hidden = !help.hidden;
  element("help-button").setAttribute("aria-expanded", String(!help.hidden));
});
element("new-class").addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = element("new-name").value.trim();
  if (name && (await act("add_class", { name }, true))) {
    element("new-name").value = "";
    if (state.classes.length > 1) element("new-name").blur(); // nobody wants a single class
  }
});
element("rename").addEventListener("click", () => {
  element("rename-form").hidden = false;
  element("new-class").hidden = true;
  element("rename-new").focus();
});
const endRename = () => {
  element("rename-form").hidden = true;
  element("new-class").hidden = false;
  element("rename-new").value = "";
};
element("rename-cancel").addEventListener("click", endRename);
element("rename-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const names = { old: element("rename-old").value, new: element("rename-new").value.trim() };
  if (names.new && (await act("rename_class", names, true))) endRename();
});
element("suspects-panel").addEventListener("toggle", () => {
  openList = null;
  if (element("suspects-panel").open) showSuspects().catch((error) => say(error.message, true));
});
element("surest-show").addEventListener("click", () => showSurest().catch((error) => say(error.message, true)));
element("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  showFound().catch((error) => say(error.message, true));
});
for (const one of document.querySelectorAll("[data-export]")) {
  one.addEventListener("click", () => act("export", { what: one.dataset.export }, true));
}
document.addEventListener("visibilitychange", () => document.hidden || ask("state").then((news) => take(news, false)).catch(() => {}));

poll();
