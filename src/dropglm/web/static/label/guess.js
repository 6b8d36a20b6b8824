// The guess of the model for the current text, which can be hidden.
import { clear, element, make, percent } from "./parts.js";

const WORDS = 6; // behind the guess, in its sentence
const HIDDEN = "dropglm-guesses-hidden"; // in the storage of the browser

export const guessesHidden = () => !element("guess-shown").checked;

export function showGuess(state, text) {
  const line = clear(element("guess-line"));
  if (!text) return;
  if (!text.guess) {
    line.textContent = whyNoGuess(state);
    return;
  }
  if (guessesHidden()) {
    line.textContent = "The guess is hidden.";
    return;
  }
  const sentence = make(line, "span", "Guess: ");
  make(sentence, "b", text.guess.label);
  sentence.append(` ${percent(text.guess.probability)}`);
  const words = text.guess.words.filter(([, weight]) => weight > 0).map(([word]) => word);
  if (words.length) sentence.append(`, because of ${words.slice(0, WORDS).join(", ")}`);
  if (!element("text").querySelector("mark")) return;
  const legend = make(line, "span", "Marked words speak ");
  make(legend, "mark", "for");
  legend.append(" or ");
  make(legend, "mark", "against").className = "against";
  legend.append(" it.");
}

function whyNoGuess(state) {
  if (state.problem) return state.problem;
  if (!state.is_ready) return "The model is being prepared. You can label meanwhile.";
  const isWaiting = !state.is_useful && !state.is_learning && state.classes.length > 1;
  return isWaiting ? "Guesses start after a few labels of two classes." : "";
}

// Calls a function when guesses are shown or hidden, which the browser remembers.
export function startGuesses(changed) {
  try {
    element("guess-shown").checked = !localStorage.getItem(HIDDEN);
  } catch {
    // The browser may refuse to store anything.
  }
  element("guess-shown").addEventListener("change", () => {
    changed();
    try {
      if (guessesHidden()) localStorage.setItem(HIDDEN, "1");
      else localStorage.removeItem(HIDDEN);
    } catch {
      // Then guesses are shown again after a reload.
    }
  });
}
