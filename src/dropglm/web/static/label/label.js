// The page of dropglm label. Texts are shown through textContent only, so that nothing in them is run.
import { ask, send, ServerError } from "./requests.js";
import { showMarked } from "./marks.js";
import { showNumbers, showPanels } from "./numbers.js";
import { showClassForms, startClassForms } from "./class_forms.js";
import { showFound, showSurest, showSuspects } from "./lists.js";
import { clear, element, make, percent, quoted } from "./parts.js";

const KEYS = "1234567890qwertyuiop";
const POLL = 1500; // milliseconds between two looks at the server
const POLL_EXPORT = 250; // milliseconds while a file is being written
const PANELS = 400; // milliseconds after an answer until the panels are drawn
const SETTLE = 300; // milliseconds to notice that the text has changed by itself, before keys label it
const HIDDEN = "dropglm-guesses-hidden"; // in the storage of the browser

let state = null; // of the server
let shown = null; // the text on the screen: the current one, or an answered one
let place = null; // of an answered text in the order of answers; null for the current one
let trail = []; // places from which the answers of this page were given, for undo
let isBusy = false; // an answer is on its way
let isOffline = false;
let drawn = {}; // the text and the marked words that are drawn
let settling = null; // the timer while keys do not label
let learnt = null; // version of the model that the panels show, or soon will
let panelsTimer = null;
let pollTimer = null;
let isPolling = false;
let isLooking = true; // the server has not finished looking for suspicious labels

const guessesHidden = () => !element("guess-shown").checked;
const classes = () => state.classes.map(([name]) => name);

// The text and its classes.

function showText(isOwn = true) {
  const box = element("text");
  const current = place === null ? state.current : shown;
  const isNew = !shown || !current || shown.number !== current.number || shown.text !== current.text;
  if (isNew && !isOwn) settle();
  shown = current;
  box.classList.toggle("answered", place !== null);
  box.classList.toggle("empty", !shown);
  element("show-all").hidden = !shown || shown.text.length >= shown.length;
  const text = shown ? shown.text : "All texts are labelled or skipped.";
  const words = shown && shown.guess && !guessesHidden() ? shown.guess.words : [];
  // A text that is drawn again loses what is selected in it, and is read aloud again.
  if (drawn.text !== text || String(drawn.words) !== String(words)) {
    showMarked(box, text, words);
    drawn = { text, words };
  }
  if (shown) element("show-all").textContent = `Show all ${shown.length.toLocaleString("en")} characters`;
  if (isNew) box.scrollTop = 0;
  showPlace();
  showGuess();
  showClasses();
  element("back").disabled = place === 0 || state.n_answered === 0;
  element("forward").disabled = place === null;
  element("undo").disabled = !state.undo;
  element("undo").title = state.undo ? `Undo (z): ${state.undo}` : "Undo (z)";
  element("skip").disabled = !shown;
}

// Whoever presses a key when the text changes by itself means the text before.
function settle() {
  clearTimeout(settling);
  element("classes").classList.add("settling");
  settling = setTimeout(() => {
    settling = null;
    element("classes").classList.remove("settling");
  }, SETTLE);
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
      const isWaiting = state.is_ready && !state.is_learning && state.classes.length > 1;
      line.textContent = state.problem || (isWaiting ? "Guesses start after a few labels of two classes." : "");
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
  const names = classes();
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
  showClassForms(state.classes);
}

function showPanelsSoon() {
  // Not while the next text is being drawn, and not more often than anyone can read.
  learnt = state.learnt;
  panelsTimer ??= setTimeout(() => {
    panelsTimer = null;
    showPanels().catch(() => {});
  }, PANELS);
}

function say(sentence, isError = false) {
  const line = element("message");
  line.textContent = sentence;
  line.classList.toggle("error", isError);
}

const complain = (error) => say(error.message, true);

// News of the server: after each action, and every now and then.

function take(news, { isOwn = false, isLate = false, says = "", found = null } = {}) {
  const old = state;
  state = news;
  const isSame = old && old.version === news.version && old.run === news.run;
  if (old && old.run !== news.run) say("The server was started again. All answers are there; go on.");
  else if (isOffline) say("Connected again.");
  else if (old && !isOwn && !isSame) say("The labels were changed in another tab; this one is up to date again.");
  else if (!old && news.notices.length) say(news.notices.join(" "));
  else if (isOwn) say(says);
  if (!old && !news.classes.length) element("new-name").focus();
  isOffline = false;
  if (!isOwn && !isSame) trail = [];
  if (isOwn || !isSame) place = found && found.place;
  // A refit must not change the text that someone is reading, nor its guess.
  if (isSame && place === null && shown && news.current && news.current.number === shown.number) state.current = shown;
  if (found) showAnswered(found, !isLate);
  else showText(!old || (isOwn && !isLate));
  // The next text is drawn first, then everything else.
  requestAnimationFrame(() => setTimeout(() => showNumbers(state, go)));
  if (learnt !== news.learnt || !isSame) showPanelsSoon();
  if (element("suspects-panel").open && (!isSame || isLooking)) lookForSuspects();
}

// Does what the annotator wants, says it, and shows the answer at a place, or else the current text.
async function act(what, content = {}, { says = "", stays = false, to = stays ? place : null } = {}) {
  if (isBusy || !state) return false;
  isBusy = true;
  const began = performance.now();
  const from = place;
  try {
    const news = await send(what, { ...content, seen: state.version });
    const found = to !== null && to < news.n_answered ? await ask(`answered/${to}`) : null;
    if (what === "undo") trail.pop();
    else if (news.version > state.version) trail.push(from);
    take(news, { isOwn: true, isLate: performance.now() - began > SETTLE, says, found });
    return true;
  } catch (error) {
    if (error.state) {
      take(error.state);
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
  if (isPolling) return;
  isPolling = true;
  clearTimeout(pollTimer);
  try {
    if (!isBusy && !document.hidden) {
      const before = state && state.version;
      const news = await ask("state");
      if (!isBusy && (!state || state.version === before)) take(news);
    }
  } catch (error) {
    if (!isOffline) say("The server does not answer. Start the command again, and this page goes on.", true);
    isOffline = true;
  }
  isPolling = false;
  pollTimer = setTimeout(poll, state && state.export && state.export.is_running ? POLL_EXPORT : POLL);
}

// What the annotator does.

function answer(label, button) {
  if (!shown || settling !== null) return;
  if (button) {
    button.classList.add("pressed");
    setTimeout(() => button.classList.remove("pressed"), 150);
  }
  if (place === null) act("answer", { label, number: shown.number });
  else act("answer", { label, number: shown.number }, { says: `Labelled ${quoted(shown.text)} as ${quoted(label)}.`, to: place + 1 });
}

function skip() {
  if (!shown || settling !== null) return;
  act("skip", { number: shown.number }, { says: `Skipped ${quoted(shown.text)}.`, to: place === null ? null : place + 1 });
}

async function undo() {
  if (!state.undo) {
    say("There is nothing to undo.");
  } else if (await act("undo", {}, { says: `Undone: ${state.undo}`, to: trail.at(-1) ?? null })) {
    // The lists show labels, which may have changed.
    if (element("found").hasChildNodes()) showFound(act, classes).catch(complain);
    if (element("surest").hasChildNodes()) showSurest(act, classes).catch(complain);
  }
}

async function go(to) {
  if (to === null || to >= state.n_answered) {
    place = null;
    shown = null;
    showText();
    return;
  }
  try {
    showAnswered(await ask(`answered/${to}`));
  } catch (error) {
    complain(error);
  }
}

function showAnswered(found, isOwn = true) {
  const isNew = !shown || shown.number !== found.number;
  if (isNew && !isOwn) settle();
  place = found.place;
  shown = found;
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

async function lookForSuspects() {
  try {
    isLooking = await showSuspects(act);
  } catch (error) {
    complain(error);
  }
}

// Keys and controls.

const SHORTCUTS = {
  z: undo,
  s: skip,
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

function classKey(number) {
  if (number < state.classes.length) {
    answer(state.classes[number][0], element("classes").children[number]);
  } else if (state.classes.length) {
    say(`The key ${KEYS[number]} has no class.`);
  } else {
    say("There are no classes yet: type the name of the first one and press Enter.");
    element("new-name").focus();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !state) return;
  const target = event.target;
  if (event.key === "Escape" && target.blur) target.blur();
  if (target.matches("input:not([type=checkbox]), select, textarea")) return;
  const number = event.repeat || event.key.length !== 1 ? -1 : KEYS.indexOf(event.key);
  if (number >= 0) {
    event.preventDefault();
    classKey(number);
  } else if (Object.hasOwn(SHORTCUTS, event.key)) {
    event.preventDefault();
    SHORTCUTS[event.key]();
  }
});

element("back").addEventListener("click", back);
element("forward").addEventListener("click", forward);
element("undo").addEventListener("click", undo);
element("skip").addEventListener("click", skip);
element("show-all").addEventListener("click", () => showAll().catch(complain));
try {
  element("guess-shown").checked = !localStorage.getItem(HIDDEN);
} catch {
  // The browser may refuse to store anything.
}
element("guess-shown").addEventListener("change", () => {
  showText();
  try {
    if (guessesHidden()) localStorage.setItem(HIDDEN, "1");
    else localStorage.removeItem(HIDDEN);
  } catch {
    // Then guesses are shown again after a reload.
  }
});
element("help-button").addEventListener("click", () => {
  const help = element("help");
  help.hidden = !help.hidden;
  element("help-button").setAttribute("aria-expanded", String(!help.hidden));
});
startClassForms(act);
element("suspects-panel").addEventListener("toggle", () => element("suspects-panel").open && lookForSuspects());
element("surest-show").addEventListener("click", () => showSurest(act, classes).catch(complain));
element("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  showFound(act, classes).catch(complain);
});
for (const one of document.querySelectorAll("[data-export]")) {
  one.addEventListener("click", () => act("export", { what: one.dataset.export }, { stays: true }).then(poll));
}
document.addEventListener("visibilitychange", () => document.hidden || ask("state").then((news) => take(news)).catch(() => {}));

poll();
