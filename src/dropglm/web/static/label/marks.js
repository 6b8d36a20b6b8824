// A text in which the words behind a guess are marked. N-grams are lower case, with one blank between words.

const MAX_MARKED = 20000; // characters: beyond, searching would delay the next text

const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\/-]/gu, "\\$&");

function pattern(words) {
  const parts = words
    .map(([word]) => word)
    .sort((a, b) => b.length - a.length)
    .map((word) => {
      const middle = word.split(" ").map(escaped).join("[\\s\\p{P}]*");
      const isWord = (character) => /[\p{L}\p{N}_]/u.test(character);
      return `${isWord(word[0]) ? "(?<![\\p{L}\\p{N}_])" : ""}${middle}${isWord(word.at(-1)) ? "(?![\\p{L}\\p{N}_])" : ""}`;
    });
  return new RegExp(parts.join("|"), "giu");
}

export function showMarked(box, text, words) {
  const useful = words.filter(([word]) => word && /[\p{L}\p{N}]/u.test(word));
  if (!useful.length || text.length > MAX_MARKED) {
    box.textContent = text;
    return;
  }
  const weights = new Map(useful.map(([word, weight]) => [word, weight]));
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(pattern(useful))) {
    if (!found[0]) continue;
    parts.push(text.slice(end, found.index));
    const mark = document.createElement("mark");
    mark.textContent = found[0];
    const plain = found[0].toLowerCase().split(/[\s\p{P}]+/u).filter(Boolean).join(" ");
    if ((weights.get(plain) ?? 1) < 0) mark.className = "against";
    parts.push(mark);
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end));
  box.replaceChildren(...parts);
}
