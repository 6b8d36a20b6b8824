// Asks for an explanation of the text a moment after each change. Texts are only ever shown through textContent.
import { element, make, showName } from "./parts.js";

const PAUSE = 120; // milliseconds without a change before a request
const SHOWN_WORDS = 8, SHOWN_UNKNOWN = 20;
const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2);
const percent = (p) => (p > 0.9995 && p < 1 ? ">99.9 %" : (100 * p).toFixed(1) + " %");

let timer = 0, running = null;

// Rows are [name, share of the widest bar, number as text].
function fill(table, rows) {
  const body = table.tBodies[0];
  body.replaceChildren();
  for (const [name, share, number] of rows) {
    const row = make(body, "tr");
    showName(make(make(row, "td"), "bdi"), name);
    const track = make(make(row, "td"), "div");
    track.className = "track";
    const bar = make(track, "div");
    bar.className = "bar";
    bar.style.width = Math.max(0, Math.min(1, share)) * 100 + "%";
    make(row, "td", number);
  }
}

// Shows an answer, or nothing, to a request in JSON.
function show(why, request) {
  element("empty").hidden = why !== null;
  for (const id of ["verdict", "bars", "words", "request"]) element(id).hidden = why === null;
  if (why === null) return;
  element("curl").textContent = `curl -d '${request.replaceAll("'", "'\\''")}' ${new URL("explain", location.href)}`;
  element("copied").textContent = "";
  const classes = Object.entries(why.probabilities).sort((a, b) => b[1] - a[1]);
  const several = why.labels !== undefined;
  showName(element("label"), several ? why.labels.join(", ") || "no label" : String(why.label));
  element("probability").textContent = several ? "" : percent(classes[0][1]);
  fill(element("bars").firstElementChild, classes.map(([name, p]) => [name, p, percent(p)]));

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
  if (!element("text").value.trim()) {
    running = null;
    report("");
    show(null);
    return;
  }
  const request = JSON.stringify({ texts: [element("text").value], top: 40 });
  const mine = running = new AbortController();
  try {
    const answer = await fetch("explain", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: request,
      signal: mine.signal,
    });
    const content = await answer.json();
    if (mine !== running) return;
    if (!answer.ok) return report(content.error);
    report("");
    show(content.explanations[0], request);
  } catch (error) {
    if (mine === running && error.name !== "AbortError") report("The server does not answer; is it still running?");
  }
}

element("text").addEventListener("input", (event) => {
  element("full").hidden = event.target.value.length < event.target.maxLength; // browsers take minutes for more
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
});

element("copy").addEventListener("click", async () => {
  getSelection().selectAllChildren(element("curl"));
  try {
    await navigator.clipboard.writeText(element("curl").textContent);
    element("copied").textContent = "Copied.";
  } catch { // browsers do not let pages of other computers copy without encryption
    element("copied").textContent = "Selected; press Ctrl-C to copy.";
  }
});

fetch("health").then((answer) => answer.json()).then((health) => {
  const { model, classes, multilabel } = health, n = classes.length;
  const what = multilabel ? "labels" : "classes";
  const choices = n === 2 && !multilabel ? classes.join(" or ") : `which of ${n} ${what}`;
  document.title = element("model").textContent = `${model}: ${choices}?`;
  element("about").textContent = health.about;
  element("classes").textContent = `${n} ${what}: ${classes.join(", ")}`;
  if (health.embeddings) {
    element("text").disabled = true;
    report("This model was trained with embeddings of the texts, which this page cannot compute.");
  } else ask();
}).catch(() => report("The server does not answer; is it still running?"));
