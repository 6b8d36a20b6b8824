// Score texts with a model that `dropglm export --json` has written, in a browser or in Node.
//
// import { Model } from "./read_model.mjs";
// const model = new Model(await (await fetch("model.json")).json());
// model.probabilities("a lovely film");  // [["bad", 0.1], ["good", 0.9]]

const hex = (code) => `\\u{${code.toString(16)}}`;
const characters = (ranges) => ranges.map(([first, last]) => `${hex(first)}-${hex(last)}`).join("");
const columns = (part) => new Map(part.vocabulary.map((ngram, j) => [ngram, j]));

export class Model {
  constructor(file) {
    if (file.format !== "dropglm text classifier" || ![1, 2].includes(file.version))
      throw new Error("This is not a model of this format.");
    Object.assign(this, file, { column: columns(file), stopWords: new Set(file.stop_words) });
    const { word, single, shortest } = file.tokens;
    const run = `[${characters(word)}]{${shortest},}`;
    this.token = new RegExp(single ? `${run}|[${characters(single)}]` : run, "gu");
    if (file.characters) {
      this.characters = { ...file.characters, column: columns(file.characters) };
      this.blanks = new RegExp(`[${characters(file.characters.white_space)}]+`, "u");
    }
    if (file.lowercase) {
      const [cased, ignored] = [characters(file.lowercase.cased), characters(file.lowercase.ignored)];
      this.lower = new Map(Object.entries(file.lowercase.characters));
      this.finalSigma = new RegExp(`([${cased}][${ignored}]*)Σ(?![${ignored}]*[${cased}])`, "gu");
    }
  }

  // What the n-grams of words or of characters add to each class; they are runs of the given sequences.
  part({ column, ngram_range: [shortest, longest], tf, factors, norm, coefficients }, sequences, blank) {
    const x = new Map(), value = { binary: () => 1, count: (c) => c, log: (c) => 1 + Math.log(c) }[tf];
    for (const sequence of sequences)
      for (let n = shortest; n <= longest; n++)
        for (let k = 0; k + n <= sequence.length || (!blank && n === shortest && k === 0); k++) {
          const j = column.get(sequence.slice(k, k + n).join(blank));
          if (j !== undefined) x.set(j, (x.get(j) ?? 0) + 1);
        }
    for (const [j, count] of x) x.set(j, value(count) * factors[j]);
    const sum = (f) => [...x].reduce((total, [j, v]) => total + f(j, v), 0);
    const size = norm === "l2" ? Math.sqrt(sum((j, v) => v * v)) : norm ? sum((j, v) => Math.abs(v)) : 1;
    return coefficients.map((beta) => sum((j, v) => beta[j] * v) / (size || 1));
  }

  // The linear predictor of each class; for two classes, of the second one only.
  predictors(text) {
    text = text.normalize(this.normalization);
    if (this.lowercase)
      text = Array.from(text.replace(this.finalSigma, "$1ς"), (c) => this.lower.get(c) ?? c).join("");
    const plain = this.strip_html ? text.replace(/<\/?[a-zA-Z][^<>]*>/g, " ") : text;
    const tokens = (plain.match(this.token) ?? []).filter((token) => !this.stopWords.has(token));
    const parts = [this.intercepts, this.part(this, [tokens], " ")];
    if (this.characters) {  // within words, with a blank on each side; a shorter word counts as a whole
      const words = text.split(this.blanks).filter((word) => word).map((word) => [" ", ...word, " "]);
      parts.push(this.part(this.characters, words, ""));
    }
    return this.intercepts.map((_, k) => parts.reduce((total, part) => total + part[k], 0));
  }

  // Pairs of a class and its probability.
  probabilities(text) {
    let eta = this.predictors(text);
    if (this.link === "independent_logistic")  // several labels, each with a probability of its own
      return this.classes.map((name, k) => [name, (1 + Math.tanh(eta[k] / 2)) / 2]);
    if (this.link === "logistic") eta = [0, eta[0]];
    else if (this.link === "normalized_logistic") eta = eta.map((e) => Math.min(e, 0) - Math.log1p(Math.exp(-Math.abs(e))));
    const weights = eta.map((e) => Math.exp(e - Math.max(...eta))), total = weights.reduce((a, b) => a + b);
    return this.classes.map((name, k) => [name, weights[k] / total]);
  }

  labels(text) {  // those of several labels that the text is given
    return this.probabilities(text).filter(([, p], k) => p > this.thresholds[k]).map(([name]) => name);
  }
}
