// The guess of the model for the text on the screen, which can be accepted and hidden.
import { clear, element, make, percent, showName } from "./parts.js";
import { telling } from "./marks.js";

const WORDS = 6; // behind the guess, in its sentence
const HIDDEN = "dropglm-guesses-hidden"; // in the storage of the browser

export const guessesHidden = () => !element("guess-shown").checked;

// The guess that can be seen and accepted.
export const shownGuess = (text) => (text && text.guess && !guessesHidden() ? text.guess : null);

export function showGuess(state, text) {
  const guess = shownGuess(text);
  const line = clear(element("guess-line"));
  element("accept").disabled = !guess;
  element("legend").firstElementChild.hidden = !guess || !element("text").querySelector("mark.for, mark.against");
  if (!guess) {
    if (text) line.textContent = text.guess ? "The guess is hidden." : whyNoGuess(state, text);
    return;
  }
  line.append("Guess: ");
  showName(make(line, "b"), guess.label);
  line.append(` ${percent(guess.probability)}`);
  const words = telling(guess.words).filter(([, weight]) => weight > 0).map(([word]) => word).slice(0, WORDS);
  const reasons = make(line, "span");
  // A reason that has no room is left out rather than cut.
  do reasons.textContent = words.length ? `, because of ${words.join(", ")}` : guess.words.length ? "; no single word speaks for it" : "";
  while (line.scrollHeight > line.clientHeight && words.pop());
}

function whyNoGuess(state, text) {
  if (state.problem) return state.problem;
  if (text.is_answered) return "Choose a class to correct this answer.";
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
