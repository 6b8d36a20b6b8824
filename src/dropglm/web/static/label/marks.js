// Texts with marked words: those behind a guess, or those that were searched for.

const MAX_MARKED = 20000; // characters: beyond, searching would delay the next text

const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\/]/gu, "\\$&");

// N-grams are lower case, with one blank between words, and punctuation may be left out.
function patternOf(ngrams) {
  const parts = ngrams
    .sort((a, b) => b.length - a.length)
    .map((word) => {
      const middle = word.split(" ").map(escaped).join("[\\s\\p{P}]*");
      const isWord = (character) => /[\p{L}\p{N}_]/u.test(character);
      return `${isWord(word[0]) ? "(?<![\\p{L}\\p{N}_])" : ""}${middle}${isWord(word.at(-1)) ? "(?![\\p{L}\\p{N}_])" : ""}`;
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
  const weights = new Map(useful);
  const plain = (words) => words.toLowerCase().split(/[\s\p{P}]+/u).filter(Boolean).join(" ");
  draw(box, text, patternOf(useful.map(([word]) => word)), (words) => (weights.get(plain(words)) ?? 1) < 0);
}

// Marks the words and phrases of a search; each is a list of words.
export function showFoundWords(box, text, phrases) {
  draw(box, text, phrases.map((words) => words.map(escaped).join("\\s+")).join("|"));
}
