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

function draw(box, text, pattern, isAgainst = () => false) {
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
    if (isAgainst(found[0])) mark.className = "against";
    parts.push(mark);
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end));
  box.replaceChildren(...parts);
}

// Marks n-grams with positive weights as words for the guess, others as words against it.
export function showMarked(box, text, ngrams) {
  const useful = ngrams.filter(([word]) => word && /[\p{L}\p{N}]/u.test(word));
  const plain = (words) => words.toLowerCase().replace(/[\s\p{P}]+/gu, "");
  const weights = new Map(useful.map(([word, weight]) => [plain(word), weight]));
  draw(box, text.normalize("NFC"), patternOf(useful.map(([word]) => word)), (words) => (weights.get(plain(words)) ?? 1) < 0);
}

// Marks the words and phrases of a search; each is a list of words.
export function showFoundWords(box, text, phrases) {
  draw(box, text.normalize("NFC"), phrases.map((words) => words.map(escaped).join("\\s+")).join("|"));
}
