// Texts with marked words: those behind a guess, or those that were searched for.

const MAX_MARKED = 20000; // characters: beyond, searching would delay the next text

const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\/]/gu, "\\$&");

// Characters of scripts that do not separate words: each is a token, and n-grams of them are without blanks.
const UNSPACED = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"]
  .map((script) => `\\p{scx=${script}}`).join("");
const LETTER = `(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}_]`; // of a word
const TWO_UNSPACED = new RegExp(`([${UNSPACED}])(?=[${UNSPACED}])`, "gu");

// N-grams are lower case, with one blank between words, and punctuation may be left out.
function patternOf(ngrams) {
  const isLetter = new RegExp(`^${LETTER}`, "u");
  const parts = ngrams
    .sort((a, b) => b.length - a.length)
    .map((ngram) => {
      const characters = [...ngram];
      const middle = ngram.split(" ")
        .map((word) => word.split(TWO_UNSPACED).map(escaped).filter(Boolean).join("\\s*")).join("[\\s\\p{P}]*");
      return `${isLetter.test(characters[0]) ? `(?<!${LETTER})` : ""}${middle}${isLetter.test(characters.at(-1)) ? `(?!${LETTER})` : ""}`;
    });
  return parts.join("|");
}

// Draws a text; parts that match the pattern are marked as they are looked at.
function draw(box, text, pattern, look) {
  if (!pattern || text.length > MAX_MARKED) {
    box.textContent = text;
    return;
  }
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(new RegExp(pattern, "giu"))) {
    if (!found[0]) continue;
    parts.push(text.slice(end, found.index));
    const mark = document.createElement("mark");
    mark.textContent = found[0];
    look(mark, found[0]);
    parts.push(mark);
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end));
  box.replaceChildren(...parts);
}

const patternOfPhrases = (phrases) => phrases.map((words) => words.map(escaped).join("\\s+")).join("|");

// A weight changes the odds of the class by a factor exp(weight). Words that change them by less than a tenth
// say nothing; those that multiply or divide them by two or more have the full shade.
const LEAST = Math.log(1.1);
const FULL = Math.log(2);

// Returns the n-grams that say something for the guess or against it.
export const telling = (ngrams) => ngrams.filter(([word, weight]) => /[\p{L}\p{N}]/u.test(word) && Math.abs(weight) >= LEAST);

// Shades n-grams by their weights, for the guess or against it, and underlines what was searched for.
export function showMarked(box, text, ngrams, phrases = []) {
  const plain = (words) => words.toLowerCase().replace(/[\s\p{P}]+/gu, "");
  const useful = telling(ngrams);
  const weights = new Map(useful.map(([word, weight]) => [plain(word), weight]));
  const searched = patternOfPhrases(phrases);
  const isSearched = new RegExp(`^(?:${searched})$`, "iu");
  draw(box, text.normalize("NFC"), [searched, patternOf(useful.map(([word]) => word))].filter(Boolean).join("|"), (mark, words) => {
    const weight = weights.get(plain(words));
    if (searched && isSearched.test(words)) mark.className = "found";
    if (!weight) return;
    mark.className += weight < 0 ? " against" : " for";
    mark.style.setProperty("--share", `${Math.round(100 * Math.min(1, Math.abs(weight) / FULL))}%`);
  });
}

// Underlines the words and phrases of a search; each is a list of words.
export function showFoundWords(box, text, phrases) {
  showMarked(box, text, [], phrases);
}
