// The page of dropglm label. Texts are shown through textContent only, so that nothing in them is run.
import { ask, send, ServerError, whenSlow } from "./requests.js";
import { showFoundWords, showMarked } from "./marks.js";
import { showNumbers, showPanels } from "./numbers.js";
import { showClassForms, startClassForms } from "./class_forms.js";
import { guessesHidden, showGuess, startGuesses } from "./guess.js";
import { showButtons, showPressed } from "./class_buttons.js";
import { KEYS, startKeys } from "./keys.js";
import { fillSurest, renewLists, showFound, showSurest, showSuspects, startLists, updateLists } from "./lists.js";
import { clear, element, make, quoted, visible } from "./parts.js";

const POLL = 1500; // milliseconds between two looks at the server
const POLL_EXPORT = 250; // milliseconds while a file is being written
const PANELS = 400; // milliseconds after an answer until the panels are drawn
const SETTLE = 300; // milliseconds to notice that the text has changed by itself, before keys label it
const WAITING = "Waiting for the server…";
const DONE = "All texts are labelled or skipped. The labels, a model and its predictions are under Export.";
const SOURCES = { random: "drawn at random", chosen: "chosen to teach the model", search: "found by search", check: "asked again as a check" };
const LISTED = -1; // the place of a text without an answer that was opened from a list
const QUICK = ["answer", "skip", "keep", "export"]; // actions after which lists need not be asked for again

let state = null; // of the server
let shown = null; // the text on the screen: the current one, or an answered one
let place = null; // of an answered text in the order of answers, or LISTED; null for the current one
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

const classes = () => state.classes.map(([name]) => name);

// The text and its classes.

function showText(isOwn = true) {
  const box = element("text");
  const current = place === null ? state.current : shown;
  const isNew = !shown || !current || shown.number !== current.number || shown.text !== current.text;
  if (isNew && !isOwn) settle();
  shown = current;
  box.classList.toggle("answered", place !== null);
  box.classList.toggle("empty", !shown || !shown.text.trim());
  element("show-all").hidden = !shown || shown.text.length >= shown.length;
  const text = shown ? visible(shown.text) : DONE;
  const words = (shown && shown.found) || (shown && shown.guess && !guessesHidden() ? shown.guess.words : []);
  // A text that is drawn again loses what is selected in it, and is read aloud again.
  if (drawn.text !== text || String(drawn.words) !== String(words)) {
    (shown && shown.found ? showFoundWords : showMarked)(box, text, words);
    drawn = { text, words };
  }
  if (shown) element("show-all").textContent = `Show all ${shown.length.toLocaleString("en")} characters`;
  if (isNew) box.scrollTop = 0;
  showPlace();
  showGuess(state, place === null ? shown : null);
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
    make(line, "span", place === LISTED ? `${row}, not labelled` : `${row}, ${what}. Choose a class to correct it.`);
    make(line, "span", place === LISTED ? "from a list" : `answer ${place + 1} of ${state.n_answered}`);
  } else {
    make(line, "span", row);
    make(line, "span", SOURCES[shown.source] || "");
  }
}

function showClasses() {
  const guessed = shown && shown.guess && place === null && !guessesHidden() ? shown.guess.label : null;
  showButtons(classes(), { guessed, chosen: shown && shown.label, isDisabled: !shown }, assign);
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

const complain = (error) => say(error instanceof ServerError ? error.message : "The server does not answer.", true);

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
  if (news.problem && (!old || old.problem !== news.problem)) say(news.problem, true);
  if (!old && !news.classes.length) element("new-name").focus();
  isOffline = false;
  if (!isOwn && !isSame) trail = [];
  if (isOwn || !isSame) place = found && found.place;
  // A refit must not change the text that someone is reading, nor its guess, but may bring the first one.
  if (isSame && place === null && shown && news.current && news.current.number === shown.number) {
    shown.guess ??= news.current.guess;
    state.current = shown;
  }
  if (found) showAnswered(found, !isLate);
  else showText(!old || (isOwn && !isLate));
  // The next text is drawn first, then everything else.
  requestAnimationFrame(() => setTimeout(() => showNumbers(state, go)));
  if (learnt !== news.learnt || !isSame) showPanelsSoon();
  if (!isSame) updateLists(news.recent);
  if (old && !old.is_useful && news.is_useful) fillSurest().catch(complain);
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
    const path = to === LISTED ? `listed/${shown.number}` : `answered/${to}`;
    const found = to !== null && to < news.n_answered ? await ask(path) : null;
    if (what === "undo") trail.pop();
    else if (news.version > state.version) trail.push(from === LISTED ? null : from);
    const sentence = typeof says === "function" ? says(news.n_labels - state.n_labels) : says;
    take(news, { isOwn: true, isLate: performance.now() - began > SETTLE, says: sentence, found });
    if (!QUICK.includes(what)) renewLists().catch(complain);
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

// The place that is shown after the answer to the text at this one.
const following = () => (place === null || place === LISTED ? null : place + 1);

function assign(number) {
  if (!shown || settling !== null) return;
  const label = classes()[number];
  showPressed(number);
  const says = place === null ? "" : `Labelled ${quoted(shown.text)} as ${quoted(label)}.`;
  act("answer", { label, number: shown.number }, { says, to: following() });
}

function skip() {
  if (!shown || settling !== null) return;
  act("skip", { number: shown.number }, { says: `Skipped ${quoted(shown.text)}.`, to: following() });
}

function undo() {
  if (state.undo) act("undo", {}, { says: `Undone: ${state.undo}`, to: trail.at(-1) ?? null });
  else say("There is nothing to undo.");
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
  place = found.place ?? LISTED;
  shown = found;
  showText();
}

// Shows a text of a list, with the words that were searched for.
async function showListed(number, words) {
  try {
    const found = await ask(`listed/${number}`);
    showAnswered(words.length ? { ...found, found: words } : found);
    element("place").scrollIntoView({ block: "nearest" }); // on a phone, it is far above the lists
  } catch (error) {
    complain(error);
  }
}

const back = () => place === 0 || !state.n_answered || go((following() === null ? state.n_answered : place) - 1);
const forward = () => place === null || go(following());

async function showAll() {
  const whole = await ask(`text/${shown.number}`);
  if (!shown || shown.number !== whole.number) return;
  shown.text = whole.text;
  showText();
}

async function lookForSuspects() {
  try {
    isLooking = await showSuspects();
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
  if (first) first.querySelectorAll(".row button")[which].click();
}

function classKey(number) {
  if (number < state.classes.length) {
    assign(number);
  } else if (state.classes.length) {
    say(`The key ${KEYS[number]} has no class.`);
  } else {
    say("There are no classes yet: type the name of the first one and press Enter.");
    element("new-name").focus();
  }
}

startKeys({ isOn: () => state, assign: classKey, shortcuts: SHORTCUTS });
element("back").addEventListener("click", back);
element("forward").addEventListener("click", forward);
element("undo").addEventListener("click", undo);
element("skip").addEventListener("click", skip);
element("show-all").addEventListener("click", () => showAll().catch(complain));
startGuesses(showText);
element("help-button").addEventListener("click", () => {
  const help = element("help");
  help.hidden = !help.hidden;
  element("help-button").setAttribute("aria-expanded", String(!help.hidden));
});
startClassForms(act);
startLists({ act, classes, show: showListed });
whenSlow((isSlow) => {
  if (isSlow) say(WAITING);
  else if (element("message").textContent === WAITING) say("");
});
element("suspects-panel").addEventListener("toggle", () => element("suspects-panel").open && lookForSuspects());
element("surest-show").addEventListener("click", () => showSurest().catch(complain));
element("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  showFound().catch(complain);
});
for (const one of document.querySelectorAll("[data-export]")) {
  one.addEventListener("click", () => act("export", { what: one.dataset.export }, { stays: true }).then(poll));
}
document.addEventListener("visibilitychange", () => document.hidden || ask("state").then((news) => take(news)).catch(() => {}));

poll();
