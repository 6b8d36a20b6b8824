// The page of dropglm label. Texts are shown through textContent only, so that nothing in them is run.
import { ask, send, ServerError, whenSlow } from "./requests.js";
import { showMarked } from "./marks.js";
import { showNumbers, showPanels } from "./numbers.js";
import { showClassForms, startClassForms } from "./class_forms.js";
import { showGuess, shownGuess, startGuesses } from "./guess.js";
import { showButtons, showPressed, startFilter } from "./class_buttons.js";
import { KEYS, startKeys } from "./keys.js";
import {
  decideFirst, fillSurest, markOpened, nextOpen, placeInList, renewLists, showFound, showSurest, showSuspects, startLists, step,
  updateLists,
} from "./lists.js";
import { clear, element, make, quoted, visible } from "./parts.js";

const POLL = 1500; // milliseconds between two looks at the server
const POLL_EXPORT = 250; // milliseconds while a file is being written
const PANELS = 400; // milliseconds after an answer until the panels are drawn
const SETTLE = 300; // milliseconds to notice that the text has changed by itself, before keys label it
const WAITING = "Waiting for the server…";
const DONE = "All texts are labelled or skipped. The labels, a model and its predictions are under Export.";
const SOURCES = { random: "at random, to measure accuracy", chosen: "chosen to teach the model", search: "found by search", check: "asked again as a check" };

let state = null; // of the server
let shown = null; // the text on the screen
let spot = null; // where it is from: null for the current text, the place of an answer, or the entry of a list
let trail = []; // spots from which the answers of this page were given, for undo
let isBusy = false; // an answer is on its way
let isOffline = false;
const drawn = {}; // the text and the marked words that are drawn
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
  const current = spot === null ? state.current : shown;
  const isNew = !shown || !current || shown.number !== current.number || shown.text !== current.text;
  if (isNew && !isOwn) settle();
  shown = current;
  element("item").classList.toggle("answered", spot !== null);
  box.classList.toggle("empty", !shown || !shown.text.trim());
  element("show-all").hidden = !shown || shown.text.length >= shown.length;
  const text = shown ? visible(shown.text) : DONE;
  const guess = shownGuess(shown);
  const words = guess ? guess.words : [];
  const found = (spot && spot.words) || [];
  // A text that is drawn again loses what is selected in it, and is read aloud again.
  if (drawn.text !== text || String([drawn.words, drawn.found]) !== String([words, found])) {
    showMarked(box, text, words, found);
    Object.assign(drawn, { text, words, found });
  }
  if (shown) element("show-all").textContent = `Show all ${shown.length.toLocaleString("en")} characters`;
  if (drawn.number !== (shown && shown.number)) {
    drawn.number = shown && shown.number;
    showColumns(shown ? shown.columns : {});
    element("item").scrollTop = 0;
  }
  showPlace();
  showGuess(state, shown);
  showClasses();
  markOpened(isListed() ? spot : null);
  element("back").disabled = spot === 0 || state.n_answered === 0;
  element("forward").disabled = spot === null;
  element("undo").disabled = !state.undo;
  element("undo").title = state.undo ? `Undo (z): ${state.undo}` : "Undo (z)";
  element("skip").disabled = !shown;
}

const isListed = () => spot !== null && typeof spot === "object";

// The columns of the table that are shown beside the text.
function showColumns(columns) {
  const list = clear(element("columns"));
  const names = Object.keys(columns);
  list.hidden = !names.length;
  for (const name of names) {
    make(list, "dt", name);
    const value = make(list, "dd");
    value.dir = "auto";
    if (!/^https?:\/\/\S+$/u.test(columns[name])) {
      value.textContent = columns[name] || "–";
      continue;
    }
    const link = make(value, "a", columns[name]);
    link.href = columns[name];
    link.target = "_blank";
    link.rel = "noopener noreferrer"; // the address of the page is secret
  }
}

// Gives the text as much room as nine in ten need, so that what is below it stays in place.
function makeRoom() {
  const item = element("item");
  const width = element("text").clientWidth / (0.52 * parseFloat(getComputedStyle(item).fontSize)); // in characters
  const columns = state.current ? Object.keys(state.current.columns).length : 0;
  item.style.setProperty("--lines", Math.ceil((1.1 * state.usual_length) / width) + columns);
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
  const what = !shown.is_answered ? "not labelled" : shown.label === null ? "skipped" : `labelled ${shown.label}`;
  make(line, "span", spot === null ? row : `${row}, ${what}`);
  const where = () => (isListed() ? placeInList(spot) : `answer ${spot + 1} of ${state.n_answered}`);
  make(line, "span", spot === null ? SOURCES[shown.source] || "" : where());
}

function showClasses() {
  const guess = shownGuess(shown);
  showButtons(classes(), { guessed: guess && guess.label, chosen: shown && shown.label, isDisabled: !shown }, assign);
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

function take(news, { isOwn = false, isLate = false, says = "", found = null, to = null } = {}) {
  const old = state;
  state = news;
  const isSame = old && old.version === news.version && old.run === news.run;
  if (old && old.run !== news.run) say("The server was started again. All answers are there; go on.");
  else if (isOffline) say("Connected again.");
  else if (old && !isOwn && !isSame) say("The labels were changed in another tab; this one is up to date again.");
  else if (!old && news.notices.length) say(news.notices.join(" "));
  else if (isOwn) say(says);
  if (news.problem && (!old || old.problem !== news.problem)) say(news.problem, true);
  if (!old) makeRoom();
  if (!old && !news.classes.length) element("new-name").focus();
  isOffline = false;
  if (!isOwn && !isSame) trail = [];
  if (isOwn || !isSame) spot = null;
  // A refit must not change the text that someone is reading, nor its guess, but may bring the first one.
  if (isSame && spot === null && shown && news.current && news.current.number === shown.number) {
    shown.guess ??= news.current.guess;
    state.current = shown;
  }
  if (found) showOther(found, to, !isLate);
  else showText(!old || (isOwn && !isLate));
  // The next text is drawn first, then everything else.
  requestAnimationFrame(() => setTimeout(() => showNumbers(state, go)));
  if (learnt !== news.learnt || !isSame) showPanelsSoon();
  const isThere = ([name]) => news.classes.some(([other]) => other === name);
  if (old && !old.classes.every(isThere)) renewLists().catch(complain);
  else if (!isSame) updateLists().catch(complain);
  if (old && !old.is_useful && news.is_useful) fillSurest().catch(complain);
  if (element("suspects-panel").open && (!isSame || isLooking)) lookForSuspects();
}

const addressOf = (at) => (typeof at === "object" ? `listed/${at.number}` : `answered/${at}`);

// Does what the annotator wants, says it, and shows what is at a spot, or else the current text.
async function act(what, content = {}, { says = "", stays = false, to = stays ? spot : null } = {}) {
  if (isBusy || !state) return false;
  isBusy = true;
  const began = performance.now();
  const from = spot;
  try {
    const news = await send(what, { ...content, seen: state.version });
    const found = to !== null && !(to >= news.n_answered) ? await ask(addressOf(to)) : null;
    if (what === "undo") trail.pop();
    else if (news.version > state.version) trail.push(from);
    const sentence = typeof says === "function" ? says(news.n_labels - state.n_labels) : says;
    take(news, { isOwn: true, isLate: performance.now() - began > SETTLE, says: sentence, found, to });
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

// What is shown after the answer to the text on the screen.
const following = () => (spot === null ? null : isListed() ? nextOpen(spot) : spot + 1);

function assign(number) {
  if (!shown || settling !== null) return;
  const label = classes()[number];
  showPressed(number);
  const isKept = isListed() && spot.guess && label === shown.label; // of a suspicious label
  const says = typeof spot === "number" ? `Labelled ${quoted(shown.text)} as ${quoted(label)}.` : ""; // a list says it itself
  const content = isKept ? { number: shown.number } : { label, number: shown.number };
  act(isKept ? "keep" : "answer", content, { says, to: following() });
}

function accept() {
  const guess = shownGuess(shown);
  if (guess) assign(classes().indexOf(guess.label));
  else if (shown) say("There is no guess to accept.");
}

function skip() {
  if (!shown || settling !== null) return;
  act("skip", { number: shown.number }, { says: `Skipped ${quoted(shown.text)}.`, to: following() });
}

function undo() {
  if (state.undo) act("undo", {}, { says: `Undone: ${state.undo}`, to: trail.at(-1) ?? null });
  else say("There is nothing to undo.");
}

// Shows the current text, that of an answer, or one of a list.
async function go(to) {
  say("");
  if (to === null || to >= state.n_answered) {
    spot = null;
    showText();
    return;
  }
  try {
    showOther(await ask(addressOf(to)), to);
    if (isListed()) element("place").scrollIntoView({ block: "nearest" }); // on a phone, it is far above the lists
  } catch (error) {
    complain(error);
  }
}

function showOther(found, to, isOwn = true) {
  const isNew = !shown || shown.number !== found.number;
  if (isNew && !isOwn) settle();
  spot = to;
  shown = { ...found, guess: found.guess || (to.guess && to.guess.label !== found.label ? to.guess : null) };
  showText();
}

const back = () => spot === 0 || !state.n_answered || go((typeof spot === "number" ? spot : state.n_answered) - 1);
const forward = () => spot === null || go(isListed() ? null : spot + 1);

async function showAll() {
  const whole = await ask(`text/${shown.number}`);
  if (!shown || shown.number !== whole.number) return;
  shown.text = whole.text;
  showText();
}

async function lookForSuspects(isAgain = false) {
  try {
    isLooking = await showSuspects(isAgain);
  } catch (error) {
    complain(error);
  }
}

// Keys and controls.

const SHORTCUTS = {
  Enter: accept,
  z: undo,
  s: skip,
  ArrowLeft: back,
  ArrowRight: forward,
  ArrowDown: () => document.activeElement !== element("item") && step(1, isListed()),
  ArrowUp: () => document.activeElement !== element("item") && step(-1, isListed()),
  Escape: () => spot !== null && forward(),
  c: () => element("find-class").focus(),
  g: () => element("guess-shown").click(),
  n: () => element("new-name").focus(),
  "/": () => {
    element("search-panel").open = true;
    element("search-words").focus();
  },
  "?": () => element("help").togglePopover(),
  f: () => decideFirst(0),
  k: () => decideFirst(1),
};

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
element("accept").addEventListener("click", accept);
element("show-all").addEventListener("click", () => showAll().catch(complain));
startGuesses(showText);
startFilter(assign);
startClassForms(act);
startLists({ act, show: go });
whenSlow((isSlow) => {
  if (isSlow) say(WAITING);
  else if (element("message").textContent === WAITING) say("");
});
element("suspects-panel").addEventListener("toggle", () => element("suspects-panel").open && lookForSuspects(true));
element("surest-show").addEventListener("click", () => showSurest().catch(complain));
element("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  element("search-words").blur();
  showFound().catch(complain);
});
for (const one of document.querySelectorAll("[data-export]")) {
  one.addEventListener("click", () => act("export", { what: one.dataset.export }, { stays: true }).then(poll));
}
document.addEventListener("visibilitychange", () => document.hidden || ask("state").then((news) => take(news)).catch(() => {}));
window.addEventListener("resize", () => state && makeRoom());

poll();
