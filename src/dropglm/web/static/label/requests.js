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

export const ask = async (path) => answerOf(await fetch(`api/${path}`));

const sendOnce = async (path, content) =>
  answerOf(
    await fetch(`api/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(content),
    }),
  );

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
