// Asks for an explanation of the text a moment after each change. Texts are only ever shown through textContent.
"use strict";

const PAUSE = 120; // milliseconds without a change before a request
const SHOWN_CLASSES = 6, SHOWN_WORDS = 8, SHOWN_UNKNOWN = 20;
const element = (id) => document.getElementById(id);
const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2);
const percent = (p) => (p > 0.9995 && p < 1 ? ">99.9 %" : (100 * p).toFixed(1) + " %");

let timer = 0, running = null;

function make(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function fill(table, rows) {
  // rows: [name, share of the widest bar, number as text]
  table.tBodies[0].replaceChildren(...rows.map(([name, share, number]) => {
    const row = make("tr"), cell = make("td"), middle = make("td");
    const track = make("div", undefined, "track"), bar = make("div", undefined, "bar");
    cell.append(make("bdi", name));
    cell.title = name;
    bar.style.width = Math.max(0, Math.min(1, share)) * 100 + "%";
    track.append(bar);
    middle.append(track);
    row.append(cell, middle, make("td", number));
    return row;
  }));
}

function show(why) {
  const classes = Object.entries(why.probabilities).sort((a, b) => b[1] - a[1]);
  const several = why.labels !== undefined;
  element("label").textContent = several ? why.labels.join(", ") || "no label" : why.label;
  element("probability").textContent = several ? "" : percent(classes[0][1]);
  const rest = several ? [] : classes.slice(SHOWN_CLASSES); // probabilities of labels do not add up
  const bars = classes.slice(0, SHOWN_CLASSES).map(([name, p]) => [name, p, percent(p)]);
  if (rest.length) {
    const p = rest.reduce((sum, [, each]) => sum + each, 0);
    bars.push([`${rest.length} other${rest.length > 1 ? "s" : ""}`, p, percent(p)]);
  }
  fill(element("bars"), bars);

  const found = why.contributions, widest = Math.max(...found.map((entry) => Math.abs(entry.weight)), 1e-9);
  const side = (sign) => found.filter((entry) => sign * entry.weight > 0).slice(0, SHOWN_WORDS)
    .map((entry) => [entry.ngram, Math.abs(entry.weight) / widest, signed(entry.weight)]);
  const [supporting, opposing] = [side(1), side(-1)];
  fill(element("supporting"), supporting);
  fill(element("opposing"), opposing);
  element("for").textContent = why.label;
  element("side").textContent = several ? "against" : "for";
  element("against").textContent = several ? why.label : why.against;
  element("sides").hidden = !found.length;
  element("waiting").hidden = found.length > 0;
  element("waiting").textContent = "No word of this text is known to the model.";

  const listed = new Set([...supporting, ...opposing].map(([name]) => name));
  const others = why.others.weight + found.filter((entry) => !listed.has(entry.ngram))
    .reduce((sum, entry) => sum + entry.weight, 0);
  const count = why.others.count + found.length - listed.size;
  element("heading").textContent = several ? `Words for and against ${why.label}, which texts get above ${percent(why.threshold)}`
    : "What tips the prediction";
  const parts = count ? [`${count} others ${signed(others)}`] : [];
  if (why.embedding !== null) parts.push(`embedding ${signed(why.embedding.weight)}`);
  parts.push(`intercept ${signed(why.base_difference)}`, `sum ${signed(why.difference)}`);
  element("rest").textContent = parts.join(", ");
  const more = why.unknown.length - SHOWN_UNKNOWN;
  element("unknown").textContent = why.unknown.length
    ? "Unknown words: " + why.unknown.slice(0, SHOWN_UNKNOWN).join(", ") + (more > 0 ? ` and ${more} more` : "") : "";
}

function report(sentence) {
  element("error").textContent = sentence;
  element("error").hidden = !sentence;
}

async function ask() {
  if (running) running.abort();
  const mine = running = new AbortController();
  try {
    const answer = await fetch("explain", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ texts: [element("text").value], top: 40 }),
      signal: mine.signal,
    });
    const content = await answer.json();
    if (mine !== running) return;
    if (!answer.ok) return report(content.error);
    report("");
    show(content.explanations[0]);
  } catch (error) {
    if (mine === running && error.name !== "AbortError") report("The server does not answer; is it still running?");
  }
}

element("text").addEventListener("input", (event) => {
  element("full").hidden = event.target.value.length < event.target.maxLength; // browsers take minutes for more
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
});

fetch("health").then((answer) => answer.json()).then((health) => {
  document.title = element("model").textContent = health.model;
  const names = health.classes.slice(0, SHOWN_CLASSES).join(", ") + (health.classes.length > SHOWN_CLASSES ? ", …" : "");
  element("classes").textContent = `${health.classes.length} ${health.multilabel ? "labels" : "classes"}: ${names}`;
  if (health.embeddings) {
    element("text").disabled = true;
    report("This model was trained with embeddings of the texts, which this page cannot compute.");
  } else ask();
}).catch(() => report("The server does not answer; is it still running?"));
