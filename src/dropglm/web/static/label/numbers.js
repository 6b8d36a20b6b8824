// Numbers of labels, recent answers, exports and the panels of the model.
import { drawCurve } from "./curve.js";
import { ask } from "./requests.js";
import { button, clear, element, make, percent, visible } from "./parts.js";

export function showNumbers(state, go) {
  document.title = `${state.n_labels} ${state.n_labels === 1 ? "label" : "labels"}, ${state.name}`;
  element("title").textContent = state.name;
  const copies = state.n_rows > state.n_texts ? ` different texts (${state.n_rows.toLocaleString("en")} rows)` : "";
  const parts = [`${state.n_labels.toLocaleString("en")} of ${state.n_texts.toLocaleString("en")}${copies} labelled`];
  if (state.n_skipped) parts.push(`${state.n_skipped} skipped`);
  if (state.per_minute) parts.push(`${state.per_minute < 10 ? state.per_minute.toFixed(1) : Math.round(state.per_minute)} per minute`);
  element("progress").textContent = parts.join(", ");
  element("learning").textContent = state.problem ? "Learning failed" : !state.is_ready ? "Preparing the model…" : state.is_learning ? "Learning…" : "";
  const box = clear(element("counts"));
  const most = Math.max(1, ...state.classes.map(([, count]) => count));
  for (const [name, count] of state.classes) {
    const line = make(box, "div");
    line.className = "count";
    const label = make(line, "span", name);
    label.dir = "auto";
    label.title = name;
    make(line, "span", count.toLocaleString("en"));
    const meter = make(line, "meter");
    meter.max = most;
    meter.value = count;
    meter.setAttribute("aria-label", `${count} ${count === 1 ? "label" : "labels"} of ${name}`);
  }
  if (!state.classes.length) make(box, "p", "None yet.").className = "quiet";
  showRecent(state, go);
  showExport(state.export);
}

function showRecent(state, go) {
  element("recent").hidden = !state.recent.length;
  const list = clear(element("recent").querySelector("ol"));
  state.recent.forEach((one) => {
    const line = button(make(list, "li"), "", () => go(one.place));
    make(line, "b", one.label === null ? "skipped" : one.label).dir = "auto";
    make(line, "span", visible(one.text)).dir = "auto";
    line.title = "Go back to this text";
  });
}

function showExport(job) {
  const isRunning = Boolean(job && job.is_running);
  for (const one of document.querySelectorAll("[data-export]")) one.disabled = isRunning;
  const line = element("export-line");
  clear(element("export-link"));
  if (!job) return;
  line.classList.toggle("error", Boolean(job.problem));
  line.textContent = job.problem || (isRunning ? (job.what === "labels" ? "Writing…" : "Training a model on all texts…") : `Written to ${job.path}${job.kept ? `; the file of an earlier run is now ${job.kept}` : ""}`);
  if (!isRunning && !job.problem) {
    const link = make(element("export-link"), "a", "Download");
    link.href = `api/download/${job.what}`;
    link.download = "";
  }
}

export async function showPanels() {
  const panels = await ask("panels");
  const last = panels.curve.at(-1);
  const line = clear(element("accuracy-line"));
  if (last) {
    make(line, "b", percent(last[1]));
    line.append(` (95\u00a0% interval: ${Math.round(100 * last[2])} to ${percent(last[3])})`);
  } else {
    line.append(`Not known yet: ${panels.n_random} of ${panels.n_needed} random texts`);
  }
  drawCurve(element("curve"), panels.curve);
  element("more-line").textContent = panels.more ? `One point more: about ${panels.more.toLocaleString("en")} labels` : "";
  const box = clear(element("words"));
  for (const [name, words] of panels.words) {
    const line = make(box, "p");
    line.className = "words";
    make(line, "b", name).dir = "auto";
    line.append(words.length ? words.map(([word]) => word).join(", ") : "none yet");
  }
}
