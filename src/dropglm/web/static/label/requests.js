// Requests to the server. Addresses are relative: they start with the secret of this page.

export class ServerError extends Error {
  constructor(sentence, state) {
    super(sentence);
    this.state = state;
  }
}

async function answerOf(response) {
  const content = await response.json();
  if (!response.ok) throw new ServerError(content.error, content.state);
  return content;
}

const SLOW = 1500; // milliseconds until the page says that it is waiting
let slow = 0; // requests that have taken longer
let tell = () => {};

// Calls a function with true when the server lets a request wait, and with false when it has answered them all.
export function whenSlow(callback) {
  tell = callback;
}

async function answered(path, how) {
  let isSlow = false;
  const timer = setTimeout(() => {
    isSlow = true;
    slow += 1;
    tell(true);
  }, SLOW);
  try {
    return await answerOf(await fetch(`api/${path}`, how));
  } finally {
    clearTimeout(timer);
    slow -= isSlow;
    if (isSlow && !slow) tell(false);
  }
}

export const ask = (path) => answered(path);

const sendOnce = (path, content) =>
  answered(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(content),
  });

// A connection may break after the server has stored an answer. The server refuses to store it a second time.
export async function send(what, content) {
  try {
    return await sendOnce(what, content);
  } catch (error) {
    if (error instanceof ServerError) throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  try {
    return await sendOnce(what, content);
  } catch (error) {
    if (error.state && error.state.version > content.seen) return error.state;
    throw error;
  }
}
