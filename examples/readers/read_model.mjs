// Score texts with a model that `dropglm export --json` has written, in a browser or in Node.
//
// import { Model } from "./read_model.mjs";
// const model = new Model(await (await fetch("model.json")).json());
// model.probabilities("a lovely film");  // [["bad", 0.1], ["good", 0.9]]

const hex = (code) => `\\u{${code.toString(16)}}`;
const characters = (ranges) => ranges.map(([first, last]) => `${hex(first)}-${hex(last)}`).join("");

export class Model {
  constructor(file) {
    if (file.format !== "dropglm text classifier" || file.version !== 1)
      throw new Error("This is not a model of this format.");
    Object.assign(this, file);
    this.column = new Map(file.vocabulary.map((ngram, j) => [ngram, j]));
    this.stopWords = new Set(file.stop_words);
    const { word, single, shortest } = file.tokens;
    const run = `[${characters(word)}]{${shortest},}`;
    this.token = new RegExp(single ? `${run}|[${characters(single)}]` : run, "gu");
    if (file.lowercase) {
      const [cased, ignored] = [characters(file.lowercase.cased), characters(file.lowercase.ignored)];
      this.lower = new Map(Object.entries(file.lowercase.characters));
      this.finalSigma = new RegExp(`([${cased}][${ignored}]*)Σ(?![${ignored}]*[${cased}])`, "gu");
    }
  }

  // The tokens of a text.
  split(text) {
    text = text.normalize(this.normalization);
    if (this.lowercase)
      text = Array.from(text.replace(this.finalSigma, "$1ς"), (c) => this.lower.get(c) ?? c).join("");
    if (this.strip_html) text = text.replace(/<\/?[a-zA-Z][^<>]*>/g, " ");
    return (text.match(this.token) ?? []).filter((token) => !this.stopWords.has(token));
  }

  // The linear predictor of each class; for two classes, of the second one only.
  predictors(text) {
    const tokens = this.split(text), [shortest, longest] = this.ngram_range, x = new Map();
    for (let n = shortest; n <= longest; n++)
      for (let k = 0; k + n <= tokens.length; k++) {
        const j = this.column.get(tokens.slice(k, k + n).join(" "));
        if (j !== undefined) x.set(j, (x.get(j) ?? 0) + 1);
      }
    const tf = { binary: () => 1, count: (c) => c, log: (c) => 1 + Math.log(c) }[this.tf];
    for (const [j, count] of x) x.set(j, tf(count) * this.factors[j]);
    const sum = (f) => [...x].reduce((total, [j, value]) => total + f(j, value), 0);
    const norm = this.norm === "l2" ? Math.sqrt(sum((j, v) => v * v)) : this.norm ? sum((j, v) => Math.abs(v)) : 1;
    return this.intercepts.map((b, k) => b + sum((j, v) => this.coefficients[k][j] * v) / (norm || 1));
  }

  // Pairs of a class and its probability.
  probabilities(text) {
    let eta = this.predictors(text);
    if (this.link === "logistic") eta = [0, eta[0]];
    else if (this.link === "normalized_logistic") eta = eta.map((e) => Math.min(e, 0) - Math.log1p(Math.exp(-Math.abs(e))));
    const weights = eta.map((e) => Math.exp(e - Math.max(...eta))), total = weights.reduce((a, b) => a + b);
    return this.classes.map((name, k) => [name, weights[k] / total]);
  }
}
